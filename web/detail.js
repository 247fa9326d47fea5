// detail.js - what a row of the table opens to: why, plan, memory, one step, roofline, timeline, scaling, operators and sources.
'use strict';
const Detail = (() => {
  const { short, duration, percent, bytes, isKnown } = Format;
  const figures = ['memory', 'waterfall', 'roofline', 'timeline', 'scaling', 'counts', 'batches'].map(name => 'd-' + name);

  const ways = {
    measured: 'looked up in measurements of this device',
    interpolated: 'between measurements of this device',
    transferred: 'from measurements of other devices',
    roofline: 'from peak rates',
  };
  function evidence(share) {
    const list = Object.keys(ways).filter(way => share?.[way] > 0.005);
    return list.length
      ? 'Time estimated by: ' + list.map(way => `${percent(Number(share[way].toPrecision(2)))} ${way} (${ways[way]})`).join(', ') + '.'
      : '';
  }
  function planTerms(e, d) {
    const p = e.plan || {};
    return terms([
      ['Devices', String(Format.count(e))],
      ...Format.kinds.map(([name, words]) => [words + '-parallel', p[name] > 1 ? String(p[name]) : '']),
      ['ZeRO stage', p.zero ? String(p.zero) : ''],
      ['Batch', String(d.batch)],
      [
        'Micro-batch',
        p.micro_batch || (e.micro_batch && e.micro_batch !== e.batch)
          ? String(p.micro_batch ?? e.micro_batch) + (p.accumulate > 1 ? ` × ${p.accumulate}` : '')
          : '',
      ],
      ['Recomputation', p.recompute_layers ? `${p.recompute_layers} layers` : Format.recomputation(p)],
      ['Precision', d.precision],
      ['Runtime', d.runtime],
      ['Cluster', Format.site(e)],
      ['Queue', Format.queue(e)],
      ['Offered by', isKnown(e.price_hour) || !Format.site(e) ? Format.place(e) : ''],
      ['Interruptions', Format.interruptions(e)],
      ['Price of', e.price?.date],
      ['MFU', percent(d.mfu)],
      ['Throughput', short(d.throughput_samples_s) + ' samples/s' + (d.tokens_s ? `, ${short(d.tokens_s)} tokens/s` : '')],
    ]);
  }

  function figure(name, title, about, className = '') {
    return make(
      'figure',
      { className },
      make('figcaption', {}, make('h3', {}, title), about ? make('p', { className: 'soft' }, about) : null),
      make('div', { className: 'chart' }, make('canvas', { id: 'd-' + name, role: 'img', 'aria-label': `${title}. ${about}` })),
    );
  }
  function numbers(title, columns, rows) {
    const table = make('table');
    fillTable(table, columns, rows);
    return make(
      'details',
      { className: 'numbers' },
      make('summary', {}, title),
      make('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': title }, table),
    );
  }
  const operatorRows = d =>
    d.ops
      .slice(0, 15)
      .map(o => [o.name, o.phase, short(o.time_s * 1e3), short(o.flop_per_byte), o.bound, short(100 * o.of_ceiling), o.how]);
  const memoryRows = d => Object.entries(StepFigures.categories).map(([key, words]) => [words, bytes(d.memory.categories[key])]);
  const stepRows = d => StepFigures.parts(d).map(p => [p.name, p.phase, short(p.time_s * 1e3), short((100 * p.time_s) / d.step_time_s)]);
  const scaleRows = d =>
    d.scaling.map(p => [
      String(p.devices),
      String(p.batch),
      short(p.throughput_samples_s),
      short(100 * p.efficiency),
      short(100 * p.communication),
    ]);

  function why(d) {
    return make(
      'section',
      {},
      make('h3', {}, 'Why'),
      make(
        'p',
        {},
        `A step of ${d.batch} samples takes ${duration(d.step_time_s)} (90 % interval ${Format.span(d.interval_s, duration)}). Limited by ${d.bottleneck}.`,
      ),
      make('p', { className: 'soft' }, evidence(d.share)),
      ...d.warnings.map(text => make('p', { className: 'warning' }, 'Warning: ' + Question.withoutOptions(text))),
    );
  }
  function tables(d, scales) {
    return make(
      'section',
      {},
      make('h3', {}, 'Numbers'),
      numbers('Memory by category', [['category'], ['memory', '']], memoryRows(d)),
      numbers('Parts of a step', [['part'], ['phase'], ['time', 'ms'], ['share', '%']], stepRows(d)),
      numbers(
        'Longest operators',
        [['operator'], ['phase'], ['time', 'ms'], ['intensity', 'FLOP/B'], ['bound by'], ['of ceiling', '%'], ['estimated by']],
        operatorRows(d),
      ),
      scales
        ? numbers(
            'On more devices',
            [['devices'], ['batch', ''], ['throughput', 'samples/s'], ['efficiency', '%'], ['communication', '% of a step']],
            scaleRows(d),
          )
        : null,
      make(
        'details',
        {},
        make('summary', {}, 'Sources of the device’s numbers'),
        make('ul', { className: 'sources' }, ...d.sources.map(s => make('li', {}, [s.title, s.where, s.date].filter(Boolean).join('. ')))),
      ),
    );
  }

  function fill(panel, e, d, siblings, choose) {
    const room = Math.max(...d.memory.levels.map(l => l.capacity_bytes || 0));
    const scales = d.scaling.length > 1;
    panel.replaceChildren(
      ...[
        make(
          'div',
          { className: 'column' },
          why(d),
          make('section', {}, make('h3', {}, 'Plan'), make('dl', { className: 'facts' }, ...planTerms(e, d))),
          figure('memory', 'Memory', `${bytes(d.peak_bytes)} of ${bytes(room)} at the peak${Format.count(e) > 1 ? ', per device' : ''}.`),
        ),
        figure('waterfall', 'One step by operator type', 'In the order of the step: each type stands where its first operator runs, and starts where the previous one ends.'),
        figure('timeline', 'Timeline of a step', d.timeline.about, 'whole'),
        figure('roofline', 'Roofline', 'Each mark is an operator; its area is its share of the step. The bold line is the main memory’s. Marks above its slope read from a cache. Marks above its flat part are estimates with an error, or of cards that exceed the clock of their data sheet.'),
        siblings.length > 1 &&
          figure(
            'counts',
            'The job on more devices',
            'Time and cost by the number of devices of this place, each with its best plan. Click a point to open it.',
          ),
        siblings.length < 2 &&
          scales &&
          figure(
            'scaling',
            'On more devices',
            (d.plan?.devices > 1 ? 'The same global batch on more devices.' : 'Data parallel, the same batch per device.') +
              ' Dashed: linear scaling.' +
              (d.scaling_ends ? ` The curve ends: ${d.scaling_ends.replace(/: give --.*/, '')}.` : ''),
          ),
        !e.plan && d.curve.length > 1 && figure('batches', 'Batch size', 'Speed and memory, up to the largest that fits.'),
        tables(d, scales && siblings.length < 2),
      ].filter(Boolean),
    );
    draw(d, siblings, choose);
  }
  function draw(d, siblings, choose) {
    StepFigures.memory('d-memory', [d]);
    StepFigures.waterfall('d-waterfall', d);
    StepFigures.roofline('d-roofline', d);
    StepFigures.timeline('d-timeline', d);
    if (siblings.length > 1) Figures.counts('d-counts', siblings, { choose });
    else if (d.scaling.length > 1) StepFigures.scaling('d-scaling', [d]);
    if (d.curve.length > 1) StepFigures.batches('d-batches', [d]);
  }

  // ---- several networks: which one the details are of

  const longest = e => e.networks.reduce((most, n, i) => (n.time_s > e.networks[most].time_s ? i : most), 0);
  // A network as a candidate of its own, on the devices of the candidate.
  const part = (e, i) => ({ ...e.networks[i], n: e.n, cluster: e.cluster, instance: e.instance, provider: e.provider ?? e.networks[i].provider });
  function networks(e, chosen, choose) {
    const cells = (n, i) => [
      make('button', { type: 'button', className: 'link', 'aria-pressed': String(i === chosen), onclick: () => choose(i) }, Format.network(n)),
      duration(n.time_s),
      Format.usd(n.cost_usd),
      percent(n.time_s / e.networks.reduce((sum, m) => sum + m.time_s, 0)),
      String(n.batch),
      Format.plan(part(e, i)) || '–',
    ];
    const table = make('table', { className: 'networks' });
    fillTable(
      table,
      [['network'], ['time', ''], ['cost', ''], ['share', ''], ['batch', ''], ['plan']],
      e.networks.map((n, i) => cells(n, i)),
    );
    return make(
      'section',
      { className: 'whole' },
      make('h3', {}, 'Networks, one after the other'),
      make('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Networks' }, table),
      make('p', { className: 'soft' }, `Below: ${Format.network({ ...e.networks[chosen], weight: 1 })}. Click another one for its details.`),
    );
  }

  // The query of one candidate: the shared part of the question and the candidate's own plan.
  function query(e, q) {
    const p = e.plan,
      number = name => (p?.[name] ? String(p[name]) : '');
    const plan = p && {
      n: Format.count(e) > 1 ? String(Format.count(e)) : '',
      ...Object.fromEntries(
        [...Format.kinds.map(([name]) => name), 'zero', 'micro_batch', 'global_batch'].map(name => [name, number(name)]),
      ),
      recompute: Format.recomputation(p) || p.recompute,
      cluster: Format.count(e) > 1 ? e.cluster : '',
    };
    return { ...Question.shared(q), device: e.device, precision: e.precision, batch: p ? '' : String(e.batch), ...plan };
  }
  const close = () => Charts.drop(figures);
  return { fill, draw, query, close, longest, part, networks };
})();
