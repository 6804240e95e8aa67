// Logs in all formats become the same episodes and steps, with states where the domain's rules answer as was recorded.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ToolRules, ToolsDomain } from '../../../src/env/tools/domain.js';
import { type EpisodeRecord, episodeSteps } from '../../../src/replay/experience/experience.js';
import { episodeLogFiles, readEpisodeLogs } from '../../../src/replay/experience/logs/read-episode-logs.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import { exportEpisodes } from '../../../src/synth/export/episodes/export-episodes.js';
import { temporaryFolder } from '../../temporary-folder.js';

const folder = temporaryFolder('logs');

function file(name: string, ...records: unknown[]): string {
  const text = records.map((record) => (typeof record === 'string' ? record : JSON.stringify(record))).join('\n');
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const call = (id: string, name: string, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const conversation = (asText: boolean) => {
  const args = (value: object) => (asText ? JSON.stringify(value) : value);
  return [
    { role: 'user', content: 'Close ticket T1.' },
    { role: 'assistant', content: null, tool_calls: [call('c1', 'get_ticket', args({ id: 'T1' }))] },
    { role: 'tool', tool_call_id: 'c1', content: '{"id": "T1", "status": "open"}' },
    { role: 'assistant', content: null, tool_calls: [call('c1', 'close_ticket', args({ id: 'T1' }))] },
    { role: 'tool', tool_call_id: 'c1', content: 'closed' },
    { role: 'assistant', content: null, tool_calls: [call('c2', 'get_ticket', args({ id: 'T9' }))] },
    { role: 'tool', tool_call_id: 'c2', content: 'Error: no ticket T9' },
    { role: 'assistant', content: 'It is closed.' },
  ];
};
const openAi = (changes = {}) => ({ id: 'a', task: 'close', messages: conversation(true), reward: 1, ...changes });

const rules: ToolRules = {
  version: 'test',
  tools: new Set(['get_ticket', 'close_ticket']),
  execute: (state, { name, arguments: { id } }) => {
    const ticket = (state.tickets as JsonObject)[String(id)] as JsonObject | undefined;
    if (ticket === undefined) return { operations: [], observation: `Error: no ticket ${id}`, isError: true };
    if (name === 'get_ticket')
      return { operations: [], observation: JSON.stringify({ id, ...ticket }), isError: false };
    const operation = { op: 'replace', path: `/tickets/${id}/status`, value: 'closed' } as const;
    return { operations: [operation], observation: 'closed', isError: false };
  },
  preconditions: () => [],
  invariants: () => [],
  check: () => ({ name: '', passed: null, reason: '' }),
  close: () => {},
};
const initialState: JsonObject = { tickets: { T1: { status: 'open' }, T2: { status: 'open' } } };
const tool = (name: string, kind: 'read' | 'write') => ({ name, kind, description: '', parameters: {} });
const domain: ToolsDomain = {
  id: 'desk',
  version: 'v1',
  policy: 'Be kind.',
  tools: [tool('get_ticket', 'read'), tool('close_ticket', 'write')],
  stateSchema: {},
  initialState,
  tasks: [{ id: 'close', family: 'closing', split: 'validation', user: { goal: '' }, verifier: {} }],
  rules,
  close: () => {},
};

/** What was called and answered, one after another: ADP knows no calls side by side. */
function callsAndAnswers({ messages }: EpisodeRecord) {
  const answers = messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const said = messages.flatMap(({ role, content }) => (role === 'tool' || role === 'assistant' ? [] : [content]));
  return { answers, said, calls: calls.map(({ name, arguments: given }) => [name, given]) };
}

describe('formats', () => {
  it('are read alike: arguments as text or object, ShareGPT, trajectories, a list', async () => {
    const turns = conversation(false).map((message): { from: string; value: string } => {
      if (message.role === 'tool') return { from: 'observation', value: String(message.content) };
      const [made] = message.tool_calls ?? [];
      if (made) return { from: 'function_call', value: JSON.stringify(made.function) };
      return { from: message.role === 'user' ? 'human' : 'gpt', value: String(message.content) };
    });
    const paths = [
      file('openai.jsonl', openAi()),
      file('objects.jsonl', openAi({ messages: conversation(false) })),
      file('sharegpt.jsonl', { conversations: turns, task: 'close', reward: 1 }),
      file('tau.jsonl', { task_id: 'close', trial: 0, reward: 1, traj: conversation(true) }),
      file('list.json', JSON.stringify([openAi()], null, 2)),
    ];
    const read = await Promise.all(paths.map((each) => readEpisodeLogs(each)));
    for (const { steps, episodes } of read) {
      expect(steps.map(({ call: made, isError }) => [made.name, made.arguments, isError])).toEqual([
        ['get_ticket', { id: 'T1' }, false],
        ['close_ticket', { id: 'T1' }, false],
        ['get_ticket', { id: 'T9' }, true],
      ]);
      expect(steps[2].history).toEqual(['get_ticket({"id":"T1"})', 'close_ticket({"id":"T1"})']);
      expect(steps.every((step) => step.source === 'real' && step.backend === 'real' && step.verified)).toBe(true);
      expect(steps.every((step) => step.stateHash === undefined && step.operations === undefined)).toBe(true);
      expect(episodes).toHaveLength(1);
      expect(episodes[0]).toMatchObject({ task: 'close', return: 1, row: -1, source: 'real' });
      expect(episodes[0].messages).toHaveLength(8);
      const ids = episodes[0].messages.flatMap((each) => (each.role === 'assistant' ? (each.toolCalls ?? []) : []));
      expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
    }
  });

  it('of agents are read too: Anthropic, Claude Code, and ATIF and ADP as they are exported', async () => {
    const content = [
      { type: 'thinking', thinking: 'First look.' },
      { type: 'text', text: 'One moment.' },
      { type: 'tool_use', id: 't1', name: 'get_ticket', input: { id: 'T1' } },
      { type: 'tool_use', id: 't2', name: 'get_ticket', input: { id: 'T9' } },
    ];
    const answers = [
      { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: '{"id":"T1","status":"open"}' }] },
      { type: 'tool_result', tool_use_id: 't2', content: 'none', is_error: true },
    ];
    const messages = [
      { role: 'user', content: 'Is T1 open?' },
      { role: 'assistant', content },
      { role: 'user', content: answers },
      { role: 'assistant', content: [{ type: 'text', text: 'It is.' }] },
    ];
    const line = (message: object, more = {}) => ({
      type: (message as { role: string }).role,
      sessionId: 's',
      message,
      ...more,
    });
    const session = [
      { type: 'summary', sessionId: 's' },
      line(messages[0]),
      line({ ...messages[1], id: 'm', content: content.slice(0, 2) }),
      line({ ...messages[1], id: 'm', content: content.slice(2) }),
      line({ role: 'user', content: 'to an agent of its own' }, { isSidechain: true }),
      ...messages.slice(2).map((message) => line(message)),
    ];
    const files = [file('anthropic.jsonl', { messages, task: 'close' }), file('session.jsonl', ...session)];
    const [first, second] = await Promise.all(
      files.map(async (path) => (await readEpisodeLogs(path, { domain })).episodes),
    );
    expect(second).toHaveLength(1);
    expect(second[0].messages).toEqual(first[0].messages);
    const roles = ['system', 'user', 'assistant', 'tool', 'tool', 'assistant'];
    expect(first[0].messages.map(({ role }) => role)).toEqual(roles);
    expect(first[0].messages[2]).toMatchObject({ reasoning: 'First look.', content: 'One moment.' });
    expect(first[0].messages[4]).toMatchObject({ content: 'none', isError: true });
    for (const format of ['atif', 'adp']) {
      const data = 'data/validation-00000-of-00001.jsonl';
      const card = { name: 'own', license: 'mit' };
      await exportEpisodes(first, { format, folder: join(folder, format), domain, card });
      const { episodes: read } = await readEpisodeLogs(join(folder, format, data), { domain });
      const spoken = (list: readonly EpisodeRecord[]) => callsAndAnswers(list[0]);
      expect(spoken(read)).toEqual(spoken(first));
      expect(read[0]).toMatchObject({ source: 'real', task: 'close' });
      const made = first.map((one) => ({ ...one, source: 'synthetic' as const, row: 3, responderVersion: 'world-1' }));
      await exportEpisodes(made, { format, folder: join(folder, `${format}-made`), domain, card });
      const own = join(folder, `${format}-made`, data);
      await expect(readEpisodeLogs(own, { domain })).rejects.toThrow('a simulator answered its calls');
      const { steps } = await readEpisodeLogs(own, { domain, simulated: true });
      expect(steps[0]).toMatchObject({ source: 'synthetic', row: 3, modelVersion: 'world-1' });
    }
  });

  it('are refused where a whole number would be rounded, and keep it as a text', async () => {
    const big = (id: string) =>
      `{"id":"a","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":${id}}}]}]}`;
    for (const given of ['{"id":9007199254740993}', '"{\\"id\\":9007199254740993}"'])
      await expect(readEpisodeLogs(file('big.jsonl', big(given)))).rejects.toThrow(
        /line 1: .*\/id is a whole number beyond 2\^53/,
      );
    const { episodes } = await readEpisodeLogs(file('text.jsonl', big('{"id":"9007199254740993","n":1e20}')));
    expect(episodes[0].messages[0]).toMatchObject({ toolCalls: [{ arguments: { id: '9007199254740993', n: 1e20 } }] });
  });

  it('keep parallel calls with their own answers, thoughts, and malformed arguments as they were written', async () => {
    const written = "{'id': 'T1',}";
    const parallel = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look at ' },
          { type: 'text', text: 'both.' },
        ],
      },
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'Two at once.',
        tool_calls: [call('a', 'get_ticket', written), call('b', 'get_ticket', { id: 'T2' })],
      },
      { role: 'tool', tool_call_id: 'b', content: 'second' },
      { role: 'tool', tool_call_id: 'a', content: 'first' },
      { role: 'assistant', content: 'Both are there.' },
    ];
    const { episodes, steps } = await readEpisodeLogs(file('parallel.jsonl', { messages: parallel }));
    expect(steps.map(({ observation }) => observation)).toEqual(['first', 'second']);
    expect(episodes[0].messages[0].content).toBe('Look at both.');
    expect(episodes[0].steps[0].action).toMatchObject({ reasoning: 'Two at once.' });
    expect(episodes[0].steps[0].action.toolCalls?.[0]).toMatchObject({
      arguments: { id: 'T1' },
      rawArguments: written,
    });
    expect(episodes[0].return).toBeNull();
  });
});

