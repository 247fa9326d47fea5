// format.js - numbers, times and money as people write them, and the fields of a candidate that several figures use.
'use strict';
const Format = (() => {
  const prefixes = [
    [1e15, 'P'],
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
    [1, ''],
  ];
  const isKnown = value => value !== null && value !== undefined && isFinite(value);

  function short(value, unit = '') {
    if (!isKnown(value)) return '–';
    if (value === 0) return '0' + (unit && ' ' + unit);
    const size = Math.abs(value);
    if (size < 1) return Number(value.toPrecision(3)) + (unit && ' ' + unit);
    const [step, prefix] = prefixes.find(([s]) => size >= s);
    return (Number((value / step).toPrecision(3)) + ' ' + prefix + unit).trim();
  }

  const times = [
    [86400 * 365.25, 'years'],
    [86400 * 3, 'days'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
    [1e-3, 'ms'],
    [0, 'µs'],
  ];
  const divisors = { years: 86400 * 365.25, days: 86400, h: 3600, min: 60, s: 1, ms: 1e-3, µs: 1e-6 };
  const timeUnit = seconds => (times.find(([from]) => Math.abs(seconds) >= from) || times[4])[1];
  const rounded = value => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : Number(value.toPrecision(3)).toString());
  function duration(seconds, unit = timeUnit(seconds)) {
    return isKnown(seconds) ? rounded(seconds / divisors[unit]) + ' ' + unit : '–';
  }
  function usd(value) {
    if (!isKnown(value)) return '–';
    return (
      (value >= 1e5
        ? short(value)
        : value >= 100
          ? Math.round(value).toLocaleString('en')
          : value >= 0.1
            ? value.toFixed(2)
            : Number(value.toPrecision(2))) + ' USD'
    );
  }
  const bytes = value => (isKnown(value) ? short(value / 2 ** 30) + ' GiB' : '–');
  const percent = value => (isKnown(value) ? Number((100 * value).toPrecision(3)) + ' %' : '–');
  const energy = joules =>
    isKnown(joules)
      ? short(joules / 3.6e6, 'kWh')
          .replace(' kkWh', ' MWh')
          .replace(' MkWh', ' GWh')
          .replace(' GkWh', ' TWh')
      : '–';
  const mass = kg => (!isKnown(kg) ? '–' : kg >= 1000 ? rounded(kg / 1000) + ' t' : rounded(kg) + ' kg');
  // Both ends in the unit of the upper one: "8.2 to 14.7 h".
  function span(range, write) {
    if (!range || !isKnown(range[0]) || !isKnown(range[1])) return '–';
    if (write === duration) return rounded(range[0] / divisors[timeUnit(range[1])]) + ' to ' + duration(range[1]);
    return write(range[0]).replace(/ (USD|t|kg|kWh|MWh)$/, '') + ' to ' + write(range[1]);
  }

  // ---- a candidate: an entry of `ranking`, with the fields of a whole job where the engine gives them

  const count = e => e.n ?? e.devices ?? 1;
  const seconds = e => e.job?.time_s ?? (isKnown(e.hours) ? e.hours * 3600 : null);
  const dollars = e => e.job?.cost_usd ?? e.usd ?? null;
  const joules = e => e.job?.energy_j ?? (isKnown(e.kwh) ? e.kwh * 3.6e6 : null);
  const carbon = e => e.job?.co2_kg ?? null;
  const timeSpan = e =>
    e.job?.interval_s ??
    (e.networks ? e.interval_s : null) ?? (isKnown(e.hours) && e.step_time_s ? e.interval_s.map(s => (s / e.step_time_s) * e.hours * 3600) : null);
  const costSpan = e =>
    e.job?.cost_interval_usd ?? (isKnown(dollars(e)) && timeSpan(e) ? timeSpan(e).map(s => (s / seconds(e)) * dollars(e)) : null);
  const isPlaced = e => e.rank !== null && e.rank !== undefined;
  // A cluster that describes the nodes of an offer, "node=8,net=400Gb", has no name that a person knows.
  const site = e => (e.cluster && !e.cluster.includes('=') ? e.cluster : null);
  // Names a candidate in the page's address.
  const key = e =>
    [e.device, count(e), e.provider, e.instance ?? site(e), e.price_basis]
      .map(part => part ?? '')
      .join('~')
      .replace(/~+$/, '');
  // "3 × resnet50"
  const network = n => (n.weight === 1 ? '' : n.weight + ' × ') + n.model.replace(/^\.\//, '');
  const warnings = rank => rank.warnings || (rank.models || []).flatMap(m => m.warnings || []);
  // The device without its maker, for narrow windows: "a100-40g".
  const shortName = e => (count(e) > 1 ? count(e) + ' × ' : '') + e.device.replace(/^[^-]+-/, '');
  const title = e => (count(e) > 1 ? count(e) + ' × ' : '') + e.name;
  const brief = e => (count(e) > 1 ? count(e) + ' × ' : '') + e.device;
  const seller = e => [e.instance, e.provider].filter(Boolean).join(', ') || site(e);
  function place(e) {
    const basis = e.price_basis && e.price_basis !== 'on-demand' ? e.price_basis : null;
    return [[seller(e), basis].filter(Boolean).join(', '), isKnown(e.price_hour) ? usd(e.price_hour) + '/h' : 'no price known']
      .filter(Boolean)
      .join(' at ');
  }
  // For a facility: "prod, 2 jobs in a row, 57.1 node-hours".
  const queue = e =>
    !e.queue ? '' : [e.queue, e.jobs_in_a_row > 1 ? e.jobs_in_a_row + ' jobs in a row' : 'one job', isKnown(e.charge) ? short(e.charge, e.charge_unit) : '', e.queue_note || '']
      .filter(Boolean)
      .join(', ');
  // For instances that may be interrupted: "0.8 % of the time, a checkpoint every 35 min".
  const interruptions = e =>
    e.interruption_overhead > 0 ? percent(e.interruption_overhead) + ' of the time' + (e.checkpoint_interval_s > 0 ? `, a checkpoint every ${duration(e.checkpoint_interval_s)}` : '') : '';
  const samePlace = (a, b) =>
    a.device === b.device &&
    a.provider === b.provider &&
    a.instance === b.instance &&
    site(a) === site(b) &&
    a.price_basis === b.price_basis;
  const kinds = [
    ['tp', 'tensor'],
    ['pp', 'pipeline'],
    ['dp', 'data'],
    ['cp', 'context'],
    ['ep', 'expert'],
  ];
  // '', 'selective', 'full', or 'full:20' if 20 layers are recomputed, as the program takes it.
  const recomputation = p => (!p.recompute || p.recompute === 'none' ? '' : p.recompute + (p.recompute_layers ? ':' + p.recompute_layers : ''));
  function plan(e) {
    const p = e.plan || {},
      sizes = kinds.filter(([name]) => p[name] > 1).map(([name, words]) => words + '-parallel ' + p[name]);
    return [...sizes, p.zero ? 'ZeRO ' + p.zero : '', recomputation(p) ? recomputation(p) + ' recomputation' : '']
      .filter(Boolean)
      .join(', ');
  }

  return {
    isKnown,
    short,
    duration,
    usd,
    bytes,
    percent,
    energy,
    mass,
    span,
    count,
    seconds,
    dollars,
    joules,
    carbon,
    timeSpan,
    costSpan,
    isPlaced,
    key,
    title,
    network,
    warnings,
    shortName,
    brief,
    site,
    seller,
    place,
    queue,
    interruptions,
    samePlace,
    recomputation,
    plan,
    kinds,
  };
})();
