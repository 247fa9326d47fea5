// SPDX-License-Identifier: Apache-2.0
// steps.js - steps on the page of `centimani serve` that several tests take.
'use strict';

const settled = page =>
  page.waitForFunction(
    () =>
      / candidates in | parameters/.test(document.getElementById('said').textContent) &&
      document.getElementById('results').ariaBusy === 'false',
  );
// Wait for the answer to the question that `act` asks.
async function after(page, act) {
  await page.evaluate(() => {
    document.getElementById('said').textContent = '';
  });
  await act();
  await settled(page);
}
const drawnDetail = page => page.waitForFunction(() => document.querySelector('.panel canvas') && Chart.getChart('d-roofline'));
const order = page => page.$$eval('#candidates tr.row .name', cells => cells.map(c => c.textContent).join());
const toggle = (page, row) => page.click(`#candidates tr.row >> nth=${row} >> .open`);
const opened = page => page.$$eval('#candidates tr.opened .name', cells => cells.map(c => c.textContent).join());

module.exports = { settled, after, drawnDetail, order, toggle, opened };
