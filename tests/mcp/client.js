// SPDX-License-Identifier: Apache-2.0
// client.js - PROGRAM: a session of the Model Context Protocol's own client with `centimani mcp`. Prints TAP.
// Needs @modelcontextprotocol/sdk in NODE_PATH (`make mcp` installs it).
'use strict';
let Client, StdioClientTransport;
try {
  ({ Client } = require('@modelcontextprotocol/sdk/client/index.js'));
  ({ StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js'));
} catch {
  console.log("Bail out! @modelcontextprotocol/sdk is missing: 'make mcp' installs it");
  process.exit(1);
}
const program = process.argv[2];
const results = [];
async function test(name, run) {
  try { await run(); results.push([true, name]); }
  catch (problem) { results.push([false, name, String(problem.stack || problem)]); }
}
const yes = (value, what) => { if (!value) throw new Error(what); };

async function main() {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command: program, args: ['mcp'] }));
  let tools;
  await test('the client accepts the list of tools', async () => {
    tools = (await client.listTools()).tools;
    for (const name of ['rank', 'predict', 'fits', 'memory', 'batch', 'plan', 'scale', 'explain', 'models', 'devices', 'options'])
      yes(tools.some(t => t.name === name), `no tool ${name}`);
    yes(JSON.stringify(tools).length <= 12 * 1024, 'the list is longer than 12 KB');
  });
  await test('schemas list the options with their help', async () => {
    const predict = tools.find(t => t.name === 'predict').inputSchema;
    yes(predict.required.includes('model') && predict.properties.device.description.includes('accelerator'), 'predict');
    const all = (await client.callTool({ name: 'options', arguments: { tool: 'predict' } })).structuredContent;
    yes(all.options.length > 10 && all.options.every(o => o.help && o.value), 'options');
    yes(!predict.properties.json && !predict.properties.o && !predict.properties.trace, 'an option that writes files');
  });
  await test('predict answers with a time', async () => {
    const answer = await client.callTool({ name: 'predict', arguments: { model: 'resnet50', device: 'nvidia-h200', batch: 64 } });
    const times = answer.structuredContent;
    yes(!answer.isError && times.batch === 64 && times.step_time_s > 0, JSON.stringify(answer).slice(0, 300));
    yes(times.interval_s[0] <= times.step_time_s && times.step_time_s <= times.interval_s[1], 'interval');
  });
  await test('a long answer is continued by further calls', async () => {
    const first = await client.callTool({ name: 'rank', arguments: { model: 'gemm_k1' } });
    let entries = first.structuredContent.ranking, next = first.structuredContent.more;
    while (next?.some(p => p.endsWith('-'))) {
      const page = await client.callTool({ name: 'rank', arguments: { model: 'gemm_k1', more: next.find(p => p.endsWith('-')) } });
      yes(JSON.stringify(page).length <= 8192, 'a page is longer than 8 KB');
      entries = entries.concat(page.structuredContent.value);
      next = page.structuredContent.more;
    }
    yes(JSON.stringify(first).length <= 8192, 'the answer is longer than 8 KB');
    const known = [];
    for (let more, page; more !== null; more = page.more?.find(p => p.endsWith('-')) ?? null) {
      page = (await client.callTool({ name: 'devices', arguments: more ? { more } : {} })).structuredContent;
      known.push(...(page.devices ?? page.value).map(d => d.id));
    }
    yes(entries.length > 40 && new Set(entries.map(r => r.device)).size === entries.length, 'entries are missing or twice');
    yes(entries.every(r => known.includes(r.device)), 'a device that is not listed');
    const whole = await client.callTool({ name: 'rank', arguments: { model: 'gemm_k1', more: '/ranking/3' } });
    yes(whole.structuredContent.value.device === entries[3].device && whole.structuredContent.value.vendor, 'one entry');
  });
  await test('lists are accepted as lists', async () => {
    const scaled = await client.callTool({ name: 'scale', arguments: { model: 'resnet50', device: 'nvidia-h200', n: [1, 8] } });
    yes(!scaled.isError && scaled.structuredContent.points.length === 2, JSON.stringify(scaled).slice(0, 300));
    const ranked = await client.callTool({ name: 'rank', arguments: { model: 'gemm_k1', devices: ['nvidia-h100', 'nvidia-a100-80g'],
      price: ['nvidia-h100=2', 'nvidia-a100-80g=1'] } });
    yes(ranked.structuredContent.ranking.map(r => r.price_hour).join() === '2,1', JSON.stringify(ranked).slice(0, 300));
  });
  await test('a wrong argument is an error of the tool', async () => {
    const answer = await client.callTool({ name: 'predict', arguments: { model: 'resnet50', device: 'nvidia-h2000' } });
    yes(answer.isError && answer.content[0].text.includes('did you mean'), JSON.stringify(answer));
  });
  await test('an unknown tool is refused', async () => {
    let refused = false;
    try { await client.callTool({ name: 'format_disk', arguments: {} }); } catch { refused = true; }
    yes(refused, 'accepted');
    const nowhere = await client.callTool({ name: 'devices', arguments: { more: '/devices/9999' } });
    yes(nowhere.isError && nowhere.content[0].text.includes('no such place'), JSON.stringify(nowhere));
  });
  await client.close();
  console.log(`1..${results.length}`);
  results.forEach(([ok, name, why], i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} ${name}`);
    if (!ok) console.log(why.replace(/^/gm, '# '));
  });
  process.exit(results.every(r => r[0]) ? 0 : 1);
}
main().catch(problem => { console.log(`Bail out! ${problem}`); process.exit(1); });
