// SPDX-License-Identifier: Apache-2.0
// site_speed.js - FOLDER [RUNS]: times of the page without a server in Chromium. First: from opening the page to its painted answer, which
// is inside the document, and to the answer to a question that is not, which waits for the module. Every run has a new browser window, so
// that nothing is cached. Then: the first ranking of a new worker, apart from the time in which it loads and compiles the module. Prints
// the least and the median. Needs playwright-core in NODE_PATH.
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

// The browser says when it painted the sentence that answers the question.
async function shown(browser, url) {
  const context = await browser.newContext(),
    page = await context.newPage();
  await page.addInitScript(() => {
    addEventListener('DOMContentLoaded', () => document.getElementById('sentence').setAttribute('elementtiming', 'answer'));
    new PerformanceObserver(list => (window.shownAfter = list.getEntries()[0].renderTime)).observe({ type: 'element', buffered: true });
  });
  await page.goto(url);
  const after = await (await page.waitForFunction(() => window.shownAfter)).jsonValue();
  await context.close();
  return after;
}

const OTHER = '?model=resnet18&data=1281167&epochs=90&within=24h';
const spread = list => {
  const t = [...list].sort((a, b) => a - b);
  return `least ${t[0].toFixed(0)}, median ${t[t.length >> 1].toFixed(0)} ms`;
};

(async () => {
  process.env.CENTIMANI_SITE = folder;
  const [server, url] = await startServer(path.join(__dirname, '../tests/browser/site_program.js'));
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    await shown(browser, url); // the browser itself starts slowly
    for (const [name, query] of [['its first answer', ''], ['the answer to another question', OTHER]]) {
      const times = [];
      for (let i = 0; i < Number(runs); i++) times.push(await shown(browser, url + query));
      console.log(`from opening the page to ${name}: ${spread(times)}`);
    }
    const page = await browser.newPage();
    await page.goto(url, { waitUntil: 'networkidle' });
    const all = [];
    for (let i = 0; i < Number(runs); i++) all.push(await once(page));
    console.log(`module of a new worker: ${spread(all.map(t => t[0]))}; its first ranking of all devices: ${spread(all.map(t => t[1]))}`);
  } finally {
    await browser.close();
    stopServer(server);
  }
})();
