// app.js - sends the form's question to the server and shows the answer. The URL contains the question, so views can be linked.
'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const form = $('ask');
  const fields = ['model', 'objective', 'precision', 'batch', 'samples', 'epochs', 'baseline', 'where', 'price', 'price_basis', 'seq'];
  const { short } = Charts;
  let asked = 0, shown = null;

  function say(text, problem = false) {
    $('said').textContent = text;
    $('said').className = problem ? 'problem' : '';
  }

  async function get(path, params = {}) {
    const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v));
    const reply = await fetch(path + '?' + query);
    const answer = await reply.json();
    if (!reply.ok) throw new Error(answer.error || reply.statusText);
    return answer;
  }

  // ---- the question: form and URL

  const chosen = () => [...document.querySelectorAll('#devices input:checked')].map(box => box.value);
  function question() {
    const q = Object.fromEntries(fields.map(f => [f, $(f).value.trim()]));
    const devices = chosen(), all = document.querySelectorAll('#devices input').length;
    if (devices.length && devices.length < all) q.devices = devices.join(',');
    if ($('device').value && shown) q.device = $('device').value;
    return q;
  }
  function remember(q) {
    const query = new URLSearchParams(Object.entries(q).filter(([k, v]) => v && !(k === 'objective' && v === 'throughput') && !(k === 'price_basis' && v === 'on-demand')));
    history.replaceState(null, '', '?' + query);
  }
  function recall() {
    const query = new URLSearchParams(location.search);
    fields.forEach(f => { if (query.has(f)) $(f).value = query.get(f); });
    const devices = (query.get('devices') || '').split(',').filter(Boolean);
    document.querySelectorAll('#devices input').forEach(box => { box.checked = !devices.length || devices.includes(box.value); });
    return query.get('device');
  }

  // ---- tables

  function table(element, allColumns, allRows) {
    const kept = allColumns.map((c, i) => i === 0 || allRows.some(row => row[i] !== '–' && row[i] !== ''));
    const columns = allColumns.filter((c, i) => kept[i]), rows = allRows.map(row => row.filter((c, i) => kept[i]));
    element.replaceChildren();
    const head = element.createTHead().insertRow();
    for (const [name, unit] of columns) {
      const th = document.createElement('th');
      th.scope = 'col';
      th.textContent = name;
      if (unit) { const small = document.createElement('small'); small.textContent = unit; th.append(small); }
      if (unit === undefined) th.className = 'word';
      head.append(th);
    }
    const body = element.createTBody();
    for (const row of rows) {
      const tr = body.insertRow();
      row.forEach((cell, i) => {
        const td = document.createElement(i ? 'td' : 'th');
        if (!i) td.scope = 'row';
        else if (columns[i][1] === undefined) td.className = columns[i][2] ? 'long' : 'word';
        td.textContent = cell;
        tr.append(td);
      });
    }
  }

  function note(e) {
    if (e.reason) return e.reason;
    return [e.tied_with_next ? 'too close to call with the next' : '', e.pareto ? 'nothing is both faster and cheaper' : ''].filter(Boolean).join('; ');
  }

  function showRanking(rank) {
    const best = rank.ranking.find(e => e.rank === 1), job = rank.job;
    const close = best ? rank.ranking.filter(e => e.rank > 1 && e.interval[0] <= best.interval[1] && e.interval[1] >= best.interval[0]) : [];
    $('answer').textContent = best ? `${best.name}: ${short(best.value)} ${rank.unit}${job ? ' for ' + job.text : ''}` +
      `${rank.seq ? ', sequence length ' + rank.seq : ''}.${rank.warnings.map(w => ' Warning: ' + w + '.').join('')}` +
      (close.length ? ` Too close to call: the intervals of ${close.length} more overlap its own.` : '') : 'No device could be ranked; the table gives the reasons.';
    table($('t-ranking'), [['device'], ['rank', ''], ['precision'], ['runtime'], ['batch', ''], ['throughput', 'samples/s'], ['throughput', 'tokens/s'],
      ['90 % interval', 'samples/s'], ['speed-up', 'over baseline'], ['price', 'USD/h'], ['basis'], ['provider'], ['samples', 'per USD'], ['energy', 'J/sample'], ['time', 'h'], ['cost', 'USD'], ['', undefined, true]],
    rank.ranking.map(e => [e.devices > 1 ? e.device + ' x' + e.devices : e.device, e.rank ?? '–', e.precision, e.runtime ?? '–', e.batch ?? '–',
      short(e.throughput_samples_s), short(e.tokens_s),
      e.throughput_samples_s === null ? '–' : Charts.within(e).map(v => short(v)).join(' to '), short(e.relative), short(e.price_hour),
      e.price_basis ?? '–', e.provider ?? '–',
      short(e.samples_per_usd), short(e.energy_j_per_sample), short(e.hours), short(e.usd), note(e)]));
    Charts.ranking('c-ranking', rank);
    Charts.price('c-price', rank);
    Charts.pareto('c-pareto', rank);
  }

  function showDevice(d) {
    $('why').textContent = `${d.name}, batch ${d.batch}, ${d.precision}: ${short(d.step_time_s * 1e3)} ms per step. Limited by ${d.bottleneck}.`;
    Charts.roofline('c-roof', d);
    Charts.waterfall('c-fall', d);
    Charts.memory('c-memory', [d]);
    Charts.levels('c-levels', [d]);
    Charts.batches('c-batch', [d]);
    Charts.scaling('c-scaling', [d]);
    $('ends').textContent = d.scaling_ends ? 'The curve ends here: ' + d.scaling_ends + '.' : '';
    table($('t-ops'), [['operator'], ['phase'], ['time', 'ms'], ['intensity', 'FLOP/B'], ['bound by'], ['of ceiling', '%'], ['estimated by']],
      d.ops.slice(0, 15).map(o => [o.name, o.phase, short(o.time_s * 1e3), short(o.flop_per_byte), o.bound, short(100 * o.of_ceiling), o.how]));
    $('sources').replaceChildren(...d.sources.map(s => {
      const li = document.createElement('li');
      li.textContent = [s.title, s.where, s.date].filter(Boolean).join('. ');
      return li;
    }));
  }

  // ---- requests

  async function showOne(device) {
    const turn = asked, entry = shown.ranking.find(e => e.device === device);
    if (!entry || entry.batch === null) return;
    const q = question();
    try {
      const d = await get('/api/device', { model: q.model, device, batch: String(entry.batch), precision: entry.precision, seq: q.seq });
      if (turn === asked) showDevice(d);
    } catch (problem) { say(problem.message, true); }
  }

  async function ask(device) {
    const turn = ++asked, q = question();
    if (!q.model) return;
    delete q.device;
    try {
      const begin = performance.now(), rank = await get('/api/rank', q), took = performance.now() - begin;
      if (turn !== asked) return;
      shown = rank;
      $('results').hidden = false;
      showRanking(rank);
      const placed = rank.ranking.filter(e => e.rank !== null);
      $('device').replaceChildren(...placed.map(e => new Option(e.device, e.device)));
      if (placed.length) {
        $('device').value = placed.some(e => e.device === device) ? device : placed[0].device;
        await showOne($('device').value);
      }
      remember(question());
      say(`${placed.length} devices ranked in ${Math.round(took)} ms.`);
    } catch (problem) {
      if (turn === asked) say(problem.message, true);
    }
  }

  async function upload(file) {
    say(`Reading ${file.name} …`);
    try {
      const reply = await fetch('/api/upload?' + new URLSearchParams({ name: file.name }), { method: 'POST', body: file });
      const answer = await reply.json();
      if (!reply.ok) throw new Error(answer.error || reply.statusText);
      $('model').value = answer.model;
      await ask();
      say(`${answer.name}: ${short(answer.params)} parameters.` + (answer.warnings?.length ? ' ' + answer.warnings.join(' ') : ''));
    } catch (problem) { say(`${file.name}: ${problem.message}`, true); }
  }

  form.addEventListener('submit', event => { event.preventDefault(); ask(); });
  form.addEventListener('change', () => { if (shown) ask($('device').value); });
  $('devices').addEventListener('change', () => { if (shown) ask($('device').value); });
  $('device').addEventListener('change', () => { showOne($('device').value); remember(question()); });
  $('file').addEventListener('change', event => { if (event.target.files[0]) upload(event.target.files[0]); });
  const drop = $('drop');
  for (const name of ['dragover', 'dragenter']) drop.addEventListener(name, event => { event.preventDefault(); drop.classList.add('over'); });
  for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
  drop.addEventListener('drop', event => { event.preventDefault(); if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]); });
  $('copy').addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(location.href); say('Link copied.'); }
    catch { say(location.href); }
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (shown) { showRanking(shown); showOne($('device').value); } });

  (async () => {
    try {
      const [models, devices] = await Promise.all([get('/api/models'), get('/api/devices')]);
      $('models').replaceChildren(...models.models.map(m => new Option(m.title, m.id)));
      $('device-ids').replaceChildren(...devices.devices.map(d => new Option(d.name, d.id)));
      $('devices').replaceChildren(...devices.devices.filter(d => d.id !== 'this-machine').map(d => {
        const li = document.createElement('li'), label = document.createElement('label'), box = document.createElement('input');
        box.type = 'checkbox';
        box.value = d.id;
        box.checked = true;
        label.append(box, d.name);
        li.append(label);
        return li;
      }));
      const device = recall();
      if (!$('model').value) $('model').value = 'resnet50';
      await ask(device);
    } catch (problem) { say(problem.message, true); }
  })();
})();
