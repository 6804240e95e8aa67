// What a user sees of a language model's server that misbehaves: each row of the table in docs/language-models.md, met by the
// command itself. What the server is at fault for loses no work: the run goes on, and makes the bytes of one that met no trouble.

import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeRecord } from '../../src/replay/experience/experience.js';
import type { SynthEpisodesResult } from '../../src/run/pipeline/tools/episodes.js';
import { jsonLines } from '../data.js';
import type { LlmAnswer } from '../llm-server/completion.js';
import { type Answer, type LlmServer, startLlmServer } from '../llm-server/llm-server.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fileHashes, halfWritten, type Outcome, reverie, set } from './reverie.js';

type Role = 'agent' | 'world';
type Misbehave = (response: ServerResponse) => void;

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Misbehave => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
};
const error = (status: number, message: string, headers?: Record<string, string>) =>
  json(status, { error: { message } }, headers);
const reply = (message: object, finish_reason: string) =>
  json(200, { choices: [{ message, finish_reason }], usage: { prompt_tokens: 9, completion_tokens: 2 } });

const tooLong =
  'This model has a maximum context length of 4096 tokens; the messages are 5000 (context_length_exceeded)';
const MISBEHAVIOURS: Readonly<Record<string, Misbehave>> = {
  '429 or 500 for a while': (response) => error(Math.random() < 0.5 ? 429 : 500, 'busy')(response),
  '429 with `Retry-After` for a while': error(429, 'slow down', { 'retry-after': '0.2' }),
  '429 without end': error(429, 'slow down'),
  '500 without end': error(500, 'out of memory'),
  'cuts a reply off': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 400 });
    response.write('{"choices": [{"mess');
    setImmediate(() => response.destroy());
  },
  'never answers': () => undefined,
  'malformed JSON': json(200, '{"choices": [{"message": '),
  'a web page instead of JSON': json(200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
  'no `choices`': json(200, { choices: [] }),
  '401: the key': error(401, 'Incorrect API key provided'),
  '404: the model': error(404, 'The model `m` does not exist'),
  '400: the prompt is too long': error(400, tooLong),
  'a content filter': reply({ content: null, refusal: 'I cannot help with that.' }, 'content_filter'),
  'nothing said, nothing called': reply({ content: '' }, 'stop'),
  '`finish_reason: length` in the middle': reply({ content: 'Good mor' }, 'length'),
  '`finish_reason: length` before a word': reply({ content: '', reasoning_content: 'Let me think' }, 'length'),
};

const EPISODES = 4;
/** Requests that are answered well before the server misbehaves. */
const WELL = 3;

const folder = temporaryFolder('endpoints');
let server: LlmServer;
let misbehave: Misbehave | undefined;
let asked = 0;
let badRequests = 0;
/** Requests that meet it, from the one after `WELL` on. */
let lasting = Number.POSITIVE_INFINITY;
const whole = {} as Record<Role, Record<string, string>>;

/** An agent that looks somebody up and says good-bye; a world in which whatever is asked is there. */
const answer: Answer = ({ messages, tools }): LlmAnswer => {
  if (tools === undefined) {
    const operations: unknown[] = [];
    const said = { reasoning: 'as asked', operations, observation: '{"found": true}', reward: 0, terminated: false };
    return { text: JSON.stringify({ ...said, confidence: 1 }) };
  }
  const isFirst = messages.every(({ role }) => role !== 'tool');
  return isFirst
    ? { toolCalls: [{ id: 'a', name: 'get_employee', arguments: { employee: 'E-100' } }] }
    : { text: 'Good-bye.' };
};

function before(response: ServerResponse): boolean {
  const request = asked++;
  if (misbehave === undefined || request < WELL || request >= WELL + lasting) return false;
  badRequests++;
  misbehave(response);
  return true;
}