describe('states', () => {
  it('are known where the rules answer as was recorded', async () => {
    const { steps, episodes, replayed } = await readEpisodeLogs(file('states.jsonl', openAi()), { domain });
    const closed = applyOperations(initialState, steps[1].operations ?? []);
    expect(steps.map((step) => step.stateHash)).toEqual([
      stateHash(initialState),
      stateHash(initialState),
      stateHash(closed),
    ]);
    expect(steps[1].operations).toEqual([{ op: 'replace', path: '/tickets/T1/status', value: 'closed' }]);
    expect(replayed).toBe(3);
    expect(episodes[0]).toMatchObject({ family: 'closing', split: 'validation', scenario: 'desk', scenarioHash: 'v1' });
    expect(episodes[0].messages[0]).toEqual({ role: 'system', content: 'Be kind.' });
    const store = await ExperienceStore.open();
    await store.add(steps);
    const query = { call: { name: 'get_ticket', arguments: { id: 'T9' } }, history: [], sources: 'real' } as const;
    expect(store.exact({ ...query, stateHash: stateHash(closed) })?.observation).toBe('Error: no ticket T9');
    expect(store.exact({ ...query, stateHash: stateHash(initialState) })).toBeUndefined();
  });

  it('are not known of an answer that differs, nor of anything after a write that does', async () => {
    const odd = conversation(true);
    odd[2] = { role: 'tool', tool_call_id: 'c1', content: '{"id": "T1", "status": "pending"}' };
    const read = await readEpisodeLogs(file('odd-read.jsonl', openAi({ messages: odd })), { domain });
    expect(read.steps.map((step) => step.operations !== undefined)).toEqual([false, true, true]);
    odd[4] = { role: 'tool', tool_call_id: 'c1', content: 'closed and archived' };
    const write = await readEpisodeLogs(file('odd-write.jsonl', openAi({ messages: odd })), { domain });
    expect(write.steps.map((step) => step.stateHash)).toEqual([undefined, undefined, undefined]);
  });

  it('of simulated episodes are read off the episode', async () => {
    const { episodes } = await readEpisodeLogs(file('lived.jsonl', openAi()), { domain });
    const lived = episodeSteps({ ...episodes[0], source: 'synthetic', row: 4, verdict: { reward: 1, checks: [] } });
    expect(lived.map((step) => step.stateHash)).toEqual([
      undefined,
      ...episodes[0].steps.slice(0, 2).map((s) => s.stateHash),
    ]);
    expect(lived.every((step) => step.verified)).toBe(true);
    const judged = episodeSteps({
      ...episodes[0],
      source: 'synthetic',
      verdict: { reward: 1, checks: [], judge: 'j' },
    });
    expect(judged.some((step) => step.verified)).toBe(false);
  });
});

