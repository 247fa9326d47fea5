// SPDX-License-Identifier: Apache-2.0
// page_speed.js - PROGRAM[,PROGRAM...] [RUNS]: time from opening the page of `centimani serve` to its first answer in Chromium.
// Every run starts a new server and a new browser window, so that nothing is cached. The times of a run are: the clock until the
// answer is painted, the clock until the browser has all data of the answer, the processor time of the server, that of the page's
// main thread, which runs its scripts and lays it out, and that of all processes of the browser. Prints the least and the median of
// the runs: other processes can only make a run longer. Several programs run in turn, so that a busy machine slows all of them.
// Needs playwright-core in NODE_PATH.
'use strict';
const fs = require('node:fs');
const { chromium } = require('playwright-core');
const { startServer, stopServer } = require('../tests/browser/checks.js');

const [programs, runs = '11'] = process.argv.slice(2);
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

// Processor time of all processes of the browser.
async function browserTime(all) {
  const { processInfo } = await all.send('SystemInfo.getProcessInfo');
  return 1000 * processInfo.reduce((sum, p) => sum + p.cpuTime, 0);
}

async function once(browser, program, query) {
  const [server, url] = await startServer(program);
  const context = await browser.newContext(),
    page = await context.newPage(),
    inspector = await context.newCDPSession(page);
  try {
    await inspector.send('Performance.enable', { timeDomain: 'threadTicks' });
    const all = await browser.newBrowserCDPSession(),
      before = [processorTime(server.pid), await browserTime(all)];
    // The browser says when it painted the sentence that answers the question. Charts follow later.
    await page.addInitScript(() => {
      addEventListener('DOMContentLoaded', () => document.getElementById('sentence').setAttribute('elementtiming', 'answer'));
      new PerformanceObserver(list => (window.shownAfter = list.getEntries()[0].renderTime)).observe({ type: 'element', buffered: true });
    });
    await page.goto(url + query);
    await page.waitForFunction(() => window.shownAfter);
    const after = [processorTime(server.pid), await browserTime(all)],
      { metrics } = await inspector.send('Performance.getMetrics');
    const [shown, received] = await page.evaluate(() => {
      const rank = performance.getEntriesByType('resource').find(e => e.name.includes('/api/rank')); // otherwise in the document
      return [window.shownAfter, (rank || performance.getEntriesByType('navigation')[0]).responseEnd];
    });
    const thread = metrics.find(m => m.name === 'TaskDuration').value * 1000;
    return [shown, received, after[0] - before[0], thread, after[1] - before[1]];
  } finally {
    await context.close();
    stopServer(server);
  }
}

(async () => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] }),
    list = programs.split(',');
  for (const program of list) await once(browser, program, ''); // the browser itself starts slowly
  console.log(`least and median of ${runs} runs, ms`);
  console.log(`${''.padEnd(38)} shown after  received     server's CPU  page's CPU   browser's CPU`);
  for (const [name, query] of questions) {
    const all = list.map(() => []);
    for (let i = 0; i < Number(runs); i++)
      for (const [k, program] of list.entries()) all[k].push(await once(browser, program, query));
    for (const [k, program] of list.entries()) {
      const cells = [0, 1, 2, 3, 4].map(c => sorted(all[k].map(t => t[c])));
      console.log(
        (k ? '  ' + program : name).padEnd(38),
        ...cells.map(t => `${t[0].toFixed(0).padStart(4)} ${t[t.length >> 1].toFixed(0).padStart(4)}   `),
      );
    }
  }
  await browser.close();
})();
