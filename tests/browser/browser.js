// SPDX-License-Identifier: Apache-2.0
// browser.js - PROGRAM [FOLDER]: test the report and the page of `centimani serve` in Chromium. Prints TAP; writes screenshots to FOLDER.
// Needs Chromium, and playwright-core and axe-core in NODE_PATH (`make browser` installs them).
'use strict';
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
for (const name of ['playwright-core', 'axe-core'])
  try {
    require.resolve(name);
  } catch {
    missing(name);
  }

(async () => {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'centimani-browser-'));
  const browser = await require('playwright-core').chromium.launch({ executablePath: chrome, args: ['--no-sandbox'] });
  try {
    await require('./report.js')(browser, program, work, shots);
    await require('./page.js')(browser, program, work, shots);
  } finally {
    await browser.close();
    fs.rmSync(work, { recursive: true });
  }
  process.exit(require('./checks.js').printResults() ? 0 : 1);
})();
