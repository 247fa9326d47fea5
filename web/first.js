// first.js - asks the question of the URL while the browser still reads the page, so that the program computes meanwhile.
'use strict';
const First = (() => {
  const text = query => JSON.stringify(Object.entries(query).filter(([, value]) => value));
  let early = null;
  try {
    const [q] = Question.fromUrl(),
      query = Question.query(Object.keys(q).length ? q : Question.examples[0][1]);
    if (query.model) early = { text: text(query), answer: Api.ask('/api/rank', query) };
    early?.answer.catch(() => {}); // ask() reports it
  } catch {
    // A question that the page refuses; ask() is not called for it.
  }

  // Ask for a ranking. The first question is answered by the request that is under way, if it is the same.
  function ask(query) {
    const { text: asked, answer } = early || {};
    early = null;
    return asked === text(query) ? answer : Api.ask('/api/rank', query);
  }
  return { ask };
})();
