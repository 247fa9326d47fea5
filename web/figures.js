// figures.js - the figures of all candidates. Tables on the page have the same numbers.
'use strict';
const Figures = (() => {
  const { palette, faint, log, doubling, labelAxis, isNarrow, legend, noLegend, tip, draw, fitHeight } = Charts;
  const { short, duration, usd } = Format;
  const placed = rank => rank.ranking.filter(Format.isPlaced);
  const best = rank => placed(rank).filter(e => e.best_here !== false); // of each place the best number of devices

  // The quantity that the ranking is by, its interval and its unit.
  const measures = {
    time: {
      of: e => Format.seconds(e) / 3600,
      span: e => Format.timeSpan(e)?.map(s => s / 3600),
      unit: 'h',
      write: v => duration(v * 3600),
    },
    cost: { of: Format.dollars, span: Format.costSpan, unit: 'USD', write: usd },
  };
  const measure = rank =>
    measures[rank.objective] || { of: e => e.value, span: e => e.interval, unit: rank.unit, write: v => short(v) + ' ' + rank.unit };

  function intervals(id, rank, { most = 40, limit = [], choose } = {}) {
    const rows = best(rank).slice(0, most),
      m = measure(rank),
      narrow = isNarrow(id);
    if (!rows.length) return;
    const ends = rows.map(e => m.span(e) || [m.of(e), m.of(e)]);
    fitHeight(id, rows.length, narrow ? 19 : 20);
    draw(
      id,
      {
        type: 'bar',
        data: {
          labels: rows.map(e => (rank.max_devices && !narrow && e.provider ? Format.brief(e) + ', ' + e.provider : Format.brief(e))),
          datasets: [
            {
              data: ends,
              values: rows.map(m.of),
              maxBarThickness: 9,
              borderRadius: 5,
              borderSkipped: false,
              dotColour: rows.map((e, i) => palette(i ? 0 : 1)),
              backgroundColor: rows.map((e, i) => faint(palette(i ? 0 : 1), 0.38)),
            },
          ],
        },
        options: {
          indexAxis: 'y',
          limits: limit,
          interaction: { mode: 'nearest', axis: 'y', intersect: false },
          scales: { x: { ...log(m.unit, ends.flat(), 1.25), position: 'top' }, y: labelAxis(narrow) },
          plugins: {
            ...noLegend,
            ...tip(
              c => m.write(m.of(rows[c.dataIndex])) + ', 90 % interval ' + ends[c.dataIndex].map(v => short(v)).join(' to ') + ' ' + m.unit,
              c => Format.title(rows[c[0].dataIndex]),
            ),
          },
        },
        plugins: [Charts.dots, Charts.limits],
      },
      choose && (i => choose(rows[i])),
    );
  }

  // Hours and USD of the job; without a job, of a million samples.
  const point = e => ({
    x: Format.isKnown(Format.seconds(e)) ? Format.seconds(e) / 3600 : 1e6 / e.throughput_samples_s / 3600,
    y: Format.dollars(e) ?? 1e6 / e.samples_per_usd,
    e,
  });
  // Names that tell the candidates of a front apart: also by price basis or place where the device is not enough.
  function nameFront(front, brief) {
    const parts = [brief, e => (e.price_basis === 'on-demand' ? '' : e.price_basis), e => e.provider, Format.seller];
    front.forEach(p => {
      const alike = front.filter(q => brief(q.e) === brief(p.e)),
        telling = parts.slice(1).find(of => new Set(alike.map(q => of(q.e))).size === alike.length);
      p.text = [brief(p.e), alike.length > 1 && (telling || Format.seller)(p.e)].filter(Boolean).join(' ');
    });
  }
  // Candidates without a price have no point.
  const points = rank =>
    placed(rank)
      .map(point)
      .filter(p => p.x > 0 && p.y > 0 && isFinite(p.x) && isFinite(p.y));
  const hasPareto = rank => points(rank).length > 0;
  function pareto(id, rank, { limit = [], choose } = {}) {
    const all = points(rank);
    if (!all.length) return;
    const narrow = isNarrow(id),
      brief = narrow ? Format.shortName : Format.brief,
      front = all.filter(p => p.e.pareto).sort((a, b) => a.x - b.x || b.y - a.y),
      others = all.filter(p => !p.e.pareto),
      axes = [
        log(
          rank.job || rank.models ? 'hours' : 'hours for a million samples',
          all.map(p => p.x),
          1.8,
        ),
        log(
          'USD',
          all.map(p => p.y),
          1.6,
        ),
      ],
      ends = [axes.map(a => a.min), axes.map(a => a.max)],
      low = axis => ({ chart }) => Charts.roomForNames(chart, front, ...ends)[axis];
    nameFront(front, brief);
    others.forEach(p => {
      p.text = brief(p.e);
    });
    draw(
      id,
      {
        type: 'scatter',
        data: {
          datasets: [
            {
              label: 'no other is both faster and cheaper',
              data: front,
              showLine: true,
              stepped: 'before',
              borderColor: faint(palette(1), 0.6),
              borderWidth: 1.5,
              pointBackgroundColor: palette(1),
              backgroundColor: palette(1),
              pointRadius: 6,
              pointHoverRadius: 8,
              pointStyle: 'rectRot',
            },
            {
              label: 'other candidates',
              data: others,
              named: all.length <= (narrow ? 16 : 30),
              backgroundColor: palette(0),
              pointRadius: 4,
              pointHoverRadius: 7,
            },
          ],
        },
        options: {
          limits: limit,
          scales: {
            x: { ...axes[0], min: low(0) },
            y: { ...axes[1], min: low(1) },
          },
          plugins: {
            legend: legend({ usePointStyle: true }),
            ...tip(
              c => duration(c.raw.x * 3600) + ', ' + usd(c.raw.y) + ' (' + Format.place(c.raw.e) + ')',
              c => Format.title(c[0].raw.e),
            ),
          },
        },
        plugins: [Charts.limits, Charts.names],
      },
      choose && ((i, set) => choose((set ? others : front)[i].e)),
    );
  }

  // The job on other numbers of devices of the same place: time on the left axis, cost on the right one.
  function counts(id, entries, { choose } = {}) {
    const rows = entries.filter(e => Format.seconds(e) > 0).sort((a, b) => Format.count(a) - Format.count(b));
    const line = (label, i, of, more) => ({
      label,
      data: rows.map(e => ({ x: Format.count(e), y: of(e), e })),
      borderColor: palette(i),
      backgroundColor: palette(i),
      pointRadius: 4,
      tension: 0,
      ...more,
    });
    const hours = rows.map(e => Format.seconds(e) / 3600),
      costs = rows.map(Format.dollars).filter(Format.isKnown);
    const linear = {
      label: 'linear scaling',
      data: rows.map(e => ({ x: Format.count(e), y: (hours[0] * Format.count(rows[0])) / Format.count(e) })),
      borderColor: palette(0),
      borderDash: [5, 4],
      borderWidth: 1,
      pointRadius: 0,
      pointStyle: 'line',
    };
    draw(
      id,
      {
        type: 'line',
        data: {
          datasets: [
            line('time', 0, e => Format.seconds(e) / 3600),
            linear,
            ...(costs.length ? [line('cost', 1, Format.dollars, { yAxisID: 'y2', pointStyle: 'rectRot' })] : []),
          ],
        },
        options: {
          scales: {
            x: doubling('devices', rows.map(Format.count)),
            y: log('hours', hours),
            ...(costs.length && { y2: { ...log('USD', costs, 1.3), position: 'right', grid: { display: false } } }),
          },
          plugins: {
            legend: legend({ usePointStyle: true }),
            tooltip: {
              filter: c => c.raw.e,
              callbacks: {
                title: c => Format.title(c[0].raw.e),
                label: c => duration(Format.seconds(c.raw.e)) + ', ' + usd(Format.dollars(c.raw.e)),
              },
            },
          },
        },
      },
      choose &&
        ((i, set) => {
          if (set !== 1 && Format.isPlaced(rows[i])) choose(rows[i]);
        }),
    );
  }

  return { placed, best, measure, intervals, hasPareto, pareto, counts };
})();
