// report.js - draws the charts of a report from its embedded data. Without JavaScript, the report shows only its tables.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  document.documentElement.classList.remove('no-script');
  function all() {
    Charts.ranking('c-ranking', data.rank);
    Charts.price('c-price', data.rank);
    Charts.pareto('c-pareto', data.rank);
    if (data.details.length) {
      Charts.memory('c-memory', data.details);
      Charts.levels('c-levels', data.details);
      Charts.batches('c-batch', data.details);
      Charts.scaling('c-scaling', data.details);
    }
    data.details.forEach((d, i) => {
      Charts.roofline('c-roof-' + i, d);
      Charts.waterfall('c-fall-' + i, d);
    });
  }
  all();
  document.querySelectorAll('details.table').forEach(d => d.removeAttribute('open'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
  addEventListener('beforeprint', () => { document.querySelectorAll('details').forEach(d => { d.open = true; }); });
})();
