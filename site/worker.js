// worker.js - runs the WebAssembly module beside the page, so that the page stays responsive. A message {id, path, query, file}
// is answered by {id, status, type, text}.
'use strict';
const CHUNK = 1 << 20;
// The page as one file puts the module here, as text: tools/site.py.
const packed = '';
async function unpacked() {
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}
self.Module = { locateFile: name => name };
if (packed)
  self.Module.instantiateWasm = (imports, done) => {
    unpacked().then(bytes => WebAssembly.instantiate(bytes, imports)).then(made => done(made.instance, made.module));
    return {};
  };
const ready = new Promise(resolve => { self.Module.onRuntimeInitialized = resolve; });
importScripts('centimani.js');

const call = (name, type, types, values) => Module.ccall(name, type, types, values);
const answer = status => {
  const at = call('cm_site_text', 'number', [], []), size = call('cm_site_size', 'number', [], []);
  return { status, type: call('cm_site_type', 'string', [], []), text: new TextDecoder().decode(Module.HEAPU8.slice(at, at + size)) };
};

function get(path, query) {
  const lines = query.flat().map(word => String(word).replaceAll('\n', ' ')).join('\n');
  return answer(call('cm_site_get', 'number', ['string', 'string'], [path, lines]));
}

async function upload(name, file) {
  const one = call('cm_site_upload', 'number', ['string'], [name]);
  if (!one) return answer(400);
  const buffer = Module._malloc(CHUNK);
  for (let at = 0; at < file.size; at += CHUNK) {
    const bytes = new Uint8Array(await file.slice(at, at + CHUNK).arrayBuffer());
    Module.HEAPU8.set(bytes, buffer);
    if (!call('cm_site_write', 'number', ['number', 'number', 'number'], [one, buffer, bytes.length])) {
      Module._free(buffer);
      return answer(413);
    }
  }
  Module._free(buffer);
  return answer(call('cm_site_uploaded', 'number', ['number'], [one]));
}

// One at a time: the module has one reply.
let last = ready;
onmessage = ({ data }) => {
  last = last.then(async () => {
    const reply = data.file ? await upload(Object.fromEntries(data.query).name || data.file.name, data.file) : get(data.path, data.query);
    postMessage({ id: data.id, ...reply });
  });
  last.catch(problem => { setTimeout(() => { throw problem; }); });
};
