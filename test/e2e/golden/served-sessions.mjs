// Short fixed sessions with a running server, one for each protocol. What a client was told at the opening (instructions,
// tools) and what happened are parts of their own, as the words of the one may change without the other.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocket } from 'ws';
import { Names, normalValue } from './normal-form.mjs';

const TASK = 'unlock-after-holiday';
const CALLS = [
  ['verify_identity', { employee_id: 'EMP-1042', badge_number: 'LK-41042' }],
  ['get_employee', { employee_id: 'EMP-9999' }],
  ['get_employee', { employee_id: 'EMP-1042' }],
  ['restore_access', { employee_id: 'EMP-1042', action: 'unlock' }],
  ['update_ticket', { ticket_id: 'TCK-20831', status: 'closed', resolution: 'access_granted' }],
];
const SAY = 'Your account is unlocked and I have closed TCK-20831. Is there anything else I can do for you?';
const SPOKEN = [...CALLS, ['respond_to_user', { content: SAY }]];
const WALK = ['look', 'go to bar 1', 'take mug 1 from bar 1', 'go to shelf 1', 'put mug 1 in/on shelf 1'];
const SEED = 7;

/** Keys whose values are chosen afresh for each session. */
const CHOSEN = new Set([
  'sid',
  'session',
  'session_id',
  'episode_id',
  'reverie/episode',
  'attempt',
  'parent',
  'env_idx',
  'trace',
]);

/** What is served here: helpdesk and cellar. */
export function playSessions(url) {
  return transcripts([
    ['native helpdesk', () => nativeSession(url, 'helpdesk', helpdeskActions(), { task: TASK, seed: SEED })],
    ['native cellar', () => nativeSession(url, 'cellar', WALK, { split: 'train', index: 0, seed: SEED })],
    ['native groups', () => nativeGroup(url)],
    ['openenv helpdesk', () => openEnvSession(url, 'helpdesk', openEnvCalls(), { task: TASK, seed: SEED })],
    [
      'openenv cellar',
      () =>
        openEnvSession(
          url,
          'cellar',
          WALK.map((message) => ({ message })),
          { seed: SEED },
        ),
    ],
    ['ors helpdesk', () => orsSession(url, 'helpdesk', SPOKEN, { id: TASK, seed: SEED })],
    [
      'ors cellar',
      () =>
        orsSession(
          url,
          'cellar',
          WALK.map((text) => ['act', { text }]),
          { seed: SEED },
        ),
    ],
    ['mcp helpdesk', () => mcpSession(url, `helpdesk?task=${TASK}&seed=${SEED}`, SPOKEN)],
    [
      'mcp cellar',
      () =>
        mcpSession(
          url,
          `cellar?split=train&index=0&seed=${SEED}`,
          WALK.map((text) => ['act', { text }]),
        ),
    ],
    ['nemo helpdesk', () => nemoSession(url, 'helpdesk', SPOKEN.map(nemoCall))],
    [
      'nemo cellar',
      () =>
        nemoSession(
          url,
          'cellar',
          WALK.map((text) => nemoCall(['act', { text }])),
        ),
    ],
  ]);
}

/** Plays one after the other; answers `protocol environment: opening` and `…: steps` → what was answered. */
async function transcripts(sessions) {
  const parts = {};
  for (const [name, play] of sessions) {
    const { opening, steps } = await play();
    const ids = chosenIds([opening, steps]);
    parts[`${name}: opening`] = normalValue(opening, new Names(), { ids });
    parts[`${name}: steps`] = normalValue(steps, new Names(), { ids });
  }
  return parts;
}

/** Values of the keys that hold ids, longest first; numbers and short words are not replaced in texts. */
function chosenIds(answers) {
  const found = new Set();
  JSON.stringify(answers, (key, value) => {
    if (CHOSEN.has(key) && typeof value === 'string' && value.length > 12) found.add(value);
    return value;
  });
  return [...found].sort((a, b) => b.length - a.length);
}

