// app.js - asks the question that form and URL contain, shows the answer, and keeps the URL and the browser's history up to date.
// The answer is shown first. The chart library is loaded and charts are drawn after that frame.
'use strict';
(() => {
  let asked = 0,
    rank = null,
    view = {},
    shownQuestion = {},
    details = new Map(),
    waiting = null,
    drawing = 0;

  // ---- states: waiting, problem, answer

  // An answer to an earlier question is dimmed and does not react.
  function age(on) {
    $('results').classList.toggle('old', on);
    $('results').inert = on;
  }
  function wait(on) {
    clearTimeout(waiting);
    $('results').setAttribute('aria-busy', String(on));
    age(on);
    $('progress').hidden = !on;
    if (on)
      waiting = setTimeout(() => {
        $('said').textContent = 'Computing …';
      }, 400);
  }
  function fail(problem) {
    wait(false);
    age(true);
    $('said').textContent = '';
    const better = Question.suggested(problem.message);
    $('problem-text').textContent = Question.inWords(problem.message) + (rank ? ' The answer below is that of the previous question.' : '');
    $('suggest').hidden = !better;
    $('suggest').textContent = better ? 'Ask for ' + better : '';
    $('suggest').onclick = () => {
      $('model').value = better;
      ask();
    };
    $('retry').hidden = Boolean(better);
    $('undo').hidden = !rank;
    $('problem').hidden = false;
  }
  function settle(text) {
    wait(false);
    $('problem').hidden = true;
    $('said').textContent = text;
  }
  function limits(q) {
    const l = { seconds: q.within && Question.hours(q.within) * 3600, dollars: q.budget && Question.dollars(q.budget) };
    const deadline = l.seconds && { value: l.seconds / 3600, text: 'deadline ' + q.within },
      budget = l.dollars && { value: l.dollars, text: 'budget ' + Format.usd(l.dollars) };
    l.onIntervals = [
      rank?.objective === 'time' && deadline && { axis: 'x', ...deadline },
      rank?.objective === 'cost' && budget && { axis: 'x', ...budget },
    ].filter(Boolean);
    l.onPareto = [deadline && { axis: 'x', ...deadline }, budget && { axis: 'y', ...budget }].filter(Boolean);
    return l;
  }

  // ---- history: a question and a change of view are entries that the back button leaves

  function remember(push) {
    const url = Question.toUrl(shownQuestion, view);
    if (url === location.search) return;
    history[push ? 'pushState' : 'replaceState'](null, '', url);
  }

  // ---- showing

  function drawRanking() {
    const l = limits(shownQuestion);
    Figures.intervals('c-intervals', rank, { limit: l.onIntervals, choose: toggle });
    Figures.pareto('c-pareto', rank, { limit: l.onPareto, choose: toggle });
  }
  function drawAll() {
    drawRanking();
    const e = rank && view.open && Candidates.find(rank, view.open),
      opened = e && details.get(view.open + (e.networks ? '#' + networkOf(e) : '')),
      pair = compared();
    if (opened) Detail.draw(opened, e.networks ? [] : siblings(e), toggle);
    if (pair) showCompared(pair);
  }
  // The answer and the table are shown first. Charts follow when they are painted; until then, the results are marked as busy.
  async function drawSoon() {
    const turn = ++drawing;
    $('results').setAttribute('aria-busy', 'true');
    await First.painted();
    await Charts.library();
    if (turn !== drawing) return;
    drawRanking();
    $('results').setAttribute('aria-busy', String(!$('progress').hidden));
  }
  function showRanking() {
    const l = limits(shownQuestion),
      any = Figures.placed(rank).length > 0;
    $('results').hidden = false;
    $('sentence').replaceChildren(...Candidates.sentence(rank));
    $('confidence').replaceChildren(
      ...Candidates.confidence(rank, l, { open: toggle, more, raise }),
      ...Format.warnings(rank).map(text => make('span', { className: 'warning' }, ' Warning: ' + text + '.')),
    );
    $('facts').replaceChildren(...Candidates.facts(rank));
    $('get-script').hidden = !rank.max_devices || !any;
    Detail.close();
    Candidates.table(rank, view, { open: toggle, compare: choose });
    $('h-intervals').parentElement.hidden = !any;
    $('h-pareto').parentElement.hidden = !Figures.hasPareto(rank);
    if (any) drawSoon();
  }
  const row = id => [...document.querySelectorAll('#candidates tr.row')].find(tr => tr.dataset.key === id);

  // Show which candidate is open and which two are compared, as `view` says.
  function showView(focus) {
    if (view.open && !row(view.open) && Candidates.find(rank, view.open)) showRanking();
    Detail.close();
    document.querySelectorAll('#candidates tr.row').forEach(tr => {
      const isOpen = tr.dataset.key === view.open;
      tr.classList.toggle('opened', isOpen);
      tr.querySelector('.open').setAttribute('aria-expanded', String(isOpen));
      tr.nextSibling.hidden = !isOpen;
      tr.nextSibling.firstChild.replaceChildren();
      tr.querySelector('input').checked = (view.compare || '').split('|').includes(tr.dataset.key);
    });
    if (view.open) showOpened(focus);
    showCompare(focus);
  }

  const siblings = e => (rank.max_devices ? rank.ranking.filter(other => Format.samePlace(other, e)) : []);
  // Of several networks the details are those of one: which the view says, or else the longest.
  const networkOf = e => (e.networks ? Math.min(Number(view.network || Detail.longest(e) + 1), e.networks.length) - 1 : -1);
  const partOf = e => (e.networks ? Detail.part(e, networkOf(e)) : e);
  async function detailOf(e) {
    const at = networkOf(e),
      id = Format.key(e) + (at < 0 ? '' : '#' + at),
      q = at < 0 ? shownQuestion : { ...shownQuestion, model: Question.networksOf(shownQuestion)[at].model };
    if (!details.has(id)) details.set(id, await Api.ask('/api/device', Detail.query(partOf(e), q)));
    await Charts.library();
    return details.get(id);
  }
  function showNetwork(index) {
    view = { ...view, network: String(index + 1) };
    remember(true);
    showView(true);
  }
  async function showOpened(focus) {
    const id = view.open,
      turn = asked,
      tr = row(id),
      e = rank && Candidates.find(rank, id);
    if (!tr || !e) return;
    const panel = make('div', { className: 'panel' }, make('p', { className: 'soft', role: 'status' }, 'Computing the details …'));
    tr.nextSibling.firstChild.replaceChildren(panel);
    if (focus) {
      tr.querySelector('.open').focus({ preventScroll: true });
      tr.scrollIntoView({ block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
    }
    try {
      const d = await detailOf(e);
      if (turn === asked && view.open === id && panel.isConnected) Detail.fill(panel, partOf(e), d, e.networks ? [] : siblings(e), toggle);
      if (e.networks && panel.isConnected) panel.prepend(Detail.networks(e, networkOf(e), showNetwork));
    } catch (problem) {
      panel.replaceChildren(make('p', { className: 'problem', role: 'alert' }, problem.message));
    }
  }

  function compared() {
    const pair = (view.compare || '')
      .split('|')
      .map(id => rank && Candidates.find(rank, id))
      .filter(Boolean);
    return pair.length === 2 ? pair : null;
  }
  async function showCompared(pair) {
    const turn = asked;
    try {
      const both = await Promise.all(pair.map(detailOf));
      if (turn === asked && compared()?.every((e, i) => e === pair[i])) Compare.fill(pair, both);
    } catch (problem) {
      $('t-compare').replaceChildren(make('caption', { className: 'problem' }, problem.message));
    }
  }
  async function showCompare(focus) {
    const pair = compared();
    $('compare').hidden = !pair;
    if (!pair) return;
    $('h-compare').textContent = `${Format.title(pair[0])} and ${Format.title(pair[1])} side by side`;
    await showCompared(pair);
    if (focus === 'compare') $('compare').focus();
  }

  // ---- actions

  function toggle(e) {
    const id = Format.key(e);
    view = { ...view, open: view.open === id ? '' : id };
    remember(true);
    showView(true);
  }
  // Ask the same question on up to so many devices.
  function more(devices) {
    $('max_devices').value = String(devices);
    ask();
  }
  // Ask the same question with the limits that the program suggests.
  function raise(limits) {
    if (limits.within_s) $('within').value = Math.ceil(limits.within_s / 3600) + 'h';
    if (limits.budget_usd) $('budget').value = String(Math.ceil(limits.budget_usd));
    ask();
  }
  function choose(e, on) {
    const ids = (view.compare || '').split('|').filter(id => id && id !== Format.key(e));
    view = { ...view, compare: (on ? [...ids, Format.key(e)] : ids).slice(-2).join('|') };
    remember(true);
    showView(on && 'compare');
  }

  // Ask what the form contains. `push`: as a new entry of the history.
  async function ask(push = true, keep = {}) {
    const turn = ++asked,
      q = Question.read();
    Question.summarize();
    if (!q.model) return;
    wait(true);
    try {
      const query = Question.query(q),
        begin = First.has(query) ? 0 : performance.now(), // of an answer that came with the page, all the time since it was opened
        answer = await First.ask(query),
        took = performance.now() - begin;
      if (turn !== asked) return;
      rank = answer;
      shownQuestion = q;
      view = keep;
      details = new Map();
      settle(`${Figures.placed(rank).length} candidates in ${Math.round(took)} ms.`);
      remember(push);
      if (q.model.startsWith('upload:')) Question.nameFile(rank.model.replace(/^\.\//, ''), q.model); // a link has only the id
      document.title = `${$('model').value}: where to train it`;
      showRanking();
      showView();
    } catch (problem) {
      if (turn === asked) fail(problem);
    }
  }
  function recall() {
    const [q, kept] = Question.fromUrl();
    Question.write(Object.keys(q).length ? q : Question.examples[0][1]);
    if (rank && JSON.stringify(Question.read()) === JSON.stringify(shownQuestion)) {
      const all = kept.all !== view.all;
      view = kept;
      if (!$('problem').hidden) settle('');
      if (all) showRanking();
      showView();
    } else return ask(false, kept);
  }

  // A job file is a question: it replaces the one in the form.
  async function openJob(file) {
    wait(true);
    try {
      const [q, without] = await Job.open(file);
      Question.write(q);
      await ask();
      if (without.length) $('said').textContent += ` ${file.name} also has ${without.join(', ')}, which the page has no field for.`;
    } catch (problem) {
      fail(new Error(`the file ${file.name}, ${problem.message.replace(/^job: /, '')}`));
    }
  }
  async function upload(file) {
    if (Job.isName(file.name)) return openJob(file);
    wait(true);
    $('said').textContent = `Reading ${file.name} …`;
    try {
      const answer = await Api.ask('/api/upload', { name: file.name }, file);
      Question.nameFile(answer.name, answer.model);
      Question.leaveExample();
      await ask();
      $('said').textContent =
        `${answer.name}: ${Format.short(answer.params)} parameters.` + (answer.warnings?.length ? ' ' + answer.warnings.join(' ') : '');
    } catch (problem) {
      fail(new Error(`${file.name}: ${problem.message}`));
    }
  }

  async function download(what) {
    try {
      if (what === 'csv' || what === 'json') return Download[what](rank);
      if (what === 'job') return Download.job(rank, Job.text(shownQuestion));
      const opened = view.open && Candidates.find(rank, view.open),
        entry = what === 'script' && opened ? { entry: String(opened.rank) } : {};
      $('said').textContent = `Writing the ${what} …`;
      Download[what](rank, await Api.ask('/api/' + what, { ...Question.query(shownQuestion), ...entry }));
      $('said').textContent =
        what === 'report' ? 'The report is downloaded.' : `The job script of ${Format.title(opened || rank.ranking[0])} is downloaded.`;
    } catch (problem) {
      fail(problem);
    }
  }

  // ---- events

  $('ask').addEventListener('submit', event => {
    event.preventDefault();
    ask();
  });
  $('ask').addEventListener('change', event => {
    if (event.target.id === 'model') Question.leaveExample();
    Question.summarize();
    if (rank && event.target.id !== 'file') ask();
  });
  $('add').addEventListener('click', () => Question.add());
  $('retry').addEventListener('click', () => ask(false, view));
  $('undo').addEventListener('click', () => {
    asked++;
    Question.write(shownQuestion);
    settle('The previous question.');
  });
  $('all').addEventListener('click', () => {
    view = { ...view, all: '1' };
    remember(true);
    showRanking();
    showView();
  });
  $('compare-end').addEventListener('click', () => {
    view = { ...view, compare: '' };
    remember(true);
    showView();
  });
  for (const what of ['report', 'json', 'csv', 'job', 'script']) $('get-' + what).addEventListener('click', () => download(what));
  for (const on of [true, false])
    $(on ? 'devices-all' : 'devices-none').addEventListener('click', () => {
      document.querySelectorAll('#devices input').forEach(box => {
        box.checked = on;
      });
      Question.summarize();
      if (on) ask();
    });
  $('copy').addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      $('said').textContent = 'Link copied.';
    } catch {
      $('said').textContent = location.href;
    }
  });
  $('file').addEventListener('change', event => {
    if (event.target.files[0]) upload(event.target.files[0]);
    event.target.value = '';
  });
  for (const name of ['dragover', 'dragenter'])
    addEventListener(name, event => {
      event.preventDefault();
      $('drop').classList.add('over');
    });
  for (const name of ['dragleave', 'drop'])
    addEventListener(name, event => {
      if (name === 'drop' || !event.relatedTarget) $('drop').classList.remove('over');
    });
  addEventListener('drop', event => {
    event.preventDefault();
    if (event.dataTransfer?.files[0]) upload(event.dataTransfer.files[0]);
  });
  addEventListener('popstate', recall);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    if (rank) drawAll();
  });

  $('examples').replaceChildren(
    ...Question.examples.map(([name, q]) =>
      make(
        'button',
        {
          type: 'button',
          className: 'link',
          onclick: () => {
            Question.write(q);
            ask();
          },
        },
        name,
      ),
    ),
  );

  (async () => {
    await recall();
    await First.painted(); // the answer does not need the lists below
    try {
      const [models, devices] = await Promise.all([Api.ask('/api/models'), Api.ask('/api/devices')]);
      Question.offerModels(models.models);
      $('device-ids').replaceChildren(...devices.devices.map(d => new Option(d.name, d.id)));
      Question.offer(devices.devices.filter(d => d.id !== 'this-machine'));
    } catch (problem) {
      fail(problem);
    }
  })();
})();
