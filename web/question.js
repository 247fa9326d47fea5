// question.js - the question and the view: form, URL and the query for the server. The URL contains both, so that every view can be linked.
'use strict';
const Question = (() => {
  const fields = [
    'model',
    'times',
    'data',
    'unit',
    'epochs',
    'within',
    'budget',
    'objective',
    'max_devices',
    'clusters',
    'queue',
    'carbon',
    'precision',
    'batch',
    'seq',
    'optimizer',
    'lora',
    'quantize',
    'recompute',
    'price_basis',
    'price',
    'where',
    'baseline',
  ];
  const bar = ['model', 'times', 'data', 'unit', 'epochs', 'within', 'budget', 'max_devices'];
  const defaults = { unit: 'samples', times: '1' };
  const views = ['open', 'network', 'compare', 'all']; // members of the view: opened candidate and its network, compared candidates, all rows
  const examples = [
    ['ResNet-50 on ImageNet', { model: 'resnet50', data: '1281167', epochs: '90', within: '24h' }],
    ['Llama 3 8B, LoRA fine-tune', { model: 'llama3-8b', data: '100M', unit: 'tokens', lora: 'r=16', seq: '2048', budget: '50' }],
    ['Llama 3 8B, full fine-tune on 8 devices', { model: 'llama3-8b', data: '100M', unit: 'tokens', seq: '2048', max_devices: '8' }],
    ['Three networks on one machine', { model: 'resnet50', data: '1281167', epochs: '90', networks: 'bert-large|2|10M;unet||1M', max_devices: '8' }],
  ];

  // ---- further networks: the member `networks` of a question, "bert-large|2|1B|tokens;unet": model, times, data, unit, epochs

  const columns = ['model', 'times', 'data', 'unit', 'epochs'];
  const decode = text =>
    (text || '')
      .split(';')
      .filter(Boolean)
      .map(row => Object.fromEntries(row.split('|').map((value, i) => [columns[i], value || defaults[columns[i]] || ''])));
  const encode = rows =>
    rows
      .filter(n => n.model)
      .map(n =>
        columns
          .map(c => (n[c] || '') === (defaults[c] || '') ? '' : n[c])
          .join('|')
          .replace(/\|+$/, ''),
      )
      .join(';');
  const rows = () => [...document.querySelectorAll('#networks .network')];
  const value = (row, name) => row.querySelector(`[data-name="${name}"]`).value.trim().replace(/[|;]/g, '');
  function networkRow(n, i) {
    const field = (name, label, control, className) => {
      control.id = `${name}-${i}`;
      control.setAttribute('data-name', name);
      control.value = n[name] ?? defaults[name] ?? '';
      return make('div', { className: 'field ' + className }, make('label', { htmlFor: control.id }, label), control);
    };
    const text = more => make('input', { spellcheck: false, ...more });
    const unit = make('select', {}, make('option', {}, 'samples'), make('option', {}, 'tokens'));
    const row = make(
      'div',
      { className: 'bar network', role: 'group', 'aria-label': `Network ${i}` },
      field('model', `Network ${i}`, text({ list: 'models', placeholder: 'a name or a description' }), 'grow'),
      field('times', 'Times', text({ inputMode: 'decimal' }), 'narrow'),
      field('data', 'Data', text({ placeholder: 'e.g. 10M' }), 'narrow'),
      field('unit', 'Unit', unit, 'unit'),
      field('epochs', 'Epochs', text({ inputMode: 'decimal', placeholder: 'one' }), 'narrow'),
    );
    row.append(
      make('button', { type: 'button', className: 'plain', 'aria-label': `Remove network ${i}`, onclick: () => remove(row) }, '✕'),
    );
    return row;
  }
  function showNetworks(list) {
    $('networks').replaceChildren(...list.map((n, i) => networkRow({ ...n, model: nameOf(n.model) }, i + 2)));
    $('times').parentElement.hidden = !list.length;
    if (!list.length) $('times').value = defaults.times;
  }
  const shown = () => rows().map(row => Object.fromEntries(columns.map(c => [c, value(row, c)])));
  function add() {
    showNetworks([...shown(), {}]);
    rows().at(-1).querySelector('input').focus();
  }
  function remove(row) {
    row.remove();
    showNetworks(shown());
    $('ask').dispatchEvent(new Event('change'));
  }
  const idOf = name => files.get(name) ?? name;
  const nameOf = id => [...files].find(([, other]) => other === id)?.[0] ?? id;

  const boxes = () => [...document.querySelectorAll('#devices input')];
  let asked = ''; // devices of the URL, until the boxes are there
  const files = new Map(); // name of an uploaded file -> model id; the form shows the name, the query has the id

  function read() {
    const q = {};
    for (const f of fields) if ($(f).value.trim() && $(f).value.trim() !== defaults[f]) q[f] = $(f).value.trim();
    if (q.model) q.model = idOf(q.model);
    const networks = encode(shown().map(n => ({ ...n, model: idOf(n.model) })));
    if (networks) q.networks = networks;
    const all = boxes(),
      chosen = all.filter(box => box.checked);
    if (chosen.length && chosen.length < all.length) q.devices = chosen.map(box => box.value).join(',');
    if (!all.length && asked) q.devices = asked;
    return q;
  }
  function write(q) {
    for (const f of fields) $(f).value = q[f] ?? defaults[f] ?? '';
    $('model').value = nameOf($('model').value);
    showNetworks(decode(q.networks));
    if (q.networks) $('times').value = q.times || defaults.times;
    asked = q.devices || '';
    const devices = (q.devices || '').split(',').filter(Boolean);
    boxes().forEach(box => {
      box.checked = !devices.length || devices.includes(box.value);
    });
    summarize();
  }
  // Summarize the closed parts of the form.
  function summarize() {
    const q = read(),
      set = fields.filter(f => !bar.includes(f) && q[f]);
    $('more-set').textContent = set.length ? set.map(f => f.replace('_', ' ') + ' ' + q[f]).join(', ') : '';
    $('devices-set').textContent = q.devices && boxes().length ? q.devices.split(',').length + ' of ' + boxes().length : 'all';
  }

  // The fields of an example belong to its kind of model. A model of another kind starts without them, unless somebody changed them.
  const kinds = new Map(); // of named models
  const sorted = ({ model, devices, ...others }) => JSON.stringify(Object.entries(others).sort());
  function leaveExample() {
    const kind = model => kinds.get(model) ?? model,
      example = examples.find(([, q]) => sorted(q) === sorted(read()));
    if (!example || kind(example[1].model) === kind($('model').value.trim())) return;
    for (const f of fields) if (f !== 'model') $(f).value = defaults[f] ?? '';
  }
  function offerModels(models) {
    for (const m of models) kinds.set(m.id, m.family);
    $('models').replaceChildren(...models.map(m => new Option(m.title, m.id)));
  }

  function nameFile(name, id) {
    files.set(name, id);
    $('model').value = name;
  }
  // The list of devices, each with its box.
  function offer(devices) {
    const chosen = asked.split(',').filter(Boolean);
    $('devices').replaceChildren(
      ...devices.map(d =>
        make(
          'li',
          {},
          make('label', {}, make('input', { type: 'checkbox', value: d.id, checked: !chosen.length || chosen.includes(d.id) }), d.name),
        ),
      ),
    );
    summarize();
  }

  function fromUrl() {
    const query = new URLSearchParams(location.search),
      q = {},
      view = {};
    for (const f of [...fields, 'networks', 'devices']) if (query.get(f)) q[f] = query.get(f);
    for (const v of views) if (query.get(v)) view[v] = query.get(v);
    return [q, view];
  }
  const toUrl = (q, view) => '?' + new URLSearchParams([...Object.entries(q), ...Object.entries(view).filter(([, value]) => value)]);

  // ---- the query for the server

  // Without a choice, candidates are ranked by time if only a budget is given, and by cost otherwise. For a whole job, the program ranks
  // by time if no price is known, as in facilities.
  const objective = q => q.objective || (q.budget && !q.within ? 'time' : q.max_devices ? '' : 'cost');
  const hoursOf = { min: 1 / 60, m: 1 / 60, h: 1, d: 24, w: 168 };
  function hours(text) {
    const [, number, unit] = /^([\d.]+)\s*([a-z]*)$/i.exec(text.trim()) || [],
      factor = hoursOf[(unit || 'h').toLowerCase().replace(/(ours?|ays?|eeks?|in(utes?)?)$/, '')];
    if (!(number > 0) || !factor) throw new Error(`The deadline “${text}” is not a time such as 90min, 24h or 3d.`);
    return number * factor;
  }
  function dollars(text) {
    const number = Number(text.replace(/usd|\$|,|\s/gi, '').replace(/k$/i, 'e3').replace(/m$/i, 'e6'));
    if (!(number > 0)) throw new Error(`The budget “${text}” is not a number of US dollars such as 500, 20k or 3M.`);
    return number;
  }
  // The program names its options; the page has fields with labels.
  const labels = { price: 'Your own prices', max_devices: 'Max. devices', samples: 'Data', tokens: 'Data', within: 'Deadline', max_hours: 'Deadline', budget: 'Budget', max_usd: 'Budget', global_batch: 'Batch size' };
  // Options of the program in a reason become the fields of the page.
  const withoutOptions = text =>
    text.replace(/(: |, | \()?(assumed: )?--([a-z-]+)(=\S+| [A-Z]+\b)?\)?/g, (whole, before, assumed, name) => {
      const label = labels[name.replace(/-/g, '_')] || document.querySelector(`label[for="${name.replace(/-/g, '_')}"]`)?.textContent;
      return assumed || !label ? '' : `${before || ''}“${label}”`;
    });
  function inWords(message) {
    const words = message.replace(/option --([a-z-]+):/g, (whole, name) => {
      const field = name.replace(/-/g, '_'),
        label = labels[field] || document.querySelector(`label[for="${field}"]`)?.textContent;
      return label ? label + ':' : whole;
    }).replace('/api/models lists them', 'the field lists the names that contain what you type; a config.json can be opened as a file');
    const plain = withoutOptions(words.replace(/[;,.] `centimani [^`]*`[^.]*/g, ''));
    return plain.charAt(0).toUpperCase() + plain.slice(1) + (/[.?!]$/.test(plain) ? '' : '.');
  }
  // The name that a message suggests instead of the model's.
  const suggested = message => (/^no model '.*did you mean '([^']+)'/i.exec(message) || [])[1];
  const count = text => text.replace(/[,\s_]/g, '');
  function query(q) {
    const { data, unit, within, budget, batch, baseline, networks, times, ...rest } = q;
    if ((q.clusters || q.queue || q.carbon) && !q.max_devices)
      throw new Error('Clusters, queues and the carbon region are for whole jobs: give a number of devices under “Max. devices”.');
    const limits = { hours: within && hours(within), usd: budget && dollars(budget) };
    const asked = q.max_devices
      ? { within: limits.hours && limits.hours + 'h', budget: limits.usd && String(limits.usd), global_batch: batch }
      : { batch, baseline, max_hours: limits.hours && String(limits.hours), max_usd: limits.usd && String(limits.usd) };
    if (!networks) return { ...rest, ...asked, objective: objective(q), [unit || 'samples']: data && count(data) };
    const { model, epochs, ...others } = rest;
    return { ...others, ...asked, objective: objective(q), networks: JSON.stringify(networksOf(q)) };
  }
  // All networks of a question as a job file has them, the first one, too.
  function networksOf(q) {
    const first = { model: q.model, times: q.times, data: q.data, unit: q.unit, epochs: q.epochs };
    return [first, ...decode(q.networks)].map(n => {
      const network = { model: n.model, weight: n.times || '1' };
      if (n.data) network[n.unit || 'samples'] = count(n.data);
      if (n.epochs) network.epochs = n.epochs;
      return network;
    });
  }
  // The part of the question that holds for every candidate, whatever its plan.
  const shared = q => Object.fromEntries(['model', 'seq', 'optimizer', 'lora', 'quantize', 'recompute'].map(name => [name, q[name]]));

  return { examples, fields, nameOf, read, write, add, decode, encode, networksOf, count, leaveExample, nameFile, offerModels, offer, summarize, fromUrl, toUrl, objective, hours, dollars, inWords, withoutOptions, suggested, query, shared };
})();
