#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// site_program.js - replaces the program in browser.js: `serve` hosts the folder $CENTIMANI_SITE as any static host does, all other
// commands are run by $CENTIMANI_PROGRAM. So the tests of the page also run on the page without a server.
'use strict';
const { spawnSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const path = require('path');

const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json', '.wasm': 'application/wasm' };

function host(folder) {
  const server = http.createServer((request, reply) => {
    const name = path.basename(new URL(request.url, 'http://localhost').pathname) || 'index.html', file = path.join(folder, name + '.gz');
    if (request.method !== 'GET' || request.url.startsWith('/api/') || !fs.existsSync(file)) {
      reply.writeHead(404).end();
      return;
    }
    reply.writeHead(200, { 'Content-Type': types[path.extname(name)] || 'application/octet-stream', 'Content-Encoding': 'gzip' });
    fs.createReadStream(file).pipe(reply);
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
}

if (require.main === module) {
  const words = process.argv.slice(2);
  if (words[0] === 'serve') host(process.env.CENTIMANI_SITE);
  else process.exit(spawnSync(process.env.CENTIMANI_PROGRAM, words, { stdio: 'inherit' }).status ?? 1);
}
