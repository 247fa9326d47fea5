// SPDX-License-Identifier: Apache-2.0
// page_speed.js - PROGRAM [RUNS]: time from opening the page of `centimani serve` to its first answer in Chromium.
// Every run starts a new server and a new browser window, so that nothing is cached. The times of a run are: the clock until the
// answer is painted, the clock of the request for the ranking, the processor time of the server, and the processor time of the
// page's main thread, which runs its scripts and lays it out. Prints the least and the median of the runs: other processes can
// only make a run longer. Needs playwright-core in NODE_PATH.
'use strict';
const fs = require('node:fs');
const { chromium } = require('playwright-core');
const { startServer, stopServer } = require('../tests/browser/checks.js');

const [program, runs = '11'] = process.argv.slice(2);
const questions = [
  ['ResNet-50 on one device', ''], // the server prepares this answer when it starts, and no other
  ['ResNet-18 on one device', '?model=resnet18&data=1281167&epochs=90&within=24h'],
  ['ResNet-50 on up to 8 devices', '?model=resnet50&data=1281167&epochs=90&max_devices=8'],
  ['Llama 3 8B with LoRA on one device', '?model=llama3-8b&data=100M&unit=tokens&seq=2048&lora=r%3D16'],
];
const TICK_MS = 10; // of /proc on Linux: USER_HZ is 100
const sorted = list => [...list].sort((a, b) => a - b);

// Processor time of a process since its start. The name of the program is in parentheses and may contain spaces.
function processorTime(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  return TICK_MS * (Number(fields[11]) + Number(fields[12]));
}

async function once(browser, query) {
  const [server, url] = await startServer(program);
  const context = await browser.newContext(),
    page = await context.newPage(),
    inspector = await context.newCDPSession(page);
  try {
    await inspector.send('Performance.enable', { timeDomain: 'threadTicks' });
    const before = processorTime(server.pid);
    // The browser says when it painted the sentence that answers the question. Charts follow later.
    await page.addInitScript(() => {
      addEventListener('DOMContentLoaded', () => document.getElementById('sentence').setAttribute('elementtiming', 'answer'));
      new PerformanceObserver(list => (window.shownAfter = list.getEntries()[0].renderTime)).observe({ type: 'element', buffered: true });
    });
    await page.goto(url + query);
    await page.waitForFunction(() => window.shownAfter);
    const { metrics } = await inspector.send('Performance.getMetrics');
    const [shown, request] = await page.evaluate(() => {
      const rank = performance.getEntriesByType('resource').find(e => e.name.includes('/api/rank'));
      return [window.shownAfter, rank.responseEnd - rank.requestStart];
    });
    const thread = metrics.find(m => m.name === 'TaskDuration').value * 1000;
    return [shown, request, processorTime(server.pid) - before, thread];
  } finally {
    await context.close();
    stopServer(server);
  }
}

(async () => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  await once(browser, ''); // the browser itself starts slowly
  console.log(`least and median of ${runs} runs, ms`);
  console.log(`${''.padEnd(38)} shown after  request      server's CPU  page's CPU`);
  for (const [name, query] of questions) {
    const all = [];
    for (let i = 0; i < Number(runs); i++) all.push(await once(browser, query));
    const cells = [0, 1, 2, 3].map(k => sorted(all.map(t => t[k])));
    console.log(name.padEnd(38), ...cells.map(t => `${t[0].toFixed(0).padStart(4)} ${t[t.length >> 1].toFixed(0).padStart(4)}   `));
  }
  await browser.close();
})();
