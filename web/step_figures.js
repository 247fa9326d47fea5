// step_figures.js - the figures of one step of a candidate, and of two candidates. Tables on the page have the same numbers.
'use strict';
const StepFigures = (() => {
  const { colour, palette, faint, axis, log, doubling, labelAxis, isNarrow, inLines, thin, legend, noLegend, tip, draw, fitHeight } =
    Charts;
  const { short, duration } = Format;
  const nameOf = d => d.network || (d.plan?.devices > 1 ? d.plan.devices + ' × ' : '') + d.device;
  const gib = bytes => bytes / 2 ** 30;
  const phases = ['forward', 'recompute', 'backward', 'update'];
  const categories = {
    input_output: 'activations',
    weights_biases: 'weights',
    gradients: 'gradients',
    algorithm: 'optimizer state',
    ephemeral: 'workspace',
  };

  function roofline(id, detail) {
    const ops = detail.ops.filter(o => o.flop > 0 && o.bytes > 0 && o.time_s > 0);
    const xs = ops.map(o => o.flop_per_byte),
      low = Math.min(1, ...xs),
      high = Math.max(2000, ...xs);
    const peak = detail.peak_flop_s,
      bw = detail.bw_bytes_s;
    // One roof per level of memory; that of the device's main memory is drawn bold.
    const roof = (at, name) => ({
      label: name,
      data: [low, peak / at, high].sort((a, b) => a - b).map(x => ({ x, y: Math.min(peak, at * x), roof: name })),
      showLine: true,
      pointRadius: 0,
      borderColor: colour('text'),
      backgroundColor: colour('text'),
      borderWidth: at === bw ? 2 : 1,
    });
    const levels = detail.roofs && detail.roofs.length ? detail.roofs : [{ bw_bytes_s: bw, name: 'roofline' }];
    const roofs = levels.map(level => roof(level.bw_bytes_s, level.name));
    const byPhase = phases
      .map((phase, i) => ({
        label: phase,
        backgroundColor: faint(palette(i), 0.7),
        pointHoverRadius: 8,
        data: ops.filter(o => o.phase === phase).map(o => ({ x: o.flop_per_byte, y: o.flop / o.time_s, name: o.name, t: o.time_s })),
      }))
      .filter(s => s.data.length);
    byPhase.forEach(s => {
      s.pointRadius = s.data.map(p => 3 + 14 * Math.sqrt(p.t / detail.step_time_s));
    });
    draw(id, {
      type: 'scatter',
      data: {
        datasets: [
          ...roofs,
          ...byPhase,
        ],
      },
      options: {
        scales: {
          x: log('FLOP per byte of memory traffic', [low, high]),
          y: log('FLOP/s', [peak, ...roofs.flatMap(r => r.data.map(p => p.y)), ...ops.map(o => o.flop / o.time_s)]),
        },
        plugins: tip(c =>
          c.raw.name ? c.raw.name + ': ' + short(c.raw.y, 'FLOP/s') + ', ' + duration(c.raw.t) : c.raw.roof + ': ' + short(c.raw.y, 'FLOP/s'),
        ),
      },
    });
  }

  const capacity = d => Math.max(...d.memory.levels.map(l => l.capacity_bytes || 0));
  function memory(id, details) {
    const narrow = isNarrow(id);
    fitHeight(id, details.length, 34, 2);
    draw(id, {
      type: 'bar',
      data: {
        labels: details.map(nameOf),
        datasets: [
          ...Object.keys(categories).map((k, i) => ({
            label: categories[k],
            data: details.map(d => gib(d.memory.categories[k])),
            backgroundColor: palette(i),
            ...thin,
            borderRadius: 0,
          })),
          {
            label: 'free',
            data: details.map(d => gib(Math.max(0, capacity(d) - d.peak_bytes))),
            backgroundColor: faint(palette(7), 0.2),
            ...thin,
            borderRadius: 0,
          },
        ],
      },
      options: {
        indexAxis: 'y',
        scales: {
          x: axis('GiB', { stacked: true, beginAtZero: true }),
          y: labelAxis(narrow, { stacked: true, display: details.length > 1 }),
        },
        plugins: tip(c => c.dataset.label + ': ' + short(c.raw, 'GiB')),
      },
    });
  }

  function levels(id, details) {
    const narrow = isNarrow(id);
    const rows = details.flatMap(d =>
      d.memory.levels.filter(l => l.capacity_bytes).map(l => ({ ...l, label: inLines(narrow, nameOf(d), l.name) })),
    );
    fitHeight(id, rows.length, 28, 2);
    draw(id, {
      type: 'bar',
      data: {
        labels: rows.map(r => r.label),
        datasets: [{ ...thin, data: rows.map(r => (100 * r.used_bytes) / r.capacity_bytes), backgroundColor: palette(4), minBarLength: 2 }],
      },
      options: {
        indexAxis: 'y',
        scales: { x: axis('% of the memory', { beginAtZero: true, suggestedMax: 100 }), y: labelAxis(narrow) },
        plugins: {
          ...noLegend,
          ...tip(c => short(gib(rows[c.dataIndex].used_bytes), 'GiB') + ' of ' + short(gib(rows[c.dataIndex].capacity_bytes), 'GiB')),
        },
      },
    });
  }

  // Parts of a step: operator types by phase, then what a parallel plan adds, then idle time. Each part starts where the previous one ends.
  function parts(detail) {
    const plan = detail.plan || {},
      times = phase => (phase === 'update' ? 1 : plan.accumulate || 1) / (plan.pp || 1); // of one micro-batch on all stages
    const inOrder = [...detail.kinds].sort((a, b) => phases.indexOf(a.phase) - phases.indexOf(b.phase) || a.first - b.first);
    const list = inOrder.map(k => ({ name: k.type, phase: k.phase, time_s: k.time_s * times(k.phase) }));
    const s = detail.stages,
      exposed = s.communication_s - s.overlapped_s;
    if (exposed > 0) list.push({ name: 'communication', phase: 'not overlapped', time_s: exposed });
    if (s.bubble_s > 0) list.push({ name: 'pipeline bubble', phase: 'idle', time_s: s.bubble_s });
    const rest = detail.step_time_s - list.reduce((sum, p) => sum + p.time_s, 0);
    if (rest > detail.step_time_s / 1000) list.push({ name: 'idle', phase: 'host and gaps', time_s: rest });
    return list;
  }
  const phaseColour = phase => (phases.includes(phase) ? palette(phases.indexOf(phase)) : colour('c8'));
  function waterfall(id, detail) {
    let at = 0;
    const rows = parts(detail),
      narrow = isNarrow(id),
      unit = detail.step_time_s < 1 ? [1e3, 'ms'] : [1, 's'];
    const bars = rows.map(p => {
      const bar = [at * unit[0], (at + p.time_s) * unit[0]];
      at += p.time_s;
      return bar;
    });
    fitHeight(id, bars.length, narrow ? 27 : 20);
    draw(id, {
      type: 'bar',
      data: {
        labels: rows.map(p => inLines(narrow, p.name, p.phase)),
        datasets: [{ ...thin, data: bars, backgroundColor: rows.map(p => phaseColour(p.phase)), minBarLength: 2 }],
      },
      options: {
        indexAxis: 'y',
        scales: { x: axis(unit[1] + ' of one step', { min: 0, max: Math.max(at, detail.step_time_s) * unit[0] }), y: labelAxis(narrow) },
        plugins: {
          ...noLegend,
          ...tip(
            c =>
              duration(rows[c.dataIndex].time_s) + ', ' + short((100 * rows[c.dataIndex].time_s) / detail.step_time_s) + ' % of the step',
          ),
        },
      },
    });
  }

  // Lanes over time: what host, device and network, or the stages of a pipeline, do during a step.
  function timeline(id, detail) {
    const t = detail.timeline,
      scale = t.end_s < 1 ? [1e3, 'ms'] : [1, 's'],
      narrow = isNarrow(id);
    const slices = phase =>
      t.lanes.flatMap((lane, y) =>
        lane.slices
          .filter(s => s.phase === phase)
          .map(s => ({ y: lane.name, x: [s.begin_s * scale[0], (s.begin_s + s.time_s) * scale[0]], s })),
      );
    const sets = [...phases, 'communication', 'launch']
      .map((phase, i) => ({
        label: phase,
        data: slices(phase),
        backgroundColor: phase === 'launch' ? colour('c8') : palette(i),
        grouped: false,
        barPercentage: 0.9,
        categoryPercentage: 0.9,
        minBarLength: 1,
      }))
      .filter(s => s.data.length);
    fitHeight(id, t.lanes.length, narrow ? 48 : 34, 2); // a narrow legend has two lines
    draw(id, {
      type: 'bar',
      data: { labels: t.lanes.map(l => l.name), datasets: sets },
      options: {
        indexAxis: 'y',
        clip: true,
        scales: { x: axis(scale[1], { min: 0, max: t.end_s * scale[0] }), y: labelAxis(narrow) },
        plugins: tip(
          c => c.raw.s.name + ': ' + duration(c.raw.s.time_s) + (c.raw.s.calls > 1 ? ', the longest of ' + c.raw.s.calls + ' calls' : ''),
          c => c[0].raw.y + ', ' + c[0].raw.s.phase,
        ),
      },
    });
  }

  function batches(id, details) {
    const fit = details.flatMap(d => d.curve.filter(p => p.verdict !== 'does not fit')),
      alone = details.length < 2; // with the memory as a second line
    const line = (d, i, label, of, more = {}) => ({
      label,
      borderColor: palette(i),
      backgroundColor: palette(i),
      data: d.curve.filter(p => p.verdict !== 'does not fit').map(p => ({ x: p.batch, y: of(p) })),
      pointRadius: 3,
      tension: 0,
      ...more,
    });
    draw(id, {
      type: 'line',
      data: {
        datasets: [
          ...details.map((d, i) => line(d, i, alone ? 'samples/s' : nameOf(d), p => p.throughput_samples_s)),
          ...(alone ? [line(details[0], 1, 'GiB of memory', p => gib(p.peak_bytes), { yAxisID: 'memory', borderDash: [5, 4] })] : []),
        ],
      },
      options: {
        scales: {
          x: doubling(
            'batch size',
            fit.map(p => p.batch),
          ),
          y: log(
            'samples/s',
            fit.map(p => p.throughput_samples_s),
          ),
          ...(alone && { memory: { ...axis('GiB', { beginAtZero: true }), position: 'right', grid: { drawOnChartArea: false } } }),
        },
        plugins: {
          legend: legend({ usePointStyle: true, pointStyle: 'line' }),
          ...tip(c => 'batch ' + c.raw.x + ': ' + short(c.raw.y) + ' ' + (alone ? c.dataset.label : 'samples/s')),
        },
      },
    });
  }
  // Dashed: ideal linear scaling.
  function scaling(id, details) {
    const all = details.flatMap(d => d.scaling);
    const line = (d, i, label, of, more) => ({
      label,
      data: d.scaling.map(p => ({ x: p.devices, y: of(p), efficiency: p.efficiency })),
      borderColor: palette(i),
      backgroundColor: palette(i),
      pointRadius: 3,
      tension: 0,
      ...more,
    });
    draw(id, {
      type: 'line',
      data: {
        datasets: details.flatMap((d, i) => [
          line(d, i, nameOf(d), p => p.throughput_samples_s),
          line(d, i, '', p => p.throughput_samples_s / p.efficiency, { pointRadius: 0, borderDash: [5, 4], borderWidth: 1 }),
        ]),
      },
      options: {
        scales: {
          x: doubling(
            'devices',
            all.map(p => p.devices),
          ),
          y: log(
            'samples/s',
            all.map(p => p.throughput_samples_s / Math.min(1, p.efficiency)),
          ),
        },
        plugins: {
          legend: { ...legend({ filter: l => l.text }), display: details.length > 1 },
          tooltip: {
            filter: c => c.dataset.label,
            callbacks: {
              label: c =>
                c.dataset.label +
                ', ' +
                c.raw.x +
                ' devices: ' +
                short(c.raw.y) +
                ' samples/s, efficiency ' +
                short(100 * c.raw.efficiency) +
                ' %',
            },
          },
        },
      },
    });
  }

  // Two candidates: time of each part of a step, per sample.
  function versus(id, details) {
    const per = d =>
      Object.fromEntries(parts(d).reduce((map, p) => map.set(p.name, (map.get(p.name) || 0) + p.time_s / d.batch), new Map()));
    const both = details.map(per),
      most = name => Math.max(...both.map(b => b[name] || 0)),
      narrow = isNarrow(id);
    const labels = [...new Set(both.flatMap(Object.keys))].sort((a, b) => most(b) - most(a)).slice(0, 12);
    fitHeight(id, labels.length, 30);
    draw(id, {
      type: 'bar',
      data: {
        labels,
        datasets: details.map((d, i) => ({
          label: d.name,
          data: labels.map(l => 1e3 * (both[i][l] || 0)),
          backgroundColor: palette(i),
          ...thin,
          maxBarThickness: 11,
        })),
      },
      options: {
        indexAxis: 'y',
        scales: { x: axis('ms per sample', { beginAtZero: true }), y: labelAxis(narrow) },
        plugins: tip(c => c.dataset.label + ': ' + duration(c.raw / 1e3) + ' per sample'),
      },
    });
  }

  return { categories, roofline, memory, levels, parts, waterfall, timeline, batches, scaling, versus };
})();
