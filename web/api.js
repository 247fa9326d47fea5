// api.js - the page's only access to the program. A page without a server replaces this file and nothing else.
'use strict';
const Api = (() => {
  // Ask the program: a path such as '/api/rank', a query {key: value}, and for uploads a file. Returns the JSON answer, or the text of
  // an answer that is not JSON. Throws an Error whose message says what is wrong and what to do.
  async function ask(path, query = {}, file = null, signal = undefined) {
    const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
    const reply = await fetch(path + '?' + words, file ? { method: 'POST', body: file, signal } : { signal }).catch(problem => {
      if (problem.name === 'AbortError') throw problem;
      throw new Error('The server does not answer. Start it again, then retry.');
    });
    const isJson = (reply.headers.get('Content-Type') || '').startsWith('application/json');
    const answer = isJson ? await reply.json() : await reply.text();
    if (!reply.ok) throw new Error((isJson && answer.error) || reply.statusText);
    return answer;
  }
  return { ask };
})();
