// offline.js - replaces the server of the page: fetch() of an address that begins with /api/ is answered by the WebAssembly module
// in worker.js. All other requests go where they went. The page itself is the one that `centimani serve` serves.
'use strict';
(() => {
  const network = window.fetch.bind(window);
  const waiting = new Map();
  const LIMIT_MS = 60000;
  let worker = null, asked = 0;

  // A file that the module cannot read may stop it: it is started anew, and the questions that it had are refused.
  function stop(reason) {
    worker.terminate();
    worker = null;
    for (const { resolve, timer } of waiting.values()) {
      clearTimeout(timer);
      resolve({ status: 422, type: 'application/json', text: JSON.stringify({ schema: 1, error: reason }) });
    }
    waiting.clear();
  }

  // The page as one file has the worker with the module inside, because a page of the file system cannot load others.
  const inside = () => document.getElementById('worker')?.textContent;

  function start() {
    worker = new Worker(inside() ? URL.createObjectURL(new Blob([inside()], { type: 'text/javascript' })) : 'worker.js');
    worker.onerror = event => { event.preventDefault(); stop(`it could not be read (${event.message || 'out of memory'})`); };
    worker.onmessage = ({ data }) => {
      const one = waiting.get(data.id);
      waiting.delete(data.id);
      if (one) { clearTimeout(one.timer); one.resolve(data); }
    };
  }

  function ask(path, query, file) {
    if (!worker) start();
    return new Promise(resolve => {
      const id = ++asked;
      waiting.set(id, { resolve, timer: setTimeout(() => stop('it took too long'), LIMIT_MS) });
      worker.postMessage({ id, path, query, file });
    });
  }

  window.fetch = async (address, init = {}) => {
    const url = new URL(address instanceof Request ? address.url : address, location.protocol === 'file:' ? 'http://localhost/' : location.href);
    if (!url.pathname.startsWith('/api/')) return network(address, init);
    const aborted = new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))));
    const reply = await Promise.race([ask(url.pathname, [...url.searchParams], init.body ?? null), aborted]);
    return new Response(reply.text, { status: reply.status, headers: { 'Content-Type': reply.type } });
  };
  // The page shows the answer that it has inside first. Loading the module meanwhile would take the processor from it.
  if (location.search) start();
  else addEventListener('load', () => { if (!worker) start(); });
})();
