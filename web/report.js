// report.js - draws the charts of a report from its embedded data. Without JavaScript, the report shows only its tables.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  document.documentElement.classList.remove('no-script');
  function all() {
    Figures.intervals('c-ranking', data.rank);
    Figures.pareto('c-pareto', data.rank);
    if (data.details.length) {
      StepFigures.memory('c-memory', data.details);
      StepFigures.levels('c-levels', data.details);
      if (data.details[0].curve.length) StepFigures.batches('c-batch', data.details);
      const [best] = data.rank.ranking;
      if (!data.rank.max_devices) StepFigures.scaling('c-scaling', data.details);
      else
        Figures.counts(
          'c-counts',
          data.rank.ranking.filter(e => Format.samePlace(e, best)),
        );
    }
    data.details.forEach((d, i) => {
      StepFigures.waterfall('c-fall-' + i, d);
      StepFigures.timeline('c-time-' + i, d);
      StepFigures.roofline('c-roof-' + i, d);
    });
  }
  all();
  document.querySelectorAll('details.table').forEach(d => d.removeAttribute('open'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
  addEventListener('beforeprint', () => {
    document.querySelectorAll('details').forEach(d => {
      d.open = true;
    });
  });
})();