const without = (at: number) => conversation(true).filter((_, i) => i !== at);

describe('what cannot be read', () => {
  const bad: [string, unknown, string][] = [
    ['cut JSON', '{"messages": [', 'it is not JSON'],
    ['a role nobody has', openAi({ messages: [{ role: 'wizard', content: '' }] }), 'message 1: role'],
    [
      'an answer to no call',
      openAi({ messages: without(1) }),
      "message 2: a tool's answer (c1) belongs to no open call",
    ],
    ['a call without an answer', openAi({ messages: without(2) }), 'message 3: call c1 of "get_ticket" has no answer'],
    ['nobody acting', openAi({ messages: [{ role: 'user', content: 'hi' }] }), 'it has no turn of an assistant'],
    [
      'a turn of ShareGPT that is no call',
      { conversations: [{ from: 'function_call', value: 'get()' }] },
      'turn 1: its call is not JSON',
    ],
    [
      'depth',
      openAi({
        messages: [{ role: 'assistant', tool_calls: [call('a', 'b', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)] }],
      }),
      'nested deeper than 100',
    ],
  ];
  it.each(bad)('%s is one error that names file and line', async (_, record, problem) => {
    const where = file('bad.jsonl', openAi(), '', record);
    const failing = readEpisodeLogs(where);
    await expect(failing).rejects.toMatchObject({ code: 'LOG_INVALID' });
    await expect(failing).rejects.toThrow(`Log "${where}", line 3: `);
    await expect(failing).rejects.toThrow(problem);
  });

  it('is skipped and counted with its reason where that is asked for', async () => {
    const where = file('mixed.jsonl', openAi(), '{', openAi({ id: 'b' }), { id: 'x' });
    const { episodes, skipped } = await readEpisodeLogs(where, { tolerant: true });
    expect(episodes).toHaveLength(2);
    expect(skipped.map((each) => each.where)).toEqual(['line 2', 'line 4']);
    expect(skipped[1].problem).toContain('none of the keys');
  });

  it('says what the row of a run is, and takes the logs of a run that has some', async () => {
    const row = { responderVersion: 'router:1', messages: conversation(true), steps: [] };
    await expect(readEpisodeLogs(file('rows.jsonl', row))).rejects.toThrow(/line 1: it is the row of a run.*RUN\/logs/);
    const run = join(folder, 'run');
    mkdirSync(join(run, 'logs'), { recursive: true });
    writeFileSync(join(run, 'run.json'), '{}');
    writeFileSync(join(run, 'logs', 'episodes.jsonl'), JSON.stringify({ messages: conversation(true) }));
    expect((await readEpisodeLogs(run)).episodes).toHaveLength(1);
    rmSync(join(run, 'logs'), { recursive: true });
    await expect(readEpisodeLogs(run)).rejects.toThrow(expect.objectContaining({ code: 'LOG_INVALID' }));
  });

  it('reads one record of a .json file, a byte order mark and U+2028 in texts; what is no UTF-8 is refused, not altered', async () => {
    const said = { messages: [{ role: 'user', content: 'Zoë\u2028Müller' }, ...conversation(true).slice(1)] };
    const text = JSON.stringify(said);
    for (const path of [file('one.json', text), file('mark.jsonl', `\uFEFF${text}`, text), file('list.json', [said])]) {
      const { episodes } = await readEpisodeLogs(path);
      expect(episodes[0].messages[0].content, path).toBe('Zoë\u2028Müller');
    }
    for (const encoding of ['latin1', 'utf16le'] as const) {
      for (const name of [`${encoding}.jsonl`, `${encoding}.json`]) {
        writeFileSync(join(folder, name), Buffer.from(`\uFEFF${text}\n`, encoding));
        await expect(readEpisodeLogs(join(folder, name), { tolerant: true })).rejects.toThrow('is no UTF-8');
      }
    }
    await expect(readEpisodeLogs(file('nothing.json', 'null'))).rejects.toThrow('record 1: it is no object');
    mkdirSync(join(folder, 'around', 'folder.jsonl'), { recursive: true });
    await expect(readEpisodeLogs(join(folder, 'around'))).rejects.toThrow('folder.jsonl", the file: it cannot be read');
  });

  it('names files that are missing, and folders without logs', async () => {
    await expect(readEpisodeLogs(join(folder, 'nothing.jsonl'))).rejects.toThrow('cannot be read');
    mkdirSync(join(folder, 'empty'));
    await expect(readEpisodeLogs(join(folder, 'empty'))).rejects.toThrow('holds no .jsonl or .json file');
  });
});

it('files of a scenario are those it names, folders opened', () => {
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  for (const name of ['b.jsonl', 'a.json', 'c.txt']) writeFileSync(join(logs, name), '');
  expect(episodeLogFiles({ logs: ['logs', 'one.jsonl'] }, folder)).toEqual(
    ['logs/a.json', 'logs/b.jsonl', 'one.jsonl'].map((name) => join(folder, name)),
  );
});

describe('logs of the service desk', () => {
  const logs = fileURLToPath(new URL('../../../packs/helpdesk/logs', import.meta.url));
  it('are read whole', async () => {
    const { episodes, steps, skipped } = await readEpisodeLogs(logs);
    const lines = readFileSync(join(logs, 'seed.jsonl'), 'utf8').trim().split('\n');
    expect(episodes).toHaveLength(lines.length);
    expect(steps.length).toBeGreaterThan(episodes.length);
    expect(skipped).toEqual([]);
  });
});
