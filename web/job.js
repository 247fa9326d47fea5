// job.js - the question as a job file, the YAML that the program reads and writes, and a job file as a question.
'use strict';
const Job = (() => {
  // Keys of the file that are fields of the page under another name, or under none.
  const own = ['schema', 'models', 'deadline', 'within', 'budget', 'max_hours', 'max_usd', 'global_batch', 'batch', 'samples', 'tokens', 'epochs', 'devices'];
  const lists = ['clusters', 'devices', 'price', 'where'];

  // ---- writing

  const plain = /^[A-Za-z0-9_./+][\w./+%-]*$/;
  const scalar = text => (plain.test(text) ? text : JSON.stringify(text));
  const written = (key, text) =>
    lists.includes(key) && text.includes(',') ? '[' + text.split(',').map(scalar).join(', ') + ']' : scalar(text);
  function text(q) {
    const { networks, model, times, data, unit, epochs, within, budget, batch, ...others } = q;
    const models = Question.networksOf(q).flatMap(n =>
      Object.entries(n).map(([key, value], i) => `${i ? '    ' : '  - '}${key}: ${scalar(key === 'model' ? Question.nameOf(value) : value)}`),
    );
    const keys = { ...others, objective: Question.objective(q) };
    if (within) keys.deadline = Question.hours(within) + 'h';
    if (budget) keys.budget = String(Question.dollars(budget));
    if (batch) keys[q.max_devices ? 'global_batch' : 'batch'] = batch;
    return [
      '# A question to centimani: centimani rank --job FILE, or open it on the page.',
      'schema: 1',
      'models:',
      ...models,
      ...Object.entries(keys)
        .filter(([, value]) => value)
        .map(([key, value]) => `${key}: ${written(key, value)}`),
      '',
    ].join('\n');
  }

  // ---- reading

  const joined = value =>
    Array.isArray(value)
      ? value.join(',')
      : typeof value === 'object'
        ? Object.entries(value).map(([name, v]) => `${name}=${v}`).join(',')
        : value;
  function network(entry, job) {
    const [, name, weight] = /^(.*?)(?:\*([\d.]+))?$/.exec(typeof entry === 'object' ? entry.model : entry),
      n = typeof entry === 'object' ? entry : {},
      of = n.samples || n.tokens ? n : job;
    return {
      model: name,
      times: n.weight || weight || '1',
      data: of.tokens && !of.samples ? of.tokens : of.samples || '',
      unit: of.tokens && !of.samples ? 'tokens' : 'samples',
      epochs: n.epochs || job.epochs || '',
    };
  }
  // The question of a job that the program has checked, and the keys that the page has no field for.
  function question(job) {
    const all = (Array.isArray(job.models) ? job.models : [job.models]).map(entry => network(entry, job)),
      only = all.length === 1 && typeof [job.models].flat()[0] === 'object' ? [job.models].flat()[0] : {},
      [first, ...rest] = all,
      q = { ...first },
      without = Object.keys(job).filter(key => !own.includes(key) && !Question.fields.includes(key));
    for (const key of Object.keys(job)) if (Question.fields.includes(key) && !own.includes(key)) q[key] = joined(job[key]);
    for (const entry of all.length > 1 ? job.models : []) for (const key of ['seq', 'batch']) if (entry[key]) without.push(`${key} of ${entry.model}`);
    if (job.devices) q.devices = joined(job.devices);
    if (job.deadline || job.within || job.max_hours) q.within = job.deadline || job.within || job.max_hours + 'h';
    if (job.budget || job.max_usd) q.budget = job.budget || job.max_usd;
    q.batch = job.global_batch || job.batch || only.batch || '';
    if (only.seq) q.seq = only.seq;
    q.networks = Question.encode(rest);
    for (const key of Object.keys(q)) if (!q[key]) delete q[key];
    return [q, without];
  }
  const isName = name => /\.ya?ml$/i.test(name);
  async function open(file) {
    const answer = await Api.ask('/api/job', { text: (await file.text()).replace(/\r?\n/g, '\r') });
    return question(answer.job);
  }
  return { text, open, isName };
})();
