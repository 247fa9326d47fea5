// SPDX-License-Identifier: Apache-2.0
// browser.js - PROGRAM [FOLDER]: test the report and the page of `centimani serve` in Chromium. Prints TAP; writes screenshots to FOLDER.
// Needs Chromium, and playwright-core in NODE_PATH (`make browser` installs both).
'use strict';
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

function missing(what) {
  console.log(`Bail out! ${what} is missing: 'make browser' installs it`);
  process.exit(1);
}
const [program, shots] = process.argv.slice(2);
const chrome = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(p => fs.existsSync(p));
if (!chrome) missing('Chromium');
let playwright;
try { playwright = require('playwright-core'); } catch { missing('playwright-core'); }

const work = fs.mkdtempSync(path.join(os.tmpdir(), 'centimani-browser-'));
const results = [];
async function test(name, run) {
  try { await run(); results.push([true, name]); }
  catch (problem) { results.push([false, name, String(problem.stack || problem)]); }
}
function equal(got, wanted, what) {
  if (got !== wanted) throw new Error(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
}
const yes = (value, what) => { if (!value) throw new Error(what); };

// Open a page and record its console errors.
async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on('console', m => { if (m.type() === 'error') page.problems.push(m.text()); });
  page.on('pageerror', e => page.problems.push(e.message));
  await page.goto(url);
  return page;
}
// Canvases that are not empty: their pixels have more than one colour.
const drawn = page => page.evaluate(() => [...document.querySelectorAll('canvas')].filter(c => {
  if (!c.width || !c.height) return false;
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  for (let i = 4; i < d.length; i += 4) if (d[i] !== d[0] || d[i + 3] !== d[3]) return true;
  return false;
}).length);
const fitsWidth = page => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
const order = page => page.$$eval('#t-ranking tbody th', cells => cells.slice(0, 5).map(c => c.textContent).join());
const said = page => page.textContent('#said');

// Elements whose text contrast is below 4.5, the AA level of WCAG 2.
const poorContrast = page => page.evaluate(() => {
  const channel = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(Number); return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b); };
  const back = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
  return [...document.querySelectorAll('h1,h2,h3,p,label,td,th,caption,summary,button,a,li,small,option')].filter(e => e.offsetParent && e.textContent.trim()).map(e => {
    const a = light(getComputedStyle(e).color), b = light(back(e));
    return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.tagName + ' ' + e.textContent.slice(0, 30)];
  }).filter(([ratio]) => ratio < 4.5).map(([ratio, name]) => name + ' ' + ratio.toFixed(2));
});
const unlabelled = page => page.evaluate(() => [...document.querySelectorAll('input,select,button,canvas')].filter(e =>
  !(e.labels && e.labels.length) && !e.getAttribute('aria-label') && !e.textContent.trim()).map(e => e.outerHTML.slice(0, 80)));

async function report(browser) {
  const file = path.join(work, 'out.html');
  execFileSync(program, ['report', 'resnet50', '-o', file, '--baseline', 'nvidia-a100-40g', '--samples', '1281167', '--epochs', '90']);
  for (const [name, options] of [['desktop', {}], ['phone', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }]]) {
    await test(`report, ${name}: charts draw, nothing fails, nothing is fetched`, async () => {
      const page = await open(browser, 'file://' + file, options);
      const count = await page.$$eval('canvas', c => c.length);
      yes(count >= 9, `${count} charts`);
      equal(await drawn(page), count, 'charts drawn');
      equal(page.problems.join('; '), '', 'console errors');
      yes(await fitsWidth(page), 'wider than the window');
      equal((await poorContrast(page)).join('; '), '', 'contrast below AA');
      equal((await unlabelled(page)).join('; '), '', 'without a name');
      equal(await page.evaluate(() => performance.getEntriesByType('resource').length), 0, 'fetched');
      if (shots) await page.screenshot({ path: path.join(shots, `report-${name}.png`) });
      await page.context().close();
    });
  }
  await test('report: without JavaScript the tables are there', async () => {
    const page = await open(browser, 'file://' + file, { javaScriptEnabled: false });
    yes(await page.isVisible('text=nvidia-a100-40g'), 'no table is seen');
    yes(!(await page.isVisible('#c-ranking')), 'an empty chart is seen');
    await page.context().close();
  });
  await test('report: curves over more devices have the points that the table has', async () => {
    const page = await open(browser, 'file://' + file);
    const points = await page.evaluate(() => Chart.getChart('c-scaling').data.datasets.filter(s => s.label).reduce((sum, s) => sum + s.data.length, 0));
    const rows = await page.$$eval('section[aria-labelledby=h-scaling] tbody tr', r => r.length);
    equal(points, rows, 'points');
    yes(await page.evaluate(() => Chart.getChart('c-scaling').data.datasets.some(s => s.data.length > 2)), 'no curve of three devices or more');
    await page.context().close();
  });
  await test('report: labels and tables fit a phone and the paper', async () => {
    const phone = await open(browser, 'file://' + file, { viewport: { width: 390, height: 844 } });
    const cut = await phone.evaluate(() => Object.values(Chart.instances).filter(c => c.options.indexAxis === 'y' && c.scales.y._labelSizes
      && c.scales.y._labelSizes.widest.width > c.scales.y.width).map(c => c.canvas.id));
    equal(cut.join(), '', 'labels cut');
    await phone.context().close();
    const paper = await open(browser, 'file://' + file, { viewport: { width: 718, height: 1000 } }); // A4 without its margins
    await paper.emulateMedia({ media: 'print' });
    await paper.evaluate(() => dispatchEvent(new Event('beforeprint')));
    yes(await fitsWidth(paper), 'wider than the paper');
    equal(await paper.evaluate(() => document.querySelectorAll('details:not([open])').length), 0, 'not printed');
    await paper.context().close();
  });
  await test('report: numbers of the table are those of the data', async () => {
    const page = await open(browser, 'file://' + file);
    const data = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).rank.ranking.map(e => e.device));
    const table = await page.$$eval('section:first-of-type tbody th', cells => cells.map(c => c.textContent.split(' ')[0]));
    equal(table.slice(0, data.length).join(), data.join(), 'order');
    await page.context().close();
  });
}

