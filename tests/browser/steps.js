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

// The three functions below replace the page's fetch() for addresses that contain `words`. Interception by the browser would not see the
// requests of the page without a server, because they do not leave the page.

// Requests wait for the returned function, which resolves to the number of answers when all have arrived.
async function hold(page, words) {
  await page.evaluate(w => {
    const real = window.fetch;
    window.held = { replies: [] };
    const opened = new Promise(resolve => {
      window.held.open = resolve;
    });
    window.fetch = (address, init) => {
      if (!String(address).includes(w)) return real(address, init);
      const reply = opened.then(() => real(address, { ...init, signal: undefined })); // an answer that the page no longer wants arrives, too
      window.held.replies.push(reply.then(r => r.clone().text()));
      return reply;
    };
  }, words);
  return () => page.evaluate(() => (window.held.open(), Promise.all(window.held.replies).then(all => all.length)));
}

// Requests fail as without a server, until the returned function is called.
async function refuse(page, words) {
  await page.evaluate(w => {
    const real = (window.unrefused = window.fetch);
    window.fetch = (address, init) => (String(address).includes(w) ? Promise.reject(new TypeError('Failed to fetch')) : real(address, init));
  }, words);
  return () => page.evaluate(() => void (window.fetch = window.unrefused));
}

// The JSON answer to the next request, as a function that waits for it.
async function answerTo(page, words) {
  await page.evaluate(w => {
    const real = window.fetch;
    window.answered = new Promise(resolve => {
      window.fetch = async (address, init) => {
        const reply = await real(address, init);
        if (String(address).includes(w)) reply.clone().json().then(resolve);
        return reply;
      };
    });
  }, words);
  return () => page.evaluate(() => window.answered);
}

module.exports = { settled, after, drawnDetail, order, toggle, opened, hold, refuse, answerTo };
