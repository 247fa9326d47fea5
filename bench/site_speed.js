// SPDX-License-Identifier: Apache-2.0
// site_speed.js - FOLDER [RUNS]: time of the first ranking of all devices by the page without a server, in Chromium. Every run starts a
// new worker, so that nothing is cached; the time in which it loads and compiles the module is printed apart. Needs playwright-core in NODE_PATH.
'use strict';
const path = require('path');
const { chromium } = require('playwright-core');
const { startServer, stopServer } = require('../tests/browser/checks.js');

const [folder, runs = '7'] = process.argv.slice(2);

const once = page =>
  page.evaluate(async () => {
    const begin = performance.now(),
      worker = new Worker('worker.js');
    const ask = (id, where, query) =>
      new Promise(resolve => {
        worker.onmessage = resolve;
        worker.postMessage({ id, path: where, query });
      });
    await ask(1, '/api/version', []);
    const loaded = performance.now();
    await ask(2, '/api/rank', [['model', 'resnet50']]);
    const answered = performance.now();
    worker.terminate();
    return [loaded - begin, answered - loaded];
  });

(async () => {
  process.env.CENTIMANI_SITE = folder;
  const [server, url] = await startServer(path.join(__dirname, '../tests/browser/site_program.js'));
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(url, { waitUntil: 'networkidle' });
    const all = [];
    for (let i = 0; i < Number(runs); i++) all.push(await once(page));
    const [loaded, first] = [0, 1].map(k => all.map(t => t[k]).sort((a, b) => a - b)[all.length >> 1]);
    console.log(`first ranking of all devices: ${first.toFixed(0)} ms after the module was loaded in ${loaded.toFixed(0)} ms (median of ${runs})`);
  } finally {
    await browser.close();
    stopServer(server);
  }
})();