function startServer() {
  return new Promise((resolve, reject) => {
    const server = spawn(program, ['serve', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    server.stdout.once('data', text => resolve([server, String(text).trim()]));
    server.once('error', reject);
    server.once('exit', () => reject(new Error('serve ended')));
  });
}

async function settled(page) {
  await page.waitForFunction(() => /ranked in|parameters/.test(document.getElementById('said').textContent), null, { timeout: 20000 });
}

async function serve(browser) {
  const [server, url] = await startServer();
  const onnx = path.join(process.env.CENTIMANI_MODELS || '', 'resnet50.raw.onnx');
  try {
    for (const [name, options] of [['desktop', {}], ['phone', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }]])
      await test(`serve, ${name}: ranks, draws, is readable`, async () => {
        const page = await open(browser, url, options);
        await settled(page);
        equal(await drawn(page), await page.$$eval('canvas', c => c.length), 'charts drawn');
        equal(page.problems.join('; '), '', 'console errors');
        yes(await fitsWidth(page), 'wider than the window');
        equal((await poorContrast(page)).join('; '), '', 'contrast below AA');
        equal((await unlabelled(page)).join('; '), '', 'without a name');
        if (shots) await page.screenshot({ path: path.join(shots, `serve-${name}.png`) });
        await page.context().close();
      });
    await test('serve: another objective, another order; its link gives the same view', async () => {
      const page = await open(browser, url);
      await settled(page);
      const first = await order(page);
      await page.selectOption('#objective', 'price');
      await page.waitForFunction(() => location.search.includes('objective=price'));
      const second = await order(page);
      yes(first !== second, 'the order is the same');
      const again = await open(browser, page.url());
      await settled(again);
      equal(await order(again), second, 'order by the link');
      equal(await again.inputValue('#objective'), 'price', 'objective by the link');
      await page.context().close();
    });
    await test('serve: with the keyboard alone', async () => {
      const page = await open(browser, url);
      await settled(page);
      await page.focus('#model');
      await page.keyboard.press('Control+A');
      await page.keyboard.type('bert-large');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => location.search.includes('bert-large'));
      yes(/ranked/.test(await said(page)), 'not ranked');
      await page.context().close();
    });
    await test('serve: a malformed file gives a message, and the page goes on', async () => {
      const page = await open(browser, url), bad = path.join(work, 'bad.onnx');
      await settled(page);
      fs.writeFileSync(bad, Buffer.alloc(2000, 0xa5));
      await page.setInputFiles('#file', bad);
      await page.waitForFunction(() => document.getElementById('said').className === 'problem');
      yes(/bad\.onnx: .*ONNX/.test(await said(page)), await said(page));
      await page.fill('#model', 'resnet18');
      await page.click('#ask button');
      await page.waitForFunction(() => location.search.includes('resnet18'));
      await page.context().close();
    });
    if (fs.existsSync(onnx)) await test('serve: resnet50.raw.onnx dropped', async () => {
      const page = await open(browser, url);
      await settled(page);
      const data = fs.readFileSync(onnx).toString('base64');
      await page.evaluate(text => {
        const file = new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], 'resnet50.raw.onnx'), moved = new DataTransfer();
        moved.items.add(file);
        document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: moved, bubbles: true, cancelable: true }));
      }, data);
      await page.waitForFunction(() => /parameters/.test(document.getElementById('said').textContent), null, { timeout: 20000 });
      yes(/25\.6 M parameters/.test(await said(page)), await said(page));
      const first = await order(page);
      await page.selectOption('#objective', 'price');
      await page.waitForFunction(() => location.search.includes('objective=price'));
      const second = await order(page);
      yes(first !== second, 'the order is the same');
      const again = await open(browser, page.url());
      await settled(again);
      equal(await order(again), second, 'order by the link');
      equal(page.problems.join('; '), '', 'console errors');
      await page.context().close();
    });
  } finally { server.removeAllListeners('exit'); server.kill('SIGTERM'); }
}

(async () => {
  const browser = await playwright.chromium.launch({ executablePath: chrome, args: ['--no-sandbox'] });
  try {
    await report(browser);
    await serve(browser);
  } finally {
    await browser.close();
    fs.rmSync(work, { recursive: true });
  }
  console.log(`1..${results.length}`);
  results.forEach(([ok, name, why], i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - ${name}`);
    if (why) console.log(why.split('\n').map(l => '# ' + l).join('\n'));
  });
  process.exit(results.every(r => r[0]) ? 0 : 1);
})();
