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
    for (const name of ['rank', 'predict', 'plan', 'explain', 'devices'])
      yes(tools.some(t => t.name === name), `no tool ${name}`);
  });
  await test('schemas list the options with their help', async () => {
    const predict = tools.find(t => t.name === 'predict').inputSchema;
    yes(predict.required.includes('model') && predict.properties.device.description.includes('accelerator'), 'predict');
    yes(!predict.properties.json && !predict.properties.o && !predict.properties.trace, 'an option that writes files');
  });
  await test('predict answers with a time', async () => {
    const answer = await client.callTool({ name: 'predict', arguments: { model: 'resnet50', device: 'nvidia-h200', batch: 64 } });
    const times = answer.structuredContent;
    yes(!answer.isError && times.batch === 64 && times.step_time_s > 0, JSON.stringify(answer).slice(0, 300));
    yes(times.interval_s[0] <= times.step_time_s && times.step_time_s <= times.interval_s[1], 'interval');
  });
  await test('rank and devices agree on the devices', async () => {
    const ranked = (await client.callTool({ name: 'rank', arguments: { model: 'gemm_k1' } })).structuredContent.ranking;
    const known = (await client.callTool({ name: 'devices', arguments: {} })).structuredContent.devices.map(d => d.id);
    yes(ranked.length > 10 && ranked.every(r => known.includes(r.device)), 'a device that is not listed');
  });
  await test('a wrong argument is an error of the tool', async () => {
    const answer = await client.callTool({ name: 'predict', arguments: { model: 'resnet50', device: 'nvidia-h2000' } });
    yes(answer.isError && answer.content[0].text.includes('did you mean'), JSON.stringify(answer));
  });
  await test('an unknown tool is refused', async () => {
    let refused = false;
    try { await client.callTool({ name: 'format_disk', arguments: {} }); } catch { refused = true; }
    yes(refused, 'accepted');
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