beforeAll(async () => {
  server = await startLlmServer({ answer, before });
  for (const role of ['agent', 'world'] as const) {
    expect((await run(role, `whole-${role}`)).code).toBe(0);
    whole[role] = dataOf(`whole-${role}`);
  }
});
afterAll(() => server.close());
beforeEach(() => {
  [misbehave, asked, badRequests, lasting] = [undefined, 0, 0, Number.POSITIVE_INFINITY];
});

function run(role: Role, out: string): Promise<Outcome> {
  const settings = [
    'llm.provider=openai-compatible',
    ...[`llm.url=${server.url}`, 'llm.model=m'],
    ...['llm.retries=2', 'llm.retryDelaySeconds=0.01', 'llm.timeoutSeconds=0.3', 'llm.deadlineSeconds=4'],
    ...['reward.mustFail.enabled=false', 'reward.mustSucceed.enabled=false', 'reward.hacker.enabled=false'],
    ...[`synth.episodes=${EPISODES}`, 'synth.export=[openai]', 'user.varied=false'],
    ...(role === 'agent' ? ['agent.kind=llm'] : ['model.backends=[llm]', 'agent={kind: reference, error: 0}']),
  ];
  return command(['synth', 'helpdesk', ...set(...settings), '--out', out, '--workers', '1']);
}

const command = (args: string[]) => reverie([...args, '--quiet'], folder);

