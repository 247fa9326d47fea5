// SPDX-License-Identifier: Apache-2.0
// states.js - every state of the page of `centimani serve` at desktop and phone size, in light and dark.
'use strict';
const path = require('path');
const { test, equal, yes, windows, open, checkView, shot } = require('./checks.js');
const { settled, after, drawnDetail, toggle } = require('./steps.js');

const states = [
  ['answer', async () => {}],
  [
    'opened',
    async page => {
      await toggle(page, 0);
      await drawnDetail(page);
    },
  ],
  [
    'numbers',
    page =>
      page.$$eval('.panel details', list =>
        list.forEach(d => {
          d.open = true;
        }),
      ),
  ],
  [
    'compared',
    async page => {
      await toggle(page, 0);
      for (const row of [0, 2]) await page.check(`#candidates tr.row >> nth=${row} >> input`);
      await page.waitForFunction(() => Chart.getChart('c-versus') && document.querySelectorAll('#t-compare tr').length > 8);
    },
  ],
  [
    'options',
    page =>
      page.$$eval('#more, .choose', list =>
        list.forEach(d => {
          d.open = true;
        }),
      ),
  ],
  [
    'nothing',
    async page => {
      await page.$$eval('#more', list =>
        list.forEach(d => {
          d.open = false;
        }),
      );
      await page.fill('#budget', '1');
      await after(page, () => page.click('#ask button[type=submit]'));
      yes(/Nothing meets/.test(await page.textContent('#sentence')), 'there is an answer');
      yes(/costs [\d.]+ USD/.test(await page.textContent('#confidence')), 'it does not say what the cheapest costs');
    },
  ],
  [
    'problem',
    async page => {
      await page.fill('#model', 'resnet5');
      await page.click('#ask button[type=submit]');
      await page.waitForSelector('#problem:not([hidden])');
      yes(/did you mean 'resnet50'/.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
      yes(await page.$eval('#results', e => Number(getComputedStyle(e).opacity) < 0.6), 'the old answer is not dimmed');
      page.problems.length = 0; // Chromium logs the status 404
    },
  ],
];

// Views that docs/tutorial.md shows.
const pictured = [
  'page-desktop-answer',
  'page-desktop-opened',
  'page-desktop-dark-compared',
  'page-phone-answer',
  'page-phone-dark-opened',
];

const figures = [
  ['d-timeline', 'timeline'],
  ['d-batches', 'memory-curve'],
  ['d-roofline', 'roofline'],
];

async function everyState(browser, url, shots) {
  for (const [name, options] of windows)
    await test(`page, ${name}: every state is whole, readable and accessible`, async () => {
      const page = await open(browser, url, options),
        file = 'page-' + name.replace(', ', '-');
      await settled(page);
      for (const [state, reach] of states) {
        await reach(page);
        if (pictured.includes(`${file}-${state}`)) await shot(page, shots, `${file}-${state}`);
        if (shots && state === 'opened' && name === 'desktop')
          for (const [id, picture] of figures) await page.locator(`figure:has(#${id})`).screenshot({ path: path.join(shots, `figure-${picture}.png`) });
        await checkView(page, state);
        equal((await page.innerText('body')).match(/--[a-z]\S*|centimani [a-z]+ /)?.[0], undefined, state + ': advice for a command line');
        equal(page.problems.join('; '), '', state + ': console errors');
      }
      await page.context().close();
    });
}

module.exports = everyState;
