// download.js - the answer as a file: CSV and JSON from the answer that is shown, the report from the program.
'use strict';
const Download = (() => {
  function save(name, type, text) {
    const link = make('a', { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const columns = [
    ['rank', e => e.rank],
    ['device', e => e.device],
    ['name', e => e.name],
    ['devices', Format.count],
    ['cluster', e => e.cluster],
    ['provider', e => e.provider],
    ['price_basis', e => e.price_basis],
    ['price_hour_usd', e => e.price_hour],
    ['queue', e => e.queue],
    ['jobs_in_a_row', e => e.jobs_in_a_row],
    ['charge', e => e.charge],
    ['precision', e => e.precision],
    ['batch', e => e.batch],
    ['plan', Format.plan],
    ['step_time_s', e => e.step_time_s],
    ['throughput_samples_s', e => e.throughput_samples_s],
    ['time_s', Format.seconds],
    ['time_low_s', e => Format.timeSpan(e)?.[0]],
    ['time_high_s', e => Format.timeSpan(e)?.[1]],
    ['cost_usd', Format.dollars],
    ['cost_low_usd', e => Format.costSpan(e)?.[0]],
    ['cost_high_usd', e => Format.costSpan(e)?.[1]],
    ['energy_j', Format.joules],
    ['co2_kg', Format.carbon],
    ['peak_bytes', e => e.peak_bytes],
    ['fits', e => e.fits],
    ['pareto', e => e.pareto],
    ['reason', e => e.reason],
  ];
  const cell = value =>
    value === null || value === undefined ? '' : /[",\n]/.test(value) ? '"' + String(value).replaceAll('"', '""') + '"' : String(value);
  const csv = rank =>
    [columns.map(([name]) => name), ...rank.ranking.map(e => columns.map(([, of]) => cell(of(e))))].map(row => row.join(',')).join('\n') +
    '\n';
  const name = (rank, end) => 'centimani-' + rank.model.replace(/[^a-z0-9.-]+/gi, '-').slice(0, 40) + end;

  return {
    csv: rank => save(name(rank, '.csv'), 'text/csv', csv(rank)),
    json: rank => save(name(rank, '.json'), 'application/json', JSON.stringify(rank, null, 2) + '\n'),
    report: (rank, html) => save(name(rank, '.html'), 'text/html', html),
    job: (rank, text) => save(name(rank, '.yaml'), 'application/yaml', text),
    script: (rank, text) => save(name(rank, '.sh'), 'text/x-shellscript', text),
  };
})();