/** What a run made, without what tells of time. */
function dataOf(out: string): Record<string, string> {
  const made = Object.entries(fileHashes(join(folder, out)));
  return Object.fromEntries(made.filter(([path]) => /^(data|datasets)\//.test(path)));
}

function resultOf(out: string): SynthEpisodesResult {
  return JSON.parse(readFileSync(join(folder, out, 'result.json'), 'utf8'));
}

type Row = readonly [name: string, agent: string, world: string, exitCode: string];

function table(): Row[] {
  const text = readFileSync(new URL('../../docs/language-models.md', import.meta.url), 'utf8');
  const [, rows] = /\| what the server does \|.*\n\| --- .*\n((?:\|.*\n)+)/.exec(text)!;
  return [...rows.matchAll(/^\| (.*) \|$/gm)].map(([, row]) => row.split(/\s*\|\s*/) as unknown as Row);
}

const rows = table().flatMap(([name, agent, world, exitCode]) => [
  { name, role: 'agent' as const, told: agent, exitCode: Number(exitCode) },
  { name, role: 'world' as const, told: world === 'the same' ? agent : world, exitCode: Number(exitCode) },
]);
/** One row of each outcome that is told: how a reply is read, the tests of the client say. */
function which(kind: RegExp, role: Role) {
  const found = rows.filter((row) => row.role === role && kind.test(row.told));
  return found.filter(({ told }, i) => found.findIndex((other) => other.told === told) === i);
}

describe('a server that is in trouble for a while', () => {
  it.each(which(/^waits/, 'agent'))('$name is waited for ($role), and nobody notices', async ({ name, role }) => {
    [misbehave, lasting] = [MISBEHAVIOURS[name], 2];
    const out = `${role}-while-${name}`;
    const { code, stderr } = await run(role, out);
    expect(`${code}${stderr}`).toBe('0');
    expect(badRequests).toBe(2);
    expect(dataOf(out)).toEqual(whole[role]);
  });
});

describe('a server or a request that no answer comes of', () => {
  it.each(which(/^`LLM_/, 'agent'))(
    '$name ends the job ($role) with $told, and it goes on',
    async ({ name, role, told, exitCode }) => {
      const out = `${role}-${name.replaceAll(/\W+/g, '-')}`;
      misbehave = MISBEHAVIOURS[name];
      const { code, stdout, stderr } = await run(role, out);
      expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
      expect(stderr).toMatch(new RegExp(`^error\\[${told.replaceAll('`', '')}\\]: .*${server.url}.*\n`));
      expect(stderr).toMatch(new RegExp(`hint: .* go on with: reverie synth --resume ${join(folder, out)}\n$`));
      if (told.includes('REFUSED')) expect(badRequests).toBe(1);
      expect(JSON.parse(readFileSync(join(folder, out, 'run.json'), 'utf8')).status).toBe('failed');
      expect(halfWritten(join(folder, out))).toEqual([]);
      misbehave = undefined;
      const resumed = await command(['synth', '--resume', out]);
      expect(`${resumed.code}${resumed.stderr}`).toBe('0');
      expect(dataOf(out)).toEqual(whole[role]);
    },
  );
});

describe('a reply that is of no use', () => {
  it.each(which(/^the row fails/, 'agent'))('$name loses an agent its episode ($told)', async ({ name, told }) => {
    [misbehave, lasting] = [MISBEHAVIOURS[name], 1];
    const out = `agent-${name.replaceAll(/\W+/g, '-')}`;
    expect((await run('agent', out)).code).toBe(0);
    const code = /`(\w+)`/.exec(told)![1];
    const { episodes, failed, failedFor, success } = resultOf(out);
    expect({ episodes, failed }).toEqual({ episodes: EPISODES - 1, failed: { [code]: 1 } });
    expect(failedFor?.[code].length).toBeGreaterThan(20);
    expect(success?.of).toBe(EPISODES - 1);
  });

  it.each(which(/^the call is refused/, 'world'))('$name refuses a call of the world', async ({ name }) => {
    // The other forms in which it is asked, and the repair, meet it, too.
    [misbehave, lasting] = [MISBEHAVIOURS[name], 8];
    const out = `world-${name.replaceAll(/\W+/g, '-')}`;
    expect((await run('world', out)).code).toBe(0);
    const { episodes, failed } = resultOf(out);
    expect({ episodes, failed }).toEqual({ episodes: EPISODES, failed: {} });
    const records = jsonLines<EpisodeRecord>(join(folder, out, 'data', 'episodes.jsonl'));
    const refused = records.filter(({ steps }) => steps.some((step) => step.predictions.some((one) => one.refused)));
    // Attempts that fail by the simulator are repeated.
    const why = [
      ...refused.flatMap(({ steps }) => steps.flatMap((step) => step.predictions.flatMap((one) => one.refused ?? []))),
      ...records.flatMap(({ retried = [] }) => retried.map(({ cause }) => cause ?? '')),
    ];
    expect(why.filter((problem) => problem.includes(server.url)).length).toBeGreaterThan(0);
    for (const record of refused) expect(record.return).not.toBe(0);
  });

  it.each(which(/^the turn stays/, 'agent'))('$name stays, is counted, and is not learnt', async ({ name }) => {
    [misbehave, lasting] = [MISBEHAVIOURS[name], 1];
    expect((await run('agent', 'agent-cut')).code).toBe(0);
    const { episodes, failed, removed } = resultOf('agent-cut');
    expect({ episodes, failed }).toEqual({ episodes: EPISODES, failed: {} });
    expect(removed).toMatchObject({ 'cut-off': 1 });
  });

  it('that every row fails by fails the job, with why, and makes no dataset', async () => {
    misbehave = MISBEHAVIOURS['a content filter'];
    asked = WELL;
    const { code, stderr } = await run('agent', 'all-failed');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[EPISODES_ALL_FAILED\]: All 4 episodes failed: 4 LLM_REFUSED, .*I cannot help with that/,
    );
    expect(dataOf('all-failed')).toEqual({});
  });
});

it('the table has a row for each of these', () => {
  const others = ['refuses connections', 'JSON with another content type'];
  const names = table().map(([name]) => name);
  expect(names.sort()).toEqual([...Object.keys(MISBEHAVIOURS), ...others].sort());
  const kinds = /^(waits|is read|`LLM_|the row fails|the call is refused|the turn stays)/;
  for (const { told } of rows) expect(told).toMatch(kinds);
});
