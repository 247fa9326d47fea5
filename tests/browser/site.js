// SPDX-License-Identifier: Apache-2.0
// site.js - PROGRAM FOLDER: test the page without a server in Chromium, with the network off after the page was loaded. Prints TAP.
'use strict';
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const playwright = require('playwright-core');

const [program, folder] = process.argv.slice(2);
const chrome = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(p => fs.existsSync(p));
const results = [];
const yes = (value, what) => { if (!value) throw new Error(what); };
async function test(name, run) {
  try { results.push([true, name, await run()]); }
  catch (problem) { results.push([false, name, String(problem.stack || problem)]); }
}

function startHost() {
  return new Promise(resolve => {
    const host = spawn(process.execPath, [path.join(__dirname, 'site_program.js'), 'serve'], { env: { ...process.env, CENTIMANI_SITE: folder }, stdio: ['ignore', 'pipe', 'inherit'] });
    host.stdout.once('data', text => resolve([host, String(text).trim()]));
  });
}

const native = words => JSON.parse(execFileSync(program, [...words, '--json'], { maxBuffer: 1 << 28 }));
const ask = (page, address) => page.evaluate(async a => { const reply = await fetch(a); return [reply.status, await reply.json()]; }, address);

// The first difference between two answers; numbers may differ by rounding. Times of searches differ.
function difference(a, b, at = '') {
  if (typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b)) ? null : `${at}: ${a}, not ${b}`;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b ? null : `${at}: ${a}, not ${b}`;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = difference(a[key], b[key], `${at}/${key}`);
    if (found) return found;
  }
  return null;
}

const questions = [
  ['/api/rank?model=resnet50', ['rank', 'resnet50']],
  ['/api/rank?model=gpt2&objective=price&batch=8', ['rank', 'gpt2', '--objective', 'price', '--batch', '8']],
  ['/api/rank?model=gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000&price=nvidia-h100=2.5', ['rank', 'gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000', '--price', 'nvidia-h100=2.5']],
  ['/api/device?model=bert-large&device=nvidia-a100-40g&batch=8&precision=amp-bf16', ['explain', 'bert-large', '--device', 'nvidia-a100-40g', '--batch', '8', '--precision', 'amp-bf16', '--full']],
  ['/api/graph?model=vgg16', ['graph', 'vgg16']],
  ['/api/models', ['models']],
];

(async () => {
  const [host, url] = await startHost();
  const browser = await playwright.chromium.launch({ executablePath: chrome, args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext(), page = await context.newPage(), asked = [];
    page.on('request', r => asked.push(r.url()));
    await page.goto(url, { waitUntil: 'networkidle' });
    await context.setOffline(true);
    const before = asked.length;
    for (const [address, words] of questions) await test(`offline: ${address} answers as the program`, async () => {
      const [status, answer] = await ask(page, address), wanted = native(words);
      yes(status === 200, `status ${status}: ${answer.error}`);
      const found = difference(answer, wanted);
      yes(!found, found);
    });
    await test('offline: errors are those of the server', async () => {
      const [status, answer] = await ask(page, '/api/rank?model=resnet5');
      yes(status === 404 && /did you mean/.test(answer.error), `${status} ${answer.error}`);
      const [other, refused] = await ask(page, '/api/rank?model=resnet50&devices=/etc/passwd');
      yes(other === 400 && /by their ids/.test(refused.error), `${other} ${refused.error}`);
    });
    await test('offline: a file is read in the browser', async () => {
      const config = { model_type: 'gpt2', n_layer: 2, n_embd: 64, n_head: 2, n_positions: 128, vocab_size: 1000 };
      const got = await page.evaluate(async text => {
        const reply = await fetch('/api/upload?name=config.json', { method: 'POST', body: new File([text], 'config.json') });
        const uploaded = await reply.json();
        const ranked = await (await fetch('/api/rank?' + new URLSearchParams({ model: uploaded.model, batch: '4' }))).json();
        return [reply.status, uploaded, ranked.ranking?.length, ranked.error];
      }, JSON.stringify(config));
      const work = fs.mkdtempSync(path.join(os.tmpdir(), 'centimani-site-')), file = path.join(work, 'config.json');
      fs.writeFileSync(file, JSON.stringify(config));
      const wanted = native(['graph', file]).params;
      fs.rmSync(work, { recursive: true });
      yes(got[0] === 200 && got[1].params === wanted, `${JSON.stringify(got[1])}, expected ${wanted} parameters`);
      yes(got[2] > 10, `ranked ${got[2]} devices: ${got[3]}`);
    });
    const onnx = path.join(process.env.CENTIMANI_MODELS || '', 'resnet50.raw.onnx');
    if (fs.existsSync(onnx)) await test('offline: an ONNX file of 98 MB is ranked as by the program', async () => {
      await page.setContent('<input type="file" id="given">'); // the replaced fetch() stays
      await page.setInputFiles('#given', onnx);
      const ranked = await page.evaluate(async () => {
        const file = document.getElementById('given').files[0];
        const uploaded = await (await fetch('/api/upload?name=resnet50.raw.onnx', { method: 'POST', body: file })).json();
        return (await fetch('/api/rank?' + new URLSearchParams({ model: uploaded.model, batch: '32' }))).json();
      });
      const found = difference(ranked.ranking, native(['rank', onnx, '--batch', '32']).ranking);
      yes(!found, found);
    });
    await test('offline: nothing was requested from any host', async () => {
      const outside = asked.slice(before).filter(u => !u.startsWith('blob:'));
      yes(!outside.length, outside.join());
    });
    await test('one file: opened from the file system, it answers as the program and asks no host', async () => {
      const other = await context.newPage(), requests = [];
      other.on('request', r => requests.push(r.url()));
      other.on('pageerror', problem => requests.push(String(problem)));
      await other.goto('file://' + path.resolve(folder, 'centimani.html'));
      const [status, answer] = await ask(other, '/api/rank?model=resnet50');
      yes(status === 200, `status ${status}: ${answer.error}`);
      const found = difference(answer, native(['rank', 'resnet50']));
      yes(!found, found);
      await other.waitForFunction(() => window.Chart && document.querySelector('#c-intervals').width > 300);
      const outside = requests.filter(u => !/^(blob|data):|centimani\.html/.test(u));
      yes(!outside.length, outside.join());
    });
  } finally {
    await browser.close();
    host.kill('SIGTERM');
  }
  console.log(`1..${results.length}`);
  results.forEach(([ok, name, said], i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - ${name}`);
    if (said) console.log(said.split('\n').map(l => '# ' + l).join('\n'));
  });
  process.exit(results.every(r => r[0]) ? 0 : 1);
})();
