// candidates.js - the answer in one sentence, and the table of candidates whose rows open.
'use strict';
const Candidates = (() => {
  const { short, duration, usd, span, isKnown } = Format;
  const FIRST_ROWS = 10;
  const MOST_DEVICES = 512; // that the page offers to ask for

  // ---- the answer

  const words = { high: 'High confidence', medium: 'Medium confidence', low: 'Low confidence' };
  const ratio = range => (range && range[0] > 0 ? range[1] / range[0] : Infinity);
  const level = e => (ratio(e.interval_s) <= 1.35 ? 'high' : ratio(e.interval_s) <= 2.2 ? 'medium' : 'low');
  const closeTo = (rank, best) =>
    Figures.best(rank).filter(e => e !== best && e.interval[0] <= best.interval[1] && e.interval[1] >= best.interval[0]);
  const strong = text => make('strong', {}, text);
  const list = names => names.join(', ').replace(/, ([^,]*)$/, ' and $1');
  const modelName = rank =>
    rank.models ? list(rank.models.map(Format.network)) :
    rank.model.startsWith('./') ? rank.model.slice(2) : rank.model.length > 40 ? 'the ' + rank.model.split(':')[0] + ' model' : rank.model;

  // Candidates that exceed a limit, and could be chosen if it were higher.
  const beyondLimits = rank => rank.ranking.filter(e => e.state === 'excluded' && isKnown(Format.seconds(e)));
  const isTooLarge = rank => !beyondLimits(rank).length && rank.ranking.some(e => e.state === 'does-not-fit');
  // Why there is no answer.
  function nothing(rank) {
    const devices = rank.max_devices > 1 ? `up to ${rank.max_devices} devices` : 'one device';
    if (isTooLarge(rank))
      return `${modelName(rank)} does not fit into the memory of ${devices}.`;
    return 'Nothing meets these limits.';
  }

  function sentence(rank) {
    const best = rank.ranking.find(e => e.rank === 1),
      job = !rank.models && rank.job?.text; // "115 million samples"
    if (!best) return [nothing(rank)];
    const many = Format.count(best) > 1,
      head = [
        strong(Format.title(best)),
        rank.max_devices && best.provider ? ` at ${best.provider}` : Format.site(best) ? ` on ${Format.site(best)}` : '',
        many ? ' train ' : ' trains ',
        modelName(rank),
      ];
    if (rank.objective === 'throughput' || rank.objective === 'price' || rank.objective === 'energy' || !isKnown(Format.seconds(best)))
      return [...head, ' at ', strong(short(best.value) + ' ' + rank.unit), '.'];
    return [
      ...head,
      ' in ',
      strong(duration(Format.seconds(best))),
      ...(isKnown(Format.dollars(best)) ? [' for ', strong(usd(Format.dollars(best)))] : []),
      job ? (rank.job.assumed ? ` (assumed: ${job})` : ` (${job})`) : '',
      '.',
    ];
  }

  // If a deadline or budget is given: how the interval lies to it.
  function meets(range, limit, what) {
    if (!range || !limit) return null;
    if (range[1] <= limit) return `The whole interval is within the ${what}.`;
    return `It may miss the ${what}: the interval reaches beyond it.`;
  }
  const link = (e, on) =>
    make(
      'a',
      {
        href: '#',
        className: 'candidate',
        onclick: event => {
          event.preventDefault();
          on.open(e);
        },
      },
      Format.title(e),
    );
  // The other end of the trade-off, where no limit decides it: the fastest beside the cheapest, the cheapest beside the fastest.
  const otherEnds = {
    cost: ['seconds', 'fastest', e => Format.seconds(e)],
    time: ['dollars', 'cheapest', e => Format.dollars(e)],
  };
  function otherEnd(rank, limits, best, on) {
    const [limit, word, of] = otherEnds[rank.objective] || [],
      known = word && !limits[limit] ? Figures.placed(rank).filter(e => isKnown(of(e)) && isKnown(Format.dollars(e))) : [];
    if (!known.length || !isKnown(of(best))) return [];
    const end = known.reduce((a, b) => (of(b) < of(a) ? b : a));
    if (of(best) < 1.5 * of(end)) return [];
    return [` The ${word}, `, link(end, on), `, takes ${duration(Format.seconds(end))} and costs ${usd(Format.dollars(end))}.`];
  }
  // on: {open(candidate), more(devices), raise(limits)}
  function confidence(rank, limits, on) {
    const best = rank.ranking.find(e => e.rank === 1);
    if (!best) return relax(rank, limits, on);
    const close = closeTo(rank, best),
      range = Format.timeSpan(best),
      parts = [];
    parts.push(
      make('span', { className: 'badge ' + level(best) }, words[level(best)]),
      ' 90 % interval ',
      range
        ? span(range, duration) + (isKnown(Format.dollars(best)) ? ', ' + span(Format.costSpan(best), usd) : '')
        : span(best.interval, v => short(v)) + ' ' + rank.unit,
      '. ',
    );
    parts.push(
      [meets(range, limits.seconds, 'deadline'), meets(Format.costSpan(best), limits.dollars, 'budget')]
        .filter(Boolean)
        .map(text => text + ' ')
        .join(''),
    );
    const other = otherEnd(rank, limits, best, on);
    if (!close.length) return [...parts, 'No other candidate’s interval overlaps.', ...other];
    parts.push('Too close to call with ');
    close.slice(0, 2).forEach((e, i) => parts.push(i ? ', ' : '', link(e, on)));
    return [...parts, close.length > 2 ? ` and ${close.length - 2} more` : '', '.', ...other];
  }
  // Nothing meets the limits: what the nearest candidates need.
  const button = (text, onclick) => make('button', { type: 'button', className: 'link', onclick }, text);
  function relax(rank, limits, on) {
    if (rank.relax?.length)
      return rank.relax.flatMap(r => [
        Question.withoutOptions(r.text).replace(/^./, c => c.toUpperCase()).replace(/[^.]$/, '$&.') + ' ',
        ...(r.within_s || r.budget_usd ? [button('Ask with these limits', () => on.raise(r)), ' '] : []),
      ]);
    const able = beyondLimits(rank);
    if (!able.length) return isTooLarge(rank) ? tooLarge(rank, on) : ['The list below gives the reasons.'];
    const fastest = able.reduce((a, b) => (Format.seconds(b) < Format.seconds(a) ? b : a));
    const priced = able.filter(e => isKnown(Format.dollars(e))),
      cheapest = priced.length && priced.reduce((a, b) => (Format.dollars(b) < Format.dollars(a) ? b : a));
    return [
      limits.seconds ? `The fastest, ${Format.title(fastest)}, needs ${duration(Format.seconds(fastest))}. ` : '',
      limits.dollars && cheapest ? `The cheapest, ${Format.title(cheapest)}, costs ${usd(Format.dollars(cheapest))}. ` : '',
      'Relax the deadline or the budget, or allow more devices.',
    ];
  }

  // No device, or no plan on as many, has enough memory: the same question on more of them.
  function tooLarge(rank, on) {
    const most = rank.max_devices || 1,
      next = most < 8 ? 8 : 8 * most;
    return [
      ...(next <= MOST_DEVICES ? [button(`Ask for up to ${next} devices`, () => on.more(next)), '. '] : []),
      'LoRA, and recomputed activations, need less memory (under “More options”).',
    ];
  }

  function facts(rank) {
    const e = rank.ranking.find(entry => entry.rank === 1);
    if (!e) return [];
    const plan = Format.plan(e);
    return terms([
      ['Energy', Format.energy(Format.joules(e))],
      ['CO₂', Format.mass(Format.carbon(e))],
      ['Price', isKnown(e.price_hour) ? Format.place(e) : '–'],
      ['Queue', Format.queue(e)],
      ['Interruptions', Format.interruptions(e)],
      [Format.count(e) > 1 ? 'Memory per device' : 'Memory', Format.bytes(e.peak_bytes)],
      ['Step', e.networks ? '' : `${duration(e.step_time_s)}, batch ${e.batch}`],
      ['Precision', e.precision],
      ['Plan', plan],
    ]);
  }

  // ---- the table

  // A common logarithmic scale for the intervals of all rows.
  function scaleOf(rows, m) {
    const ends = rows.flatMap(e => m.span(e) || []).filter(v => v > 0),
      low = Math.log(Math.min(...ends)),
      high = Math.log(Math.max(...ends));
    return v => Math.max(0, Math.min(100, (100 * (Math.log(v) - low)) / (high - low || 1)));
  }
  function bar(e, m, at) {
    const range = m.span(e);
    if (!range) return '';
    const [from, to] = range.map(at),
      part = make('span', { className: 'range' }),
      dot = make('span', { className: 'dot' });
    part.style.left = from + '%';
    part.style.width = Math.max(1, to - from) + '%';
    dot.style.left = at(m.of(e)) + '%';
    return make('span', { className: 'interval', 'aria-hidden': 'true' }, part, dot);
  }
  const withSmall = (text, small) => [text, small && small !== '–' ? make('small', {}, small) : null];

  const note = e =>
    e.pareto ? make('span', { className: 'tag', title: 'No other candidate is both faster and cheaper' }, 'Pareto') : null;
  const about = e =>
    (e.networks
      ? [Format.place(e), ...e.networks.map(n => `${Format.network(n)} ${duration(n.time_s)}`)]
      : [Format.place(e), Format.plan(e), e.precision, 'batch ' + e.batch]
    )
      .filter(Boolean)
      .join(' · ');
  function row(e, rank, m, at, on) {
    const id = Format.key(e),
      details = 'detail-' + e.rank;
    const open = make(
      'button',
      { type: 'button', className: 'open', 'aria-expanded': 'false', 'aria-controls': details },
      make('span', { className: 'rank' }, String(e.rank)),
      make('span', { className: 'what' }, make('span', { className: 'name' }, Format.title(e)), make('span', { className: 'brief', 'aria-hidden': 'true' }, Format.shortName(e)), ' ', note(e)),
    );
    const box = make('input', { type: 'checkbox', 'aria-label': 'Compare ' + Format.title(e), onchange: () => on.compare(e, box.checked) });
    const line = make(
      'tr',
      { className: 'row', 'data-key': id },
      make(
        'th',
        { scope: 'row' },
        open,
        make('small', { className: 'place' }, about(e)),
        make('small', { className: 'narrow-only' }, span(Format.timeSpan(e), duration)),
      ),
      make('td', {}, ...withSmall(duration(Format.seconds(e)), span(Format.timeSpan(e), duration))),
      make('td', { className: 'cost' }, ...withSmall(usd(Format.dollars(e)), span(Format.costSpan(e), usd))),
      make(
        'td',
        { className: 'wide' },
        Format.energy(Format.joules(e)),
        isKnown(Format.carbon(e)) ? make('small', {}, Format.mass(Format.carbon(e)) + ' CO₂') : null,
      ),
      rank.models ? null : make(
        'td',
        { className: 'wide' },
        ...withSmall(short(e.throughput_samples_s), isKnown(e.tokens_s) ? short(e.tokens_s) + ' tokens/s' : ''),
      ),
      make('td', { className: 'plot' }, bar(e, m, at)),
      make('td', { className: 'pick' }, box),
    );
    line.addEventListener('click', event => {
      if (!event.target.closest('input, .pick')) on.open(e);
    });
    return [line, make('tr', { className: 'detail', id: details, hidden: true }, make('td', { colSpan: 7 }))];
  }
  function heads(rank, m, rows) {
    const ends = rows.flatMap(e => m.span(e) || []),
      ticks = ends.length ? [Math.min(...ends), Math.max(...ends)].map(v => m.write(v)) : ['', ''];
    return make(
      'tr',
      {},
      make('th', { scope: 'col', className: 'word' }, 'Candidate'),
      make('th', { scope: 'col' }, 'Time'),
      make('th', { scope: 'col' }, 'Cost'),
      make('th', { scope: 'col', className: 'wide' }, 'Energy'),
      rank.models ? null : make('th', { scope: 'col', className: 'wide' }, 'Samples/s'),
      make(
        'th',
        { scope: 'col', className: 'plot' },
        '90 % interval',
        make('small', { className: 'ends' }, make('span', {}, ticks[0]), make('span', {}, ticks[1])),
      ),
      make(
        'th',
        { scope: 'col', className: 'pick' },
        make('span', { className: 'hidden' }, 'Compare'),
        make('span', { 'aria-hidden': 'true' }, '⇄'),
      ),
    );
  }

  function table(rank, view, on) {
    const placed = Figures.placed(rank),
      first = Figures.best(rank).slice(0, FIRST_ROWS),
      wanted = [view.open, ...(view.compare || '').split('|')];
    const rows = view.all ? placed : placed.filter(e => first.includes(e) || wanted.includes(Format.key(e)));
    const m = Figures.measure(rank),
      at = scaleOf(rows, m);
    $('candidates').hidden = !placed.length;
    $('candidates').replaceChildren(
      make('caption', { className: 'hidden' }, 'Candidates, best first'),
      make('thead', {}, heads(rank, m, rows)),
      make('tbody', {}, ...rows.flatMap(e => row(e, rank, m, at, on))),
    );
    $('candidates-about').textContent = placed.length
      ? (rank.max_devices
          ? `${placed.length} candidates on up to ${rank.max_devices} devices, by ${rank.objective}; of each place the best number of devices first.`
          : `${placed.length} candidates by ${rank.objective}.`) +
        ' Open one for its plan, memory, time of a step and why. Tick two to compare them.' +
        (rank.within_assumed ? ` Jobs of more than ${duration(rank.within_s)} are left out: give a deadline to see them.` : '')
      : '';
    $('all').hidden = rows.length === placed.length;
    $('all').textContent = `Show all ${placed.length}`;
    leftOut(rank);
  }
  // "NVIDIA L4, 8 to 64 × NVIDIA H100": devices once, with their least and greatest number.
  function named(list) {
    const counts = new Map();
    for (const e of list) counts.set(e.name, [...(counts.get(e.name) || []), Format.count(e)]);
    return [...counts].map(([name, all]) => {
      const [least, most] = [Math.min(...all), Math.max(...all)];
      return (least < most ? `${least} to ${most} × ` : most > 1 ? `${most} × ` : '') + name;
    });
  }
  function leftOut(rank) {
    const out = rank.ranking.filter(e => !Format.isPlaced(e));
    $('left-out').hidden = !out.length;
    $('left-out').open = !Figures.placed(rank).length;
    $('left-out').querySelector('summary').textContent = `${out.length} not ranked, and why`;
    const reason = e =>
        ({ excluded: 'beyond the deadline or the budget', 'fits-recomputed': 'fits only if recomputed',
         'does-not-fit': 'does not fit into memory' })[e.state] ||
        Question.withoutOptions((e.reason || e.state).replace(e.device, 'it').split(';')[0]),
      groups = new Map();
    for (const e of out.sort((a, b) => (b.state === 'excluded') - (a.state === 'excluded')))
      groups.set(reason(e), [...(groups.get(reason(e)) || []), e]);
    $('left-out')
      .querySelector('ul')
      .replaceChildren(
        ...[...groups].map(([why, list]) =>
          make('li', {}, make('strong', {}, why), ': ' + named(list).join(', ')),
        ),
      );
  }
  const find = (rank, id) => rank.ranking.find(e => Format.isPlaced(e) && Format.key(e) === id);

  return { sentence, confidence, facts, table, find };
})();
