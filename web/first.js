// first.js - the answer to the question of the URL. The server writes it into the page (src/serve/page.c). A page without a server has
// the answer to the question without fields inside (tools/site.py); it asks others while the browser still reads the page, so that
// the program computes meanwhile.
'use strict';
const First = (() => {
  const text = query =>
    JSON.stringify(
      Object.entries(query)
        .filter(([, value]) => value)
        .sort(),
    );
  let early = null;
  try {
    const [q] = Question.fromUrl(),
      isUsual = !Object.keys(q).length,
      query = Question.query(isUsual ? Question.examples[0][1] : q),
      { answered } = document.documentElement.dataset, // which questions the page has the answer to: 'usual', '' all
      isInside = answered === '' || (answered === 'usual' && isUsual);
    if (query.model && !isInside) early = { asked: text(query), answer: Api.ask('/api/rank', query) };
    early?.answer.catch(() => {}); // ask() reports it
  } catch {
    // A question that the page refuses; ask() is not called for it.
  }

  // The answer that the server wrote into the page.
  function written() {
    const json = document.getElementById('first')?.textContent,
      found = json && JSON.parse(json);
    return found && { asked: text(found.query), answer: found.answer };
  }
  // The first question is answered by the request that is under way or by the page, if it is the same.
  const has = query => (early ??= written() || {}).asked === text(query);
  function ask(query) {
    const answer = has(query) ? early.answer : Api.ask('/api/rank', query);
    early = {};
    return answer;
  }

  // Wait until the browser has painted what was just shown. Chromium reports the first painted sentence; a window that is not
  // visible paints nothing, and other browsers report nothing, so this takes half a second at most.
  const LIMIT_MS = 500;
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  const sentence = new Promise(done => {
    if (PerformanceObserver.supportedEntryTypes?.includes('element')) new PerformanceObserver(done).observe({ type: 'element', buffered: true });
    else frame().then(done);
  });
  const painted = () => Promise.race([sentence.then(frame), new Promise(done => setTimeout(done, LIMIT_MS))]);
  return { has, ask, painted };
})();
