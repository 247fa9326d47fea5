// compare.js - two candidates side by side.
'use strict';
const Compare = (() => {
  const { short, duration, usd, percent, bytes, span } = Format;
  const times = (a, b) => (a > 0 && b > 0 ? (a / b >= 10 ? (a / b).toFixed(0) : (a / b).toFixed(2)) + ' ×' : '–');
  // The price of all devices of a candidate at which its job costs as much as the other's.
  const evenPrice = (e, other) => {
    const price = Format.dollars(other) / (Format.seconds(e) / 3600);
    return Format.isKnown(Format.dollars(other)) && Format.seconds(e) > 0 ? usd(price) + '/h' : '–';
  };
  // [name, text of a side, number of a side or null]
  const rows = [
    ['Time', e => duration(Format.seconds(e)), e => Format.seconds(e)],
    ['90 % interval', e => span(Format.timeSpan(e), duration), null],
    ['Cost', e => usd(Format.dollars(e)), e => Format.dollars(e)],
    ['Energy', e => Format.energy(Format.joules(e)), e => Format.joules(e)],
    ['CO₂', e => Format.mass(Format.carbon(e)), e => Format.carbon(e)],
    ['Throughput', e => short(e.throughput_samples_s) + ' samples/s', e => e.throughput_samples_s],
    ['Step', e => duration(e.step_time_s), null],
    ['Batch', e => (e.batch ? String(e.batch) : '–'), null],
    ['Precision', e => e.precision || '–', null],
    ['Plan', e => (e.networks ? '–' : Format.plan(e) || 'one device'), null],
    ['Price', e => Format.place(e), e => e.price_hour],
    ['Costs the same as the other at', (e, d, other) => evenPrice(e, other), null],
    ['Queue', e => Format.queue(e) || '–', null],
    ['Interruptions', e => Format.interruptions(e) || '–', null],
    ['Memory at the peak', e => bytes(e.peak_bytes), e => e.peak_bytes],
    ['MFU', e => percent(e.mfu), e => e.mfu],
    ['Limited by', (e, d) => d.bottleneck.split(';')[0], null],
  ];
  function fill(pair, details) {
    const body = rows.map(([name, text, number]) => [
      name,
      ...pair.map((e, i) => text(e, details[i], pair[1 - i])),
      number ? times(number(pair[0]), number(pair[1])) : '',
    ]);
    fillTable(
      $('t-compare'),
      [['Quantity'], [Format.title(pair[0])], [Format.title(pair[1])], ['first / second', '']],
      body.filter(row => row[1] !== '–' || row[2] !== '–'),
    );
    StepFigures.versus('c-versus', details);
  }
  return { fill };
})();
