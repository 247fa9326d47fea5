// SPDX-License-Identifier: Apache-2.0
// page_speed.js - PROGRAM [RUNS]: time from opening the page of `centimani serve` to its first answer in Chromium, and the server's share of it.
// Every run starts a new server and a new browser window, so that nothing is cached. Needs playwright-core in NODE_PATH.
'use strict';
const { chromium } = require('playwright-core');
const { startServer, stopServer } = require('../tests/browser/checks.js');

const [program, runs = '7'] = process.argv.slice(2);
const questions = [
  ['ResNet-50 on one device', ''],
  ['ResNet-50 on up to 8 devices', '?model=resnet50&data=1281167&epochs=90&max_devices=8'],
  ['Llama 3 8B with LoRA on one device', '?model=llama3-8b&data=100M&unit=tokens&seq=2048&lora=r%3D16'],
];
const median = list => list.sort((a, b) => a - b)[list.length >> 1];

async function once(browser, query) {
  const [server, url] = await startServer(program);
  const context = await browser.newContext(),
    page = await context.newPage();
  try {
    await page.goto(url + query);
    await page.waitForFunction(() => / candidates in /.test(document.getElementById('said').textContent));
    return await page.evaluate(() => {
      const rank = performance.getEntriesByType('resource').find(e => e.name.includes('/api/rank'));
      return [performance.now(), rank.responseEnd, rank.responseEnd - rank.requestStart];
    });
  } finally {
    await context.close();
    stopServer(server);
  }
}

(async () => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  await once(browser, ''); // the browser itself starts slowly
  for (const [name, query] of questions) {
    const all = [];
    for (let i = 0; i < Number(runs); i++) all.push(await once(browser, query));
    const [shown, loaded, server] = [0, 1, 2].map(k => median(all.map(t => t[k])));
    console.log(
      `${name.padEnd(38)} shown after ${shown.toFixed(0).padStart(5)} ms; the answer came after ${loaded.toFixed(0).padStart(5)} ms, the server took ${server.toFixed(0).padStart(5)} ms (median of ${runs})`,
    );
  }
  await browser.close();
})();