async function ask(url, body, { method = body === undefined ? 'GET' : 'POST', headers = {} } = {}) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const reply = await fetch(url, {
    method,
    headers: { ...type, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${url} was answered ${reply.status}: ${text.slice(0, 500)}`);
  return { reply, text, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
}

function helpdeskActions() {
  return [...CALLS.map(([name, given]) => ({ tool_calls: [{ name, arguments: given }] })), { content: SAY }];
}

async function nativeSession(url, env, actions, start) {
  const described = (await ask(`${url}/v1/environments/${env}`)).body;
  const tasks = (await ask(`${url}/v1/environments/${env}/tasks?split=train&start=0&stop=3`)).body;
  const { id } = (await ask(`${url}/v1/sessions`, { env })).body;
  const session = `${url}/v1/sessions/${id}`;
  const steps = [{ session: id }, (await ask(`${session}/reset`, start)).body];
  const half = Math.floor(actions.length / 2);
  for (const action of actions.slice(0, half)) steps.push((await ask(`${session}/step`, { action })).body);
  const { id: snapshot } = (await ask(`${session}/snapshot`, undefined, { method: 'POST' })).body;
  for (const action of actions.slice(half)) steps.push((await ask(`${session}/step`, { action })).body);
  steps.push((await ask(session)).body);
  // Back there, and in a fork from there, the rest is what it was.
  steps.push({ session: snapshot }, (await ask(`${session}/restore`, { snapshot })).body);
  const [fork] = (await ask(`${session}/fork`, { count: 1 })).body.sessions;
  steps.push({ session: fork.id }, (await ask(`${session}/step`, { action: actions[half] })).body);
  steps.push((await ask(`${url}/v1/sessions/${fork.id}/step`, { action: actions[half] })).body);
  for (const gone of [id, fork.id]) await ask(`${url}/v1/sessions/${gone}`, undefined, { method: 'DELETE' });
  return { opening: [described, tasks], steps };
}

async function nativeGroup(url) {
  const { sessions, turn } = (await ask(`${url}/v1/groups`, { env: 'helpdesk', count: 3, seeds: [1, 2, 3] })).body;
  const [name, given] = CALLS[0];
  const action = { tool_calls: [{ name, arguments: given }] };
  const results = [];
  for (const { id } of sessions) results.push((await ask(`${url}/v1/sessions/${id}/step`, { action })).body);
  for (const { id } of sessions) await ask(`${url}/v1/sessions/${id}`, undefined, { method: 'DELETE' });
  return { opening: turn, steps: [sessions.map(({ id }) => ({ session: id })), results] };
}

function openEnvCalls() {
  return SPOKEN.map(([tool_name, given]) => ({ type: 'call_tool', tool_name, arguments: given }));
}

async function openEnvSession(url, env, actions, start) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/envs/${env}/ws`);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const frame = (message) =>
    new Promise((resolve) => {
      socket.once('message', (data) => resolve(JSON.parse(String(data))));
      socket.send(JSON.stringify(message));
    });
  const opening = [(await ask(`${url}/envs/${env}/schema`)).body];
  const steps = [await frame({ type: 'reset', data: start })];
  for (const data of actions) steps.push(await frame({ type: 'step', data }));
  steps.push(await frame({ type: 'state' }));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.close();
  await closed;
  return { opening, steps };
}

async function orsSession(url, env, calls, task) {
  const events = async (path, body, headers) => {
    const { text } = await ask(`${url}${path}`, body, { method: 'POST', headers });
    const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
    return blocks.map((block) => block.split('\n').map((line) => line.slice(line.indexOf(':') + 1).trimStart()));
  };
  const [[, sid]] = await events('/create_session');
  const headers = { 'x-session-id': sid };
  await ask(`${url}/create`, { env_name: env, task_spec: task }, { headers });
  const opening = [
    (await ask(`${url}/${env}/prompt`, undefined, { headers })).body,
    (await ask(`${url}/${env}/task_tools`, undefined, { headers })).body,
    (await ask(`${url}/${env}/splits`)).body,
  ];
  const steps = [{ sid }];
  for (const [name, input] of calls) {
    // The first event names the call, and its name is a new one each time.
    const [, ...answered] = await events(`/${env}/call`, { name, input }, headers);
    steps.push(answered.map(([event, data]) => [event, JSON.parse(data)]));
  }
  await ask(`${url}/delete`, undefined, { method: 'POST', headers });
  return { opening, steps };
}

async function mcpSession(url, path, calls) {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp/${path}`));
  const client = new Client({ name: 'golden', version: '1' });
  await client.connect(transport);
  const { contents } = await client.readResource({ uri: 'reverie://episode' });
  const opening = [client.getInstructions(), await client.listTools()];
  const steps = [{ session: transport.sessionId }, contents.map(({ text }) => JSON.parse(text))];
  for (const [name, given] of calls) steps.push(await client.callTool({ name, arguments: given }));
  await transport.terminateSession();
  await client.close();
  return { opening, steps };
}

function nemoCall([name, given]) {
  const call = { type: 'function_call', call_id: 'c0', name, arguments: JSON.stringify(given) };
  return { responses_create_params: { input: [] }, response: { output: [call] } };
}

async function nemoSession(url, env, answers, start = { split: 'train', index: 0 }) {
  const root = `${url}/nemo/${env}`;
  const first = await ask(`${root}/reset`, { responses_create_params: { input: [] }, ...start });
  const cookie = first.reply.headers.get('set-cookie').split(';')[0];
  const steps = [];
  for (const answer of answers) steps.push((await ask(`${root}/step`, answer, { headers: { cookie } })).body);
  await ask(`${root}/close`, {}, { headers: { cookie } });
  return { opening: first.body, steps };
}
