// charts.js - charts of a ranking and of single devices. The tables on the page have the same numbers.
'use strict';
const Charts = (() => {
  const made = new Map();
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const palette = i => colour('c' + (1 + i % 8));
  const faint = (hex, part) => hex + Math.round(part * 255).toString(16).padStart(2, '0');

  const prefixes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
  function short(value, unit = '') {
    if (value === null || value === undefined || !isFinite(value)) return '–';
    if (value === 0) return '0' + (unit && ' ' + unit);
    const size = Math.abs(value);
    if (size < 1) return Number(value.toPrecision(3)) + (unit && ' ' + unit);
    const [step, prefix] = prefixes.find(([s]) => size >= s);
    const text = Number((value / step).toPrecision(3)) + ' ' + prefix + unit;
    return text.trim();
  }
  const gib = bytes => bytes / 2 ** 30;

  function axis(title, more = {}) {
    return {
      title: { display: true, text: title, color: colour('soft') },
      ticks: { color: colour('soft'), maxRotation: 0, ...more.ticks }, grid: { color: colour('grid') },
      ...Object.fromEntries(Object.entries(more).filter(([k]) => k !== 'ticks')),
    };
  }
  // Ticks at powers of ten; over a short range also at 2 and 5 times them.
  function logTicks(scale) {
    const few = scale.max / scale.min < 1000, ticks = [];
    for (let k = Math.floor(Math.log10(scale.min)); k <= Math.log10(scale.max); k++)
      for (const m of few ? [1, 2, 5] : [1]) ticks.push({ value: m * 10 ** k });
    scale.ticks = ticks.filter(t => t.value >= scale.min && t.value <= scale.max);
  }
  // Margin around the data, so that no mark is cut off.
  function log(title, values) {
    const known = values.filter(v => v > 0 && isFinite(v));
    return axis(title, { type: 'logarithmic', min: Math.min(...known) / 1.5, max: Math.max(...known) * 1.5,
      afterBuildTicks: logTicks, ticks: { callback: v => short(v) } });
  }
  // Ticks at powers of two.
  function doubling(title, values) {
    const most = Math.max(2, ...values);
    return axis(title, { type: 'logarithmic', min: 1, max: most, ticks: { callback: v => v },
      afterBuildTicks: scale => { scale.ticks = []; for (let v = 1; v <= most; v *= 2) scale.ticks.push({ value: v }); } });
  }

  // Error bars from low to high on horizontal bars.
  const whiskers = {
    id: 'whiskers',
    afterDatasetsDraw(chart) {
      chart.data.datasets.forEach((set, i) => {
        if (!set.interval || !chart.isDatasetVisible(i)) return;
        const ctx = chart.ctx, scale = chart.scales.x;
        ctx.save();
        const area = chart.chartArea;
        ctx.beginPath();
        ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
        ctx.clip();
        ctx.strokeStyle = colour('text');
        ctx.lineWidth = 1.3;
        chart.getDatasetMeta(i).data.forEach((mark, k) => {
          const range = set.interval[k];
          if (!range || range[0] === null) return;
          const beyond = range[1] > scale.max, half = 4;
          const [a, b] = [range[0], Math.min(range[1], scale.max)].map(v => scale.getPixelForValue(v));
          ctx.beginPath();
          ctx.moveTo(a, mark.y); ctx.lineTo(b, mark.y);
          ctx.moveTo(a, mark.y - half); ctx.lineTo(a, mark.y + half);
          const back = beyond ? half + 2 : 0; // an arrow if the error bar continues beyond the axis
          ctx.moveTo(b - back, mark.y - half); ctx.lineTo(b, mark.y + (beyond ? 0 : half));
          if (beyond) { ctx.moveTo(b - back, mark.y + half); ctx.lineTo(b, mark.y); }
          ctx.stroke();
        });
        ctx.restore();
      });
    },
  };

  function draw(id, config) {
    const canvas = document.getElementById(id);
    if (!canvas || typeof Chart === 'undefined') return;
    if (made.has(id)) made.get(id).destroy();
    config.options = { responsive: true, maintainAspectRatio: false, animation: false, clip: 8, color: colour('text'), ...config.options };
    config.options.plugins = { legend: legend(), ...config.options.plugins };
    made.set(id, new Chart(canvas, config));
  }
  const legend = more => ({ labels: { color: colour('text'), boxWidth: 16, boxHeight: 8, ...more } });
  const noLegend = { legend: { display: false } };
  const tip = label => ({ tooltip: { callbacks: { label } } });

  // Set the height by the number of bars.
  function fitHeight(id, rows, each = 20) {
    const box = document.getElementById(id)?.parentElement;
    if (box) box.style.height = Math.max(10, rows) * each + 96 + 'px';
  }
  const thin = { maxBarThickness: 26 };

  const placed = rank => rank.ranking.filter(e => e.rank !== null);
  const within = e => e.throughput_samples_s === null ? [null, null] : [e.batch / e.interval_s[1], e.batch / e.interval_s[0]];

  function ranking(id, rank) {
    const rows = placed(rank).slice(0, 24), unit = rank.unit;
    fitHeight(id, rows.length);
    draw(id, {
      type: 'bar',
      data: {
        labels: rows.map(e => e.device),
        datasets: [{ ...thin, data: rows.map(e => e.value), interval: rows.map(e => e.interval),
          backgroundColor: rows.map((e, i) => (e.tied_with_next || (i && rows[i - 1].tied_with_next) ? faint(palette(0), .55) : palette(0))) }],
      },
      options: { indexAxis: 'y', scales: { x: axis(unit, { beginAtZero: true,
        suggestedMax: Math.max(...rows.map(e => Math.min(e.interval[1], 3 * e.value))), ticks: { callback: v => short(v) } }), y: axis('', { ticks: { autoSkip: false } }) },
        plugins: { ...noLegend, ...tip(c => short(c.raw) + ' ' + unit + ', 90 % interval ' + rows[c.dataIndex].interval.map(v => short(v)).join(' to ')) } },
      plugins: [whiskers],
    });
  }

  function price(id, rank) {
    const rows = placed(rank).filter(e => e.samples_per_usd).sort((a, b) => b.samples_per_usd - a.samples_per_usd).slice(0, 24);
    fitHeight(id, rows.length);
    draw(id, {
      type: 'bar',
      data: { labels: rows.map(e => e.device), datasets: [{ ...thin, data: rows.map(e => e.samples_per_usd),
        interval: rows.map(e => within(e).map(v => v * 3600 / e.price_hour)), backgroundColor: palette(2) }] },
      options: { indexAxis: 'y', scales: { x: axis('samples per USD', { beginAtZero: true,
        suggestedMax: Math.max(...rows.map(e => 1.6 * e.samples_per_usd)), ticks: { callback: v => short(v) } }), y: axis('', { ticks: { autoSkip: false } }) },
        plugins: { ...noLegend, ...tip(c => short(c.raw) + ' samples per USD at ' + rows[c.dataIndex].price_hour + ' USD/h') } },
      plugins: [whiskers],
    });
  }

  // Labels right of the marks, or left of them if there is no space.
  const names = {
    id: 'names',
    afterDatasetsDraw(chart) {
      const ctx = chart.ctx, area = chart.chartArea, taken = [];
      ctx.save();
      ctx.font = '11px ' + Chart.defaults.font.family;
      ctx.fillStyle = colour('text');
      chart.data.datasets.forEach((set, i) => set.named && chart.getDatasetMeta(i).data.forEach((mark, k) => {
        const text = set.data[k].device, wide = ctx.measureText(text).width;
        const x = mark.x + 9 + wide > area.right ? mark.x - 9 - wide : mark.x + 9;
        let y = mark.y - 6;
        while (taken.some(t => Math.abs(t.y - y) < 12 && t.x < x + wide && x < t.x + t.wide)) y -= 12;
        taken.push({ x, y, wide });
        ctx.fillText(text, x, y);
      }));
      ctx.restore();
    },
  };

  function pareto(id, rank) {
    const rows = placed(rank).filter(e => e.samples_per_usd);
    const point = e => ({ x: 1e6 / e.throughput_samples_s / 3600, y: 1e6 / e.samples_per_usd, device: e.device });
    const all = rows.map(point);
    const front = rows.filter(e => e.pareto).sort((a, b) => b.throughput_samples_s - a.throughput_samples_s).map(point);
    draw(id, {
      type: 'scatter',
      data: { datasets: [
        { label: 'nothing is both faster and cheaper', data: front, named: true, showLine: true, borderColor: palette(1), backgroundColor: palette(1), pointRadius: 6, pointStyle: 'rectRot' },
        { label: 'other devices', data: rows.filter(e => !e.pareto).map(point), backgroundColor: palette(0), pointRadius: 4 },
      ] },
      options: { scales: { x: log('hours for a million samples', all.map(p => p.x)), y: log('USD for a million samples', all.map(p => p.y)) },
        plugins: tip(c => c.raw.device + ': ' + short(c.raw.x) + ' h, ' + short(c.raw.y) + ' USD') },
      plugins: [names],
    });
  }

  function roofline(id, detail) {
    const ops = detail.ops.filter(o => o.flop > 0 && o.bytes > 0 && o.time_s > 0);
    const xs = ops.map(o => o.flop_per_byte), low = Math.min(1, ...xs), high = Math.max(2000, ...xs);
    const peak = detail.peak_flop_s, bw = detail.bw_bytes_s;
    const line = (at, name) => ({ label: name, showLine: true, pointRadius: 0, borderColor: colour('text'), borderWidth: at === bw ? 2 : 1,
      data: [low, peak / at, high].sort((a, b) => a - b).map(x => ({ x, y: Math.min(peak, at * x), roof: name })) });
    const roofs = (detail.roofs && detail.roofs.length ? detail.roofs : [{ bw_bytes_s: bw, name: 'roofline' }]).map(l => line(l.bw_bytes_s, l.name));
    const roof = roofs[0].data;
    const byPhase = ['forward', 'backward', 'recompute', 'update'].map((phase, i) => ({
      label: phase, backgroundColor: palette(i), pointRadius: ops.map(() => 3),
      data: ops.filter(o => o.phase === phase).map(o => ({ x: o.flop_per_byte, y: o.flop / o.time_s, name: o.name, t: o.time_s })),
    })).filter(s => s.data.length);
    byPhase.forEach(s => { s.pointRadius = s.data.map(p => 3 + 14 * Math.sqrt(p.t / detail.step_time_s)); });
    draw(id, {
      type: 'scatter',
      data: { datasets: [...roofs, ...byPhase] },
      options: { scales: { x: log('FLOP per byte of memory traffic', [low, high]), y: log('FLOP/s', [peak, ...roof.map(p => p.y), ...ops.map(o => o.flop / o.time_s)]) },
        plugins: tip(c => c.raw.name ? c.raw.name + ': ' + short(c.raw.y, 'FLOP/s') + ', ' + short(c.raw.t * 1e3, 'ms') : c.raw.roof + ': ' + short(c.raw.y, 'FLOP/s')) },
    });
  }

  function memory(id, details) {
    const kinds = Object.keys(details[0].memory.categories);
    draw(id, {
      type: 'bar',
      data: { labels: details.map(d => d.device), datasets: [
        ...kinds.map((k, i) => ({ label: k.replace('_', ' and '), data: details.map(d => gib(d.memory.categories[k])), backgroundColor: palette(i), stack: 'used', ...thin })),
        { label: 'capacity of the largest memory', data: details.map(d => gib(Math.max(...d.memory.levels.map(l => l.capacity_bytes || 0)))), backgroundColor: faint(palette(7), .35), stack: 'there', ...thin },
      ] },
      options: { indexAxis: 'y', scales: { x: axis('GiB', { stacked: true, beginAtZero: true }), y: axis('', { stacked: true }) },
        plugins: tip(c => c.dataset.label + ': ' + short(c.raw, 'GiB')) },
    });
  }

  const isNarrow = id => document.getElementById(id)?.parentElement.clientWidth < 560;
  const inLines = (narrow, first, second) => (narrow ? [first, second] : first + ', ' + second);
  const labelAxis = narrow => axis('', { ticks: { autoSkip: false, font: { size: narrow ? 10 : 12 } } });

  function levels(id, details) {
    const narrow = isNarrow(id);
    const rows = details.flatMap(d => d.memory.levels.filter(l => l.capacity_bytes).map(l => ({ ...l, label: inLines(narrow, d.device, l.name) })));
    draw(id, {
      type: 'bar',
      data: { labels: rows.map(r => r.label), datasets: [{ ...thin, data: rows.map(r => 100 * r.used_bytes / r.capacity_bytes), backgroundColor: palette(4), minBarLength: 2 }] },
      options: { indexAxis: 'y', scales: { x: axis('% of the memory', { beginAtZero: true, suggestedMax: 100 }), y: labelAxis(narrow) },
        plugins: { ...noLegend, ...tip(c => short(gib(rows[c.dataIndex].used_bytes), 'GiB') + ' of ' + short(gib(rows[c.dataIndex].capacity_bytes), 'GiB')) } },
    });
  }

  // Waterfall: the bar of each kind of operator starts where the previous one ends.
  function waterfall(id, detail) {
    let at = 0;
    const bars = detail.kinds.map(k => { const bar = [at * 1e3, (at + k.time_s) * 1e3]; at += k.time_s; return bar; });
    const narrow = isNarrow(id), labels = detail.kinds.map(k => inLines(narrow, k.type, k.phase)), rest = detail.step_time_s - at;
    const colours = detail.kinds.map(k => palette(['forward', 'backward', 'recompute', 'update'].indexOf(k.phase)));
    fitHeight(id, bars.length + 1, narrow ? 27 : 24);
    if (rest > 0) { labels.push('idle'); bars.push([at * 1e3, detail.step_time_s * 1e3]); colours.push(colour('c8')); }
    draw(id, {
      type: 'bar',
      data: { labels, datasets: [{ ...thin, data: bars, backgroundColor: colours, minBarLength: 2 }] },
      options: { indexAxis: 'y', scales: { x: axis('ms of one step', { max: detail.step_time_s * 1e3 }), y: labelAxis(narrow) },
        plugins: { ...noLegend, ...tip(c => short(c.raw[1] - c.raw[0], 'ms')) } },
    });
  }

  function batches(id, details) {
    const fit = details.flatMap(d => d.curve.filter(p => p.fits));
    draw(id, {
      type: 'line',
      data: { datasets: details.map((d, i) => ({ label: d.device, borderColor: palette(i), backgroundColor: palette(i),
        data: d.curve.filter(p => p.fits).map(p => ({ x: p.batch, y: p.throughput_samples_s })), pointRadius: 3, tension: 0 })) },
      options: { scales: { x: doubling('batch size', fit.map(p => p.batch)), y: log('samples/s', fit.map(p => p.throughput_samples_s)) },
        plugins: tip(c => c.dataset.label + ', batch ' + c.raw.x + ': ' + short(c.raw.y, 'samples/s')) },
    });
  }
  // Dashed: ideal linear scaling.
  function scaling(id, details) {
    const all = details.flatMap(d => d.scaling);
    const line = (d, i, label, of, more) => ({ label, data: d.scaling.map(p => ({ x: p.devices, y: of(p), efficiency: p.efficiency })),
      borderColor: palette(i), backgroundColor: palette(i), pointRadius: 3, tension: 0, ...more });
    draw(id, {
      type: 'line',
      data: { datasets: details.flatMap((d, i) => [
        line(d, i, d.device, p => p.throughput_samples_s),
        line(d, i, '', p => p.throughput_samples_s / p.efficiency, { pointRadius: 0, borderDash: [5, 4], borderWidth: 1 })]) },
      options: { scales: { x: doubling('devices', all.map(p => p.devices)), y: log('samples/s', all.map(p => p.throughput_samples_s / Math.min(1, p.efficiency))) },
        plugins: { legend: legend({ filter: l => l.text }),
          tooltip: { filter: c => c.dataset.label, callbacks: { label: c => c.dataset.label + ' x' + c.raw.x + ': ' + short(c.raw.y, 'samples/s') +
            ', efficiency ' + short(100 * c.raw.efficiency) + ' %' } } } },
    });
  }
  return { ranking, price, pareto, roofline, memory, levels, waterfall, batches, scaling, short, within };
})();
