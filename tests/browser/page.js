// SPDX-License-Identifier: Apache-2.0
// page.js - the page of `centimani serve`: what a user does with it.
'use strict';
const fs = require('fs');
const path = require('path');
const { execFileSync } = require('child_process');
const { test, equal, yes, wide, phone, open, checkView, startServer, stopServer } = require('./checks.js');
const { settled, after, drawnDetail, order, toggle, opened, hold, refuse, answerTo } = require('./steps.js');
const everyState = require('./states.js');

const uses = {
  'the answer comes first: one sentence with its interval': async page => {
    const text = await page.textContent('#sentence');
    yes(/^NVIDIA .* trains resnet50 in [\d.]+ (h|days) for [\d.]+ USD/.test(text), text);
    yes(
      /(High|Medium|Low) confidence 90 % interval [\d.]+ to [\d.]+ h, [\d.]+ to [\d.]+ USD/.test(await page.textContent('#confidence')),
      await page.textContent('#confidence'),
    );
    yes(await page.$eval('#sentence', e => e.getBoundingClientRect().bottom < innerHeight), 'below the window');
  },
  'loading dims the old answer': async page => {
    const release = await hold(page, '/api/rank');
    await page.click('text=Llama 3 8B, LoRA fine-tune');
    await page.waitForSelector('#results.old[aria-busy=true]');
    yes(await page.isVisible('#progress'), 'no progress is seen');
    await page.waitForFunction(() => document.getElementById('said').textContent === 'Computing …');
    await release();
    await settled(page);
    yes(!(await page.$('#results.old')) && !(await page.isVisible('#progress')), 'still dimmed');
    yes(/trains llama3-8b/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
  },
  'an answer that arrives late does not replace a newer one': async page => {
    const release = await hold(page, 'model=bert-large');
    await page.fill('#model', 'bert-large');
    await page.press('#model', 'Enter');
    await page.fill('#model', 'resnet18');
    await after(page, () => page.press('#model', 'Enter'));
    yes((await release()) > 0, 'no answer arrived late');
    await page.evaluate(() => new Promise(resolve => setTimeout(resolve))); // the page has read it
    yes(/trains resnet18/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
  },
  'without the server there is a message, and retry asks again': async page => {
    const allow = await refuse(page, '/api/rank');
    await page.selectOption('#precision', 'fp32', { force: true });
    await page.waitForSelector('#problem:not([hidden])');
    yes(/does not answer/.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
    await allow();
    await after(page, () => page.click('#retry'));
    yes(!(await page.isVisible('#problem')), 'the message stays');
    page.problems.length = 0;
  },
  'a deadline that is no time is refused by name': async page => {
    await page.fill('#within', 'soon');
    await page.press('#within', 'Enter');
    await page.waitForSelector('#problem:not([hidden])');
    yes(/deadline.*soon.*24h/.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
    await page.click('#undo');
    equal(await page.inputValue('#within'), '24h', 'deadline');
    yes(!(await page.$('#results.old')) && !(await page.isVisible('#problem')), 'the answer stays dimmed');
  },
  'a misspelt model is mended by one click': async page => {
    await page.fill('#model', 'resent18');
    await page.press('#model', 'Enter');
    await page.waitForSelector('#problem:not([hidden])');
    yes(/^No model/.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
    await page.fill('#model', 'resent18');
    await page.press('#model', 'Enter');
    await page.waitForFunction(() => document.getElementById('suggest').textContent === 'Ask for resnet18');
    yes(!(await page.isVisible('#retry')), 'asking the same again cannot help');
    await after(page, () => page.click('#suggest'));
    equal(await page.inputValue('#model'), 'resnet18', 'model');
    yes(/trains resnet18/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
    page.problems.length = 0; // Chromium logs the status 404
  },
  'a problem names the field, not the option of the program': async page => {
    await page.fill('#data', 'many');
    await page.press('#data', 'Enter');
    await page.waitForSelector('#problem:not([hidden])');
    yes(/^Data: 'many'.*[^.]\. The answer below/.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
    yes(!(await page.isVisible('#suggest')) && (await page.isVisible('#retry')), 'there is nothing to suggest');
    page.problems.length = 0; // the status 400
  },
  'a model that is too large for one device leads to more of them': async page => {
    await page.fill('#model', 'llama3-70b');
    await after(page, () => page.press('#model', 'Enter'));
    yes(/does not fit into the memory of one device/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
    yes(/Ask for up to 8 devices/.test(await page.textContent('#confidence')), await page.textContent('#confidence'));
    await after(page, () => page.click('#confidence button'));
    equal(await page.inputValue('#max_devices'), '8', 'devices');
    const left = await page.textContent('#left-out ul');
    yes(/\d+ to 8 × /.test(left) || !/2 × .*4 × /.test(left), 'numbers of one device are listed apart: ' + left);
  },
  'back and forward: questions, opened rows and comparisons': async page => {
    const names = (await order(page)).split(',');
    await toggle(page, 1);
    equal(await opened(page), names[1], 'opened');
    for (const row of [0, 1]) await page.check(`#candidates tr.row >> nth=${row} >> input`);
    await page.waitForSelector('#compare:not([hidden])');
    await page.fill('#model', 'resnet18');
    await after(page, () => page.press('#model', 'Enter'));
    yes(!(await page.isVisible('#compare')), 'the comparison belongs to the old question');
    await after(page, () => page.goBack());
    equal(await page.inputValue('#model'), 'resnet50', 'model');
    yes(await page.isVisible('#compare'), 'no comparison after back');
    await page.goBack();
    yes(!(await page.isVisible('#compare')), 'a comparison of one');
    await page.goBack();
    equal(await opened(page), names[1], 'opened after back');
    await page.goBack();
    equal(await opened(page), '', 'opened after one more back');
    await page.goForward();
    equal(await opened(page), names[1], 'opened after forward');
  },
  'a link reproduces the view': async (page, browser) => {
    await page.selectOption('#objective', 'time', { force: true });
    await page.waitForFunction(() => location.search.includes('objective=time'));
    await page.click('#all');
    await toggle(page, 12);
    for (const row of [3, 11]) await page.check(`#candidates tr.row >> nth=${row} >> input`);
    await drawnDetail(page);
    const again = await open(browser, page.url());
    await settled(again);
    await drawnDetail(again);
    for (const of of [order, opened, p => p.textContent('#h-compare'), p => p.inputValue('#objective')])
      equal(await of(again), await of(page), 'by the link');
    await again.context().close();
  },
  'devices in a link are asked for at once': async (page, browser, url) => {
    const other = await open(browser, url + '?model=resnet18&devices=nvidia-h100,nvidia-l4');
    await settled(other);
    equal((await order(other)).split(',').length, 2, 'candidates');
    await other.context().close();
  },
  'with the keyboard alone': async page => {
    await page.focus('#model');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('resnet18');
    await after(page, () => page.keyboard.press('Enter'));
    for (let i = 0; i < 60 && !(await page.evaluate(() => document.activeElement.matches('.open'))); i++) await page.keyboard.press('Tab');
    yes(await page.evaluate(() => document.activeElement.matches('.open')), 'no row is reached');
    yes(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== 'none'), 'the focus is not seen');
    await page.keyboard.press('Enter');
    await drawnDetail(page);
    equal(await page.evaluate(() => document.activeElement.getAttribute('aria-expanded')), 'true', 'aria-expanded');
    await page.keyboard.press('Enter');
    equal(await opened(page), '', 'closed');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    yes(await page.evaluate(() => document.activeElement.checked), 'not chosen for the comparison');
  },
  'charts: a click opens the candidate, hovering names it': async page => {
    const at = (id, set, k) =>
      page.evaluate(
        ([i, s, n]) => {
          const c = Chart.getChart(i),
            m = c.getDatasetMeta(s).data[n];
          c.canvas.scrollIntoView({ block: 'center' });
          const r = c.canvas.getBoundingClientRect();
          return [r.left + (i === 'c-intervals' ? (m.x + m.base) / 2 : m.x), r.top + m.y];
        },
        [id, set, k],
      );
    // a point that no other candidate's covers
    const [lone, name] = await page.evaluate(() => {
      const c = Chart.getChart('c-pareto'),
        points = c.data.datasets.flatMap((d, s) => c.getDatasetMeta(s).data.map((m, k) => ({ m, s, k, name: d.data[k].e?.name })));
      const free = p => points.every(o => o.name === p.name || Math.hypot(o.m.x - p.m.x, o.m.y - p.m.y) > 16);
      const p = points.find(o => o.s === 1 && free(o));
      return [p.k, p.name];
    });
    await page.mouse.move(...(await at('c-pareto', 1, lone)));
    await page.waitForFunction(text => Chart.getChart('c-pareto').tooltip.title?.[0] === text, name);
    await page.mouse.click(...(await at('c-pareto', 1, lone)));
    await drawnDetail(page);
    equal(await opened(page), name, 'opened by the Pareto plot');
    await page.mouse.click(...(await at('c-intervals', 0, 3)));
    await page.waitForFunction(old => document.querySelector('tr.opened .name').textContent !== old, name);
    equal(await opened(page), (await order(page)).split(',')[3], 'opened by the interval plot');
    yes(await page.evaluate(() => Chart.getChart('c-pareto').placedNames.length >= 8), 'few labels');
    equal(await page.evaluate(() => Chart.getChart('c-intervals').scales.x.type), 'logarithmic', 'axis');
  },
  'details have the numbers of the program': async page => {
    const answer = await answerTo(page, '/api/device');
    await toggle(page, 0);
    const d = await answer();
    await drawnDetail(page);
    equal(
      await page.evaluate(() => Chart.getChart('d-scaling').data.datasets[0].data.length),
      d.scaling.length,
      'points of the scaling curve',
    );
    const bars = await page.evaluate(() => Chart.getChart('d-waterfall').data.datasets[0].data);
    yes(Math.abs(bars.at(-1)[1] / 1e3 / d.step_time_s - 1) < 1e-3, 'the waterfall does not end with the step');
    yes(
      bars.every((b, i) => !i || b[0] === bars[i - 1][1]),
      'a part does not start where the previous one ends',
    );
    const used = await page.evaluate(() =>
      Chart.getChart('d-memory')
        .data.datasets.slice(0, 5)
        .reduce((sum, s) => sum + s.data[0], 0),
    );
    yes(Math.abs((used * 2 ** 30) / d.peak_bytes - 1) < 0.01, `categories add up to ${used} GiB of ${d.peak_bytes} B`);
    yes(
      await page.evaluate(() => Chart.getChart('d-timeline').data.datasets.some(s => s.label === 'backward')),
      'no backward pass in the timeline',
    );
  },
  'downloads: CSV, JSON, report': async (page, browser, url, work) => {
    const get = async id => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.click('#get-' + id)]);
      const to = path.join(work, file.suggestedFilename());
      await file.saveAs(to);
      return fs.readFileSync(to, 'utf8');
    };
    const json = JSON.parse(await get('json')),
      lines = (await get('csv')).trim().split('\n');
    equal(lines.length, json.ranking.length + 1, 'lines of the CSV');
    equal(lines[1].split(',')[1], json.ranking[0].device, 'first device');
    const html = await get('report');
    yes(
      html.startsWith('<!DOCTYPE html>') && html.includes('Where to train resnet50') && html.includes(json.ranking[0].name),
      html.slice(0, 200),
    );
  },
  'a whole job: numbers of devices, places and plans; points of the curve open them; the report has the plans': async (
    page,
    browser,
    url,
    work,
  ) => {
    await page.goto(url + '?model=resnet50&data=1281167&epochs=90&max_devices=8&devices=google-tpu-v5e');
    await settled(page);
    const answer = await page.evaluate(() =>
      fetch(
        '/api/rank?model=resnet50&samples=1281167&epochs=90&max_devices=8&objective=cost&devices=google-tpu-v5e',
      ).then(r => r.json()),
    );
    const best = answer.ranking[0],
      pods = answer.ranking.filter(e => e.rank && e.device === 'google-tpu-v5e');
    yes(
      (await page.textContent('#sentence')).includes(`${best.n > 1 ? best.n + ' × ' : ''}${best.name} at ${best.provider}`),
      await page.textContent('#sentence'),
    );
    yes(pods.length > 2, 'one number of devices only');
    await page.click('text=Show all');
    await page.click('#candidates tr.row[data-key^="google-tpu-v5e~8~"] .open');
    await drawnDetail(page);
    const plan = await page.textContent('.panel .facts');
    yes(/Devices8/.test(plan) && /data-parallel8|tensor-parallel|pipeline/.test(plan), plan);
    equal(await page.evaluate(() => Chart.getChart('d-counts').data.datasets[0].data.length), pods.length, 'points of the curve');
    yes(await page.evaluate(() => Chart.getChart('d-timeline').data.labels.includes('network')), 'the timeline has no network');
    const at = await page.evaluate(() => {
      const c = Chart.getChart('d-counts'),
        m = c.getDatasetMeta(0).data[0];
      c.canvas.scrollIntoView({ block: 'center' });
      const r = c.canvas.getBoundingClientRect();
      return [r.left + m.x, r.top + m.y];
    });
    await page.mouse.click(...at);
    await page.waitForFunction(() => document.querySelector('tr.opened').dataset.key.startsWith('google-tpu-v5e~1~'));
    await drawnDetail(page);
    await checkView(page, 'job');
    const get = async id => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.click('#get-' + id)]),
        to = path.join(work, id);
      await file.saveAs(to);
      return fs.readFileSync(to, 'utf8');
    };
    yes(/data-parallel 8/.test(await get('report')), 'the report has no plan');
    await toggle(page, 0);
    yes(/^#!.*\n(.*\n)*.*torchrun/.test(await get('script')), 'no job script');
    await page.fill('#within', '1min');
    await after(page, () => page.press('#within', 'Enter'));
    yes(
      /Nothing meets/.test(await page.textContent('#sentence')) && (await page.textContent('#confidence')).length > 20,
      await page.textContent('#confidence'),
    );
  },
  'two candidates side by side: at the named price, the first costs as much as the second': async page => {
    const boxes = await page.$$('#candidates tr.row input');
    await boxes[0].check();
    await boxes[1].check();
    await page.waitForFunction(() => document.querySelectorAll('#t-compare tbody tr').length > 5);
    const table = await page.$$eval('#t-compare tbody tr', rows => rows.map(tr => [...tr.cells].map(c => c.textContent))),
      row = name => table.find(cells => cells[0].startsWith(name)),
      number = text => Number(/[\d.]+/.exec(text)[0]);
    const hours = number(row('Time')[1]),
      even = number(row('Costs the same')[1]),
      other = number(row('Cost')[2]);
    yes(/ h$/.test(row('Time')[1]) && Math.abs((hours * even) / other - 1) < 0.02, `${hours} h at ${even} USD/h are not ${other} USD`);
  },
  'the queue of a facility, its jobs in a row and its charge': async (page, browser, url) => {
    const query = 'model=gpt2-xl&tokens=10B&max_devices=64&clusters=polaris'; // no price is known there, so the best is the fastest
    await page.goto(url + '?model=gpt2-xl&data=10B&unit=tokens&max_devices=64&clusters=polaris');
    await settled(page);
    const best = await page.evaluate(q => fetch('/api/rank?' + q).then(r => r.json()), query).then(a => a.ranking[0]),
      words = `${best.queue}, ${best.jobs_in_a_row} jobs in a row, ${Number(best.charge.toPrecision(3))} node-hours`;
    const marks = await page.evaluate(() => Chart.getChart('c-intervals').scales.x.ticks.length);
    yes(marks >= 3 && marks <= 8, marks + ' ticks on the axis of one interval');
    yes(!(await page.isVisible('#c-pareto')), 'time against money without a price');
    equal(best.queue, 'prod', 'queue'); // of 16 nodes; the class small has jobs of up to three hours
    equal(best.jobs_in_a_row, Math.ceil(best.job.time_s / 10800), 'jobs');
    yes((await page.textContent('#sentence')).includes(' on polaris '), await page.textContent('#sentence'));
    yes((await page.textContent('#facts')).includes('Queue' + words), await page.textContent('#facts'));
    await page.click('#candidates tr.row .open');
    await drawnDetail(page);
    yes((await page.textContent('.panel .facts')).includes('Queue' + words), await page.textContent('.panel .facts'));
    const script = page.waitForEvent('download');
    await page.click('#get-script');
    yes(fs.readFileSync(await (await script).path(), 'utf8').includes('#PBS -q prod'), 'the script has no queue');
    await checkView(page, 'queue');
  },
  'every candidate on the front has a name of its own, and names and their lines cross nothing': async (page, browser, url) => {
    const queries = [
      '',
      '?model=bert-large&data=1M', // all devices
      '?model=resnet50&data=1281167&epochs=90&max_devices=8', // about 150 candidates
      '?model=resnet50&data=1281167&epochs=90&max_devices=16&price_basis=any',
      '?model=llama3-70b&data=1G&unit=tokens&max_devices=512',
      '?model=gpt2-xl&data=1G&unit=tokens&max_devices=64&within=30d',
    ];
    for (const viewport of [wide, phone]) {
      const context = await browser.newContext({ viewport }),
        view = await context.newPage();
      for (const query of queries) {
        await view.goto(url + query);
        await settled(view);
        await view.waitForFunction(() => window.Chart?.getChart('c-pareto')?.placedNames);
        const wrong = await view.evaluate(() => {
          const chart = Chart.getChart('c-pareto'),
            names = chart.placedNames,
            area = chart.chartArea,
            marks = chart.data.datasets.flatMap((set, i) => chart.getDatasetMeta(i).data.map(m => ({ text: 'a mark', x: m.x - 4, y: m.y - 4, w: 8, h: 8 }))),
            lines = names.filter(n => n.line?.h > 1).map(n => ({ ...n.line, text: 'the line of ' + n.text, of: n })),
            cross = (p, q) => p.x < q.x + q.w && q.x < p.x + p.w && p.y < q.y + q.h && q.y < p.y + p.h,
            count = chart.data.datasets[0].data.length;
          return [
            ...names.flatMap((n, i) => [...names.slice(i + 1), ...marks, ...lines.filter(l => l.of !== n)].filter(o => cross(n, o)).map(o => n.text + ' crosses ' + o.text)),
            ...names.filter(n => n.x < area.left || n.x + n.w > area.right || n.y < area.top || n.y + n.h > area.bottom + 1).map(n => n.text + ' is outside'),
            ...chart.data.datasets[0].data.filter(p => !names.some(n => n.text === p.text)).map(p => p.text + ' has no name'),
            ...(new Set(names.slice(0, count).map(n => n.text)).size === count ? [] : ['two have one name: ' + names.slice(0, count).map(n => n.text)]),
          ];
        });
        equal(wrong.join('; '), '', `at ${viewport.width} px after ${query}`);
      }
      await context.close();
    }
  },
  'a budget may be written in thousands or millions': async page => {
    equal(await page.evaluate(() => ['500', '$20k', '3M', '1,500 USD'].map(Question.dollars).join()), '500,20000,3000000,1500', 'budgets');
    await page.fill('#budget', '3M');
    await after(page, () => page.press('#budget', 'Enter'));
    yes(!(await page.isVisible('#problem')), 'refused');
  },
  'several networks: rows of the form, sums, and the details of one of them': async (page, browser, url) => {
    await page.goto(url + '?model=resnet50&data=1M&devices=nvidia-h200,nvidia-l4&objective=time');
    await settled(page);
    yes(!(await page.isVisible('#times')), 'a weight of one network');
    await page.click('#add');
    await page.fill('#model-2', 'bert-large');
    await page.fill('#times-2', '2');
    await page.fill('#data-2', '1M');
    await after(page, () => page.press('#data-2', 'Enter'));
    const answer = await page.evaluate(() =>
        fetch(
          '/api/rank?objective=time&devices=nvidia-h200,nvidia-l4&networks=' +
            encodeURIComponent('[{"model":"resnet50","samples":"1M"},{"model":"bert-large","weight":"2","samples":"1M"}]'),
        ).then(r => r.json()),
      ),
      best = answer.ranking[0];
    yes(/^NVIDIA H200.* trains resnet50 and 2 × bert-large in /.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
    yes(Math.abs(best.networks[0].time_s + best.networks[1].time_s - best.time_s) < 1e-6 * best.time_s, 'the sum');
    await toggle(page, 0);
    await drawnDetail(page);
    yes(/^bert-large/.test((await page.textContent('.networks [aria-pressed=true]')).replace('2 × ', '')), 'the longest is not open');
    await page.click('.networks button >> text=resnet50');
    await page.waitForFunction(() => document.querySelector('.networks [aria-pressed=true]')?.textContent === 'resnet50');
    await drawnDetail(page);
    await checkView(page, 'networks');
    const again = await open(browser, page.url());
    await settled(again);
    await drawnDetail(again);
    equal(await again.inputValue('#model-2'), 'bert-large', 'the second network by the link');
    equal(await again.textContent('.networks [aria-pressed=true]'), 'resnet50', 'the opened network by the link');
    await again.context().close();
    await after(page, () => page.click('[aria-label="Remove network 2"]'));
    yes(/ trains resnet50 in /.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
  },
  'a job file: what the page saves, the program and the page read': async (page, browser, url, work) => {
    await page.goto(
      url + '?model=resnet50&times=3&data=1281167&epochs=9&networks=bert-large%7C2%7C1B%7Ctokens;unet&within=3d&budget=3M&max_devices=8&devices=nvidia-h200,nvidia-l4',
    );
    await settled(page);
    const sentence = await page.textContent('#sentence'),
      file = path.join(work, 'job.yaml'),
      saved = page.waitForEvent('download');
    await page.click('#get-job');
    await (await saved).saveAs(file);
    const json = JSON.parse(execFileSync(process.env.CENTIMANI_PROGRAM || process.argv[2], ['rank', '--job', file, '--json'], { maxBuffer: 1 << 28 }));
    equal(json.model, 'resnet50*3 bert-large*2 unet', 'the networks that the program reads');
    yes(sentence.includes(json.ranking[0].name), `${sentence} is not ${json.ranking[0].name}`);
    for (const [what, has] of [['script', '# bert-large*2\n'], ['report', 'One step of bert-large on ']]) {
      const download = page.waitForEvent('download');
      await page.click('#get-' + what);
      yes(fs.readFileSync(await (await download).path(), 'utf8').includes(has), `the ${what} has no ${has}`);
    }
    await page.goto(url);
    await settled(page);
    await after(page, () => page.setInputFiles('#file', file));
    equal(await page.textContent('#sentence'), sentence, 'the answer to the file');
    for (const [field, value] of Object.entries({ model: 'resnet50', times: '3', data: '1281167', within: '72h', budget: '3000000', 'model-2': 'bert-large', 'unit-2': 'tokens' }))
      equal(await page.inputValue('#' + field), value, field);
    fs.writeFileSync(file, 'models: [resnet50]\nwieght: 3\n');
    await page.setInputFiles('#file', file);
    await page.waitForSelector('#problem:not([hidden])');
    yes(/^The file job\.yaml, line 2: there is no key 'wieght'\. /.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
    page.problems.length = 0; // the status 400
  },
  'a phone shows device, time and price on one line': async (page, browser, url) => {
    const narrow = await open(browser, url + '?model=gpt2-xl&data=1G&unit=tokens&max_devices=64&all=1', { viewport: { width: 390, height: 844 } });
    await settled(narrow);
    const rows = await narrow.$$eval('#candidates tr.row', list =>
      list.map(tr => {
        const line = parseFloat(getComputedStyle(tr).lineHeight) || 24,
          range = document.createRange(),
          box = node => (range.selectNodeContents(node), range.getBoundingClientRect()),
          name = box(tr.querySelector('.brief')),
          cells = [...tr.querySelectorAll('td')].slice(0, 2).map(td => box(td.firstChild));
        return [tr.dataset.key, name.height < 1.5 * line, ...cells.map(c => c.height < 1.5 * line && Math.abs(c.top - name.top) < line / 2 && c.left > name.right - 1)];
      }),
    );
    equal(rows.filter(row => row.slice(1).some(ok => !ok)).join('; '), '', 'rows of several lines');
    await checkView(narrow, 'rows');
    await narrow.context().close();
  },
  'limits that nothing meets: the suggested ones are one click away': async (page, browser, url) => {
    await page.goto(url + '?model=resnet50&data=1281167&epochs=90&max_devices=8&within=30min&budget=2&devices=nvidia-a100-80g,nvidia-l4');
    await settled(page);
    yes(/^Raise /.test(await page.textContent('#confidence')), await page.textContent('#confidence'));
    await after(page, () => page.click('#confidence button'));
    yes(/ in [\d.]+ .* for [\d.]+ USD/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
  },
  'without a deadline the answer by cost also names the fastest candidate': async (page, browser, url) => {
    await page.goto(url + '?model=resnet50&data=1281167&epochs=90');
    await settled(page);
    const rank = await page.evaluate(() =>
        fetch('/api/rank?model=resnet50&samples=1281167&epochs=90&objective=cost').then(r => r.json()),
      ),
      fastest = rank.ranking.filter(e => e.rank && e.usd).reduce((a, b) => (b.hours < a.hours ? b : a));
    yes(
      (await page.textContent('#confidence')).includes(`The fastest, ${fastest.name}, takes `),
      await page.textContent('#confidence'),
    );
    await page.click(`#confidence a >> text=${fastest.name}`);
    await drawnDetail(page);
    equal(await opened(page), fastest.name, 'opened');
  },
  'a malformed file gives a message, and the page goes on': async (page, browser, url, work) => {
    const bad = path.join(work, 'bad.onnx');
    fs.writeFileSync(bad, Buffer.alloc(2000, 0xa5));
    await page.setInputFiles('#file', bad);
    await page.waitForSelector('#problem:not([hidden])');
    yes(/bad\.onnx: .*ONNX/.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
    await page.fill('#model', 'resnet18');
    await after(page, () => page.click('#ask button[type=submit]'));
    page.problems.length = 0;
  },
  'a dropped file is asked about': async page => {
    await after(page, () =>
      page.evaluate(() => {
        const config = { model_type: 'gpt2', n_layer: 2, n_embd: 128, n_head: 2, n_positions: 128, vocab_size: 1000 },
          moved = new DataTransfer();
        moved.items.add(new File([JSON.stringify(config)], 'config.json'));
        document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: moved, bubbles: true, cancelable: true }));
      }),
    );
    await page.waitForFunction(() => /^config\.json: .* parameters/.test(document.getElementById('said').textContent));
    yes(/trains config\.json/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
    equal(await page.inputValue('#model'), 'config.json', 'model');
    for (const field of ['data', 'epochs', 'within']) equal(await page.inputValue('#' + field), '', field + ' of the example');
    yes(/assumed: 1 million samples/.test(await page.textContent('#sentence')), await page.textContent('#sentence'));
    await page.reload();
    if (process.env.CENTIMANI_SITE) {
      // The file was in the memory of the page; nobody else has it.
      await page.waitForSelector('#problem:not([hidden])');
      yes(/no model|upload|file/i.test(await page.textContent('#problem-text')), await page.textContent('#problem-text'));
      page.problems.length = 0;
      return;
    }
    await settled(page);
    equal(await page.inputValue('#model'), 'config.json', 'model by the link');
  },
  'the data of an example stay for a model of its kind only, unless somebody changed them': async page => {
    const askFor = async model => {
      await page.fill('#model', model);
      await after(page, () => page.press('#model', 'Enter'));
    };
    await page.waitForFunction(() => document.getElementById('models').options.length > 0);
    await askFor('resnet18');
    equal(await page.inputValue('#data'), '1281167', 'data for another convolutional network');
    await askFor('bert-large');
    equal(await page.inputValue('#data'), '', 'data of images for a transformer');
    await page.fill('#data', '5000');
    await askFor('resnet18');
    equal(await page.inputValue('#data'), '5000', 'data that somebody entered');
  },
  'scripts run under the policy of the server': async (page, browser, url) => {
    const strict = await open(browser, url, { bypassCSP: false });
    await settled(strict);
    yes(await strict.evaluate(() => Boolean(Chart.getChart('c-pareto'))), 'no chart');
    const blocked = await strict.evaluate(
      () =>
        new Promise(done => {
          addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'window.foreign = 1';
          document.body.append(script);
          setTimeout(() => done('nothing'), 20000);
        }),
    );
    if (!process.env.CENTIMANI_SITE) equal(blocked, 'script-src-elem', 'blocked');
    await strict.context().close();
  },
  'the page comes with the answer to the question of its address': async (page, browser, url) => {
    if (process.env.CENTIMANI_SITE) return;
    const examples = await page.evaluate(() => Question.examples.map(([, q]) => Question.toUrl(q, {}))),
      header = fs.readFileSync(path.join(__dirname, '../../src/serve/serve.h'), 'utf8');
    equal('?' + /CM__FIRST_QUESTION "(.*)"/.exec(header)[1], examples[0], 'the question that the server prepares');
    // Addresses, and how many requests for a ranking the page needs.
    const addresses = [
      ['', 0],
      ...examples.map(query => [query, query.includes('networks=') ? 1 : 0]),
      ['?model=gpt2&data=1,000,000&unit=tokens&max_devices=2&within=3d&budget=500&batch=64&carbon=56', 0],
      ['?model=resnet18&precision=amp-fp16&optimizer=sgd&where=memory%3E20GB&devices=nvidia-l4%2Cnvidia-h100', 0],
      ['?model=resnet18&within=90min', 1], // a deadline that only the page translates
    ];
    for (const [query, requests] of addresses) {
      const seen = [],
        other = await browser.newContext(),
        first = await other.newPage();
      first.on('request', request => seen.push(new URL(request.url()).pathname));
      // The page waits half a second at most for its first frame (first.js). A busy machine may paint later, so the limit is lifted here.
      await first.addInitScript(() => {
        const real = window.setTimeout;
        window.setTimeout = (run, ms, ...more) => real(run, ms === 500 ? 60000 : ms, ...more);
      });
      await first.goto(url + query);
      await settled(first);
      equal(seen.filter(p => p === '/api/rank').length, requests, 'requests for a ranking by ' + query);
      const drawn = await first.evaluate(() => {
        const chart = performance.getEntriesByType('resource').find(e => e.name.endsWith('/chart.js'));
        return [performance.getEntriesByName('first-contentful-paint')[0].startTime, chart.startTime];
      });
      yes(drawn[1] > drawn[0], 'the chart library was loaded before the first frame: ' + drawn.join());
      await other.close();
    }
  },
  'a screen reader finds names, states and news': async page => {
    equal(await page.getAttribute('#said', 'role'), 'status', 'role');
    equal(await page.getAttribute('#problem', 'role'), 'alert', 'role');
    const first = await page.$eval('#candidates tr.row', tr => [
      tr.querySelector('th').scope,
      tr.querySelector('.open').getAttribute('aria-controls') === tr.nextSibling.id,
      tr.querySelector('input').ariaLabel,
    ]);
    equal(first[0], 'row', 'scope');
    yes(first[1] && /^Compare NVIDIA/.test(first[2]), first.join());
    equal(await page.$$eval('canvas', list => list.filter(c => !c.getAttribute('aria-label')).length), 0, 'charts without a name');
  },
};

async function everyUse(browser, url, work) {
  for (const [name, use] of Object.entries(uses))
    await test('page: ' + name, async () => {
      const page = await open(browser, url);
      await settled(page);
      await use(page, browser, url, work);
      equal(page.problems.filter(text => !/Failed to load resource/.test(text)).join('; '), '', 'console errors');
      await page.context().close();
    });
  const onnx = path.join(process.env.CENTIMANI_MODELS || '', 'resnet50.raw.onnx');
  if (fs.existsSync(onnx))
    await test('page: resnet50.raw.onnx', async () => {
      const page = await open(browser, url);
      await settled(page);
      await after(page, () => page.setInputFiles('#file', onnx));
      await page.waitForFunction(() => /25\.6 M parameters/.test(document.getElementById('said').textContent));
      const again = await open(browser, page.url());
      await settled(again);
      equal(await order(again), await order(page), 'order by the link');
      await page.context().close();
    });
}

module.exports = async (browser, program, work, shots) => {
  const [server, url] = await startServer(program);
  try {
    await everyState(browser, url, shots);
    await everyUse(browser, url, work);
  } finally {
    stopServer(server);
  }
};
