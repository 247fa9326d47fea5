// SPDX-License-Identifier: Apache-2.0
// checks.js - what the browser tests share: TAP results, windows, checks that hold for every view, and the server.
// Environment: ONLY=TEXT runs the tests whose names contain it; TIMES=1 prints the time of each.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');

const results = [];
async function test(name, run) {
  const begin = Date.now();
  if (process.env.ONLY && !name.includes(process.env.ONLY)) return;
  try {
    await run();
    results.push([true, name]);
  } catch (problem) {
    results.push([false, name, String(problem.stack || problem)]);
  }
  if (process.env.TIMES) console.log(`# ${Date.now() - begin} ms: ${name}`);
}
function equal(got, wanted, what) {
  if (got !== wanted) throw new Error(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
}
const yes = (value, what) => {
  if (!value) throw new Error(what);
};
function printResults() {
  console.log(`1..${results.length}`);
  results.forEach(([ok, name, why], i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - ${name}`);
    if (why)
      console.log(
        why
          .split('\n')
          .map(l => '# ' + l)
          .join('\n'),
      );
  });
  return results.every(r => r[0]);
}

// ---- windows

const wide = { width: 1440, height: 900 },
  phone = { width: 390, height: 844 };
const windows = [
  ['desktop', { viewport: wide }],
  ['desktop, dark', { viewport: wide, colorScheme: 'dark' }],
  ['phone', { viewport: phone, hasTouch: true }],
  ['phone, dark', { viewport: phone, hasTouch: true, colorScheme: 'dark' }],
];

const PATIENCE_MS = 120000; // until a page that hangs counts as a failure; a busy machine is slow

// Open a page and record its console errors.
async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce', bypassCSP: true, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.problems = [];
  page.on('console', m => {
    if (m.type() === 'error') page.problems.push(m.text());
  });
  page.on('pageerror', e => page.problems.push(e.message));
  await page.goto(url);
  return page;
}

// ---- checks of a view

// Visible canvases that are empty: all their pixels have one colour.
const emptyCharts = page =>
  page.evaluate(() =>
    [...document.querySelectorAll('canvas')]
      .filter(c => c.offsetParent)
      .filter(c => {
        if (!c.width || !c.height) return true;
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        for (let i = 4; i < d.length; i += 4) if (d[i] !== d[0] || d[i + 3] !== d[3]) return false;
        return true;
      })
      .map(c => c.id)
      .join(),
  );
// Text that a reader cannot see in full: elements beyond the window, values that are longer than their field, and labels of charts.
const cutOff = page =>
  page.evaluate(() => {
    const isSeen = e => e.offsetParent && !e.closest('.hidden, .skip, .scroll');
    const outside = [...document.querySelectorAll('main *, header *')]
      .filter(e => isSeen(e) && e.getBoundingClientRect().right > innerWidth + 1)
      .map(e => e.outerHTML.slice(0, 80));
    const values = [...document.querySelectorAll('.bar input')]
      .filter(e => e.scrollWidth > e.clientWidth + 1)
      .map(e => e.id + ' ' + e.value);
    const labels =
      typeof Chart === 'undefined'
        ? []
        : Object.values(Chart.instances)
            .filter(
              c =>
                c.canvas.offsetParent &&
                c.options.indexAxis === 'y' &&
                c.scales.y._labelSizes &&
                c.scales.y._labelSizes.widest.width > c.scales.y.width + 1,
            )
            .map(c => c.canvas.id);
    return [...(document.documentElement.scrollWidth > innerWidth ? ['wider than the window'] : []), ...outside, ...values, ...labels].join(
      '; ',
    );
  });

const axeFile = () => fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
// Rules of WCAG 2 A and AA and axe's best practices that the page breaks.
async function violations(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.addScriptTag({ content: axeFile() });
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  return found.violations
    .map(
      v =>
        `${v.id}: ${v.nodes
          .slice(0, 2)
          .map(n => n.html.slice(0, 90) + ' ' + (n.any[0]?.message || ''))
          .join(' | ')}`,
    )
    .join('; ');
}
async function checkView(page, name) {
  equal(await emptyCharts(page), '', name + ': empty charts');
  equal(await cutOff(page), '', name + ': cut off');
  equal(await violations(page), '', name + ': accessibility');
}
async function shot(page, folder, name, options = {}) {
  if (folder) await page.screenshot({ path: path.join(folder, name + '.png'), ...options });
}

// ---- the server

function startServer(program) {
  return new Promise((resolve, reject) => {
    const server = spawn(program, ['serve', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    server.stdout.once('data', text => resolve([server, String(text).trim()]));
    server.once('error', reject);
    server.once('exit', () => reject(new Error('serve ended')));
  });
}
function stopServer(server) {
  server.removeAllListeners('exit');
  server.kill('SIGTERM');
}

module.exports = {
  test,
  equal,
  yes,
  printResults,
  wide,
  phone,
  windows,
  open,
  emptyCharts,
  cutOff,
  violations,
  checkView,
  shot,
  startServer,
  stopServer,
};
