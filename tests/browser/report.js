// SPDX-License-Identifier: Apache-2.0
// report.js - the HTML report: charts, contents, tables, accessibility, print, and without JavaScript.
'use strict';
const { execFileSync } = require('child_process');
const path = require('path');
const { test, equal, yes, windows, open, checkView, cutOff, shot } = require('./checks.js');

module.exports = async (browser, program, work, shots) => {
  const file = path.join(work, 'out.html'),
    url = 'file://' + file;
  execFileSync(program, [
    'report',
    'resnet50',
    '-o',
    file,
    '--baseline',
    'nvidia-a100-40g',
    '--samples',
    '1281167',
    '--epochs',
    '90',
    '--objective',
    'cost',
  ]);
  const job = path.join(work, 'job.html'),
    jobUrl = 'file://' + job;
  execFileSync(program, 'report gpt2 --max-devices 16 --tokens 1B --devices nvidia-h100 --clusters node=8,net=800Gb -o'.split(' ').concat(job));
  for (const [name, options] of windows.filter(([n]) => n === 'desktop' || n === 'phone, dark'))
    await test(`report, ${name}: charts draw, nothing fails, nothing is fetched`, async () => {
      const page = await open(browser, url, options);
      yes((await page.$$eval('canvas', c => c.length)) >= 12, 'fewer than 12 charts');
      equal(await page.evaluate(() => performance.getEntriesByType('resource').length), 0, 'fetched');
      await shot(page, shots, 'report-' + name.split(',')[0]);
      await checkView(page, 'report');
      equal(page.problems.join('; '), '', 'console errors');
      await page.context().close();
    });
  const page = await open(browser, url);
  await test('report: the contents name every section, in its order', async () => {
    const links = await page.$$eval('nav a', list => list.map(a => a.textContent + ' ' + a.hash.slice(1)));
    const heads = await page.$$eval('main h2', list => list.map(h => h.textContent + ' ' + h.id));
    equal(links.join('\n'), heads.join('\n'), 'contents');
    await page.click('nav a:last-of-type >> nth=-1');
    yes(
      await page.evaluate(() => document.querySelector(':target').getBoundingClientRect().top < innerHeight),
      'the link does not lead to the section',
    );
  });
  await test('report: memory is named with the words of the field', async () => {
    const words = await page.evaluate(() =>
      Chart.getChart('c-memory')
        .data.datasets.map(s => s.label)
        .join(),
    );
    equal(words, 'activations,weights,gradients,optimizer state,workspace,free', 'categories');
  });
  await test('report: without JavaScript the tables are there', async () => {
    const page = await open(browser, url, { javaScriptEnabled: false });
    yes(await page.isVisible('text=nvidia-a100-40g'), 'no table is seen');
    yes(!(await page.isVisible('#c-ranking')), 'an empty chart is seen');
    await page.context().close();
  });
  await test('report: curves over more devices have the points that the table has', async () => {
    const points = await page.evaluate(() =>
      Chart.getChart('c-scaling')
        .data.datasets.filter(s => s.label)
        .reduce((sum, s) => sum + s.data.length, 0),
    );
    equal(points, await page.$$eval('section[aria-labelledby=h-scaling] tbody tr', r => r.length), 'points');
    yes(
      await page.evaluate(() => Chart.getChart('c-scaling').data.datasets.some(s => s.data.length > 2)),
      'no curve of three devices or more',
    );
  });
  await test('report of a job: the curve over numbers of devices has the points that the table has', async () => {
    const view = await open(browser, jobUrl, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    const points = await view.evaluate(() => Chart.getChart('c-counts').data.datasets.find(s => s.label === 'time').data.map(p => p.x));
    const rows = await view.$$eval('section[aria-labelledby=h-counts] tbody tr', list => list.map(r => Number(r.children[1].textContent)));
    equal(points.join(), rows.sort((a, b) => a - b).join(), 'numbers of devices');
    yes(points.length > 3, 'fewer than four numbers of devices');
    equal(await view.$('#h-scaling'), null, 'replicas of one plan');
    await checkView(view, 'job');
    equal(view.problems.join('; '), '', 'console errors');
    await view.context().close();
  });
  await test('report of several networks: totals, and the details of each on the best device', async () => {
    const several = path.join(work, 'several.html');
    execFileSync(program, 'report resnet50 bert-large*2 --samples 1M --devices nvidia-h200,nvidia-l4 -o'.split(' ').concat(several));
    for (const [name, options] of windows.filter(([n]) => n === 'desktop' || n === 'phone, dark')) {
      const view = await open(browser, 'file://' + several, options);
      const [names, sums] = await view.evaluate(() => {
        const data = JSON.parse(document.getElementById('data').textContent);
        return [Chart.getChart('c-memory').data.labels.join(), data.rank.ranking.map(e => e.networks.reduce((sum, n) => sum + n.time_s, 0) / e.time_s)];
      });
      equal(names, 'resnet50,bert-large', 'networks');
      yes(sums.length === 2 && sums.every(s => Math.abs(s - 1) < 1e-6), sums.join());
      yes(await view.isVisible('h2 >> text=One step of bert-large on NVIDIA H200'), 'no details of the second network');
      await checkView(view, name);
      equal(view.problems.join('; '), '', 'console errors');
      await view.context().close();
    }
  });
  await test('report: the timeline of a step ends with the step', async () => {
    const ratios = await page.evaluate(() =>
      JSON.parse(document.getElementById('data').textContent).details.map(d => d.timeline.end_s / d.step_time_s),
    );
    yes(ratios.length > 3 && ratios.every(r => Math.abs(r - 1) < 0.02), ratios.join());
  });
  await test('report: tables and charts fit the paper', async () => {
    const paper = await open(browser, url, { viewport: { width: 718, height: 1000 } }); // A4 without its margins
    await paper.emulateMedia({ media: 'print' });
    await paper.evaluate(() => dispatchEvent(new Event('beforeprint')));
    equal(await cutOff(paper), '', 'cut off');
    equal(await paper.evaluate(() => document.querySelectorAll('details:not([open])').length), 0, 'not printed');
    await paper.context().close();
  });
  await test('report: numbers of the table are those of the data', async () => {
    const data = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).rank.ranking.map(e => e.device));
    const table = await page.$$eval('section:first-of-type tbody th', cells => cells.map(c => c.textContent.split(' ')[0]));
    equal(table.slice(0, data.length).join(), data.join(), 'order');
  });
  await page.context().close();
};
