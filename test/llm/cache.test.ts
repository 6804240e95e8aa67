// Replies kept by what was asked: found again, asked once, and never wrong, whatever happens to the files.

import { createHash } from 'node:crypto';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/core/canonical-json.js';
import { closeDatabase } from '../../src/core/lmdb-file.js';
import type { ChatRequest } from '../../src/llm/language-model.js';
import type { Answer } from '../llm-server/llm-server.js';
import { modelOf, POINT_SCHEMA, question, serve, temporaryFolder } from './helpers.js';

/** Answers something else each time, as a model does that is asked without a seed. */
function counting(): Answer {
  let count = 0;
  return () => ({ text: `answer ${count++}` });
}

const REPLAY = { cache: { mode: 'replay' } } as const;

/** The key of a request, by its definition. */
function keyOf(request: ChatRequest): string {
  const { messages, schema = null, seed = null, attempt = 0, tools = null, logprobs = false, stop = null } = request;
  const parameters = { parameters: {}, temperature: 0, topP: null, maxTokens: 4096 };
  const whole = { model: 'test-model', messages, schema, seed, attempt, tools, logprobs, stop, ...parameters };
  return createHash('sha256').update(canonicalJson(whole)).digest('hex');
}

async function rewrite(folder: string, key: string, change: (text: string) => string): Promise<void> {
  const database = open<string, string>({ path: folder, encoding: 'string', noSubdir: false });
  await database.put(key, change(database.get(key)!));
  await closeDatabase(database);
}

async function overwrite(path: string, at: number, byte: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] = byte;
  await writeFile(path, bytes);
}

describe('the cache', () => {
  it('answers again what was asked before, also after a restart', async () => {
    const cacheFolder = await temporaryFolder();
    const server = await serve(counting());
    const first = await modelOf(server, {}, { cacheFolder });
    const live = await first.chat(question('a'));
    expect(live.cached).toBe(false);
    expect(await first.chat(question('a'))).toEqual({ ...live, cached: true });
    await first.close();
    const second = await modelOf(server, {}, { cacheFolder });
    expect(await second.chat(question('a'))).toEqual({ ...live, cached: true });
    expect(server.requests).toHaveLength(1);
    expect(second.stats()).toMatchObject({ requests: 0, cacheHits: 1, spent: { calls: 0 } });
  });

  it('tells apart everything that can change an answer', async () => {
    const cacheFolder = await temporaryFolder();
    const server = await serve(counting());
    const model = await modelOf(server, {}, { cacheFolder });
    const tool = { name: 'f', description: '', parameters: { type: 'object' } };
    const requests: ChatRequest[] = [
      question('a'),
      question('b'),
      question('a', { seed: 1 }),
      question('a', { attempt: 1 }),
      question('a', { seed: 1, attempt: 1 }),
      question('a', { temperature: 1 }),
      question('a', { maxTokens: 5 }),
      question('a', { topP: 0.5 }),
      question('a', { stop: ['x'] }),
      question('a', { logprobs: true }),
      question('a', { tools: [tool] }),
      { messages: [{ role: 'system', content: 'a' }] },
    ];
    for (const request of requests) await model.chat(request);
    const other = await modelOf(server, { parameters: { top_k: 3 } }, { cacheFolder });
    await other.chat(question('a'));
    const another = await modelOf(server, { model: 'another' }, { cacheFolder });
    await another.chat(question('a'));
    expect(server.requests).toHaveLength(requests.length + 2);
    for (const request of requests) expect((await model.chat(request)).cached).toBe(true);
    const seeds = server.requests.map(({ body }) => body.seed);
    expect([seeds[2], seeds[3], seeds[4]]).toEqual([1, undefined, 1_000_004]);
  });

  it('has keys that are the SHA-256 of the request’s canonical JSON', async () => {
    const model = await modelOf(await serve('x'), REPLAY, { cacheFolder: await temporaryFolder() });
    const requests = [
      question('ä "quoted" 🎲', { seed: 3, attempt: 2, schema: POINT_SCHEMA, stop: ['\n'] }),
      question('', { tools: [{ name: 'f', description: 'd', parameters: { type: 'object', properties: {} } }] }),
    ];
    for (const request of requests) {
      await expect(model.chat(request)).rejects.toMatchObject({ values: { key: keyOf(request) } });
    }
  });

  it('asks once what is wanted many times at once', async () => {
    const server = await serve(counting());
    const model = await modelOf(server, {}, { cacheFolder: await temporaryFolder() });
    const replies = await Promise.all(Array.from({ length: 50 }, () => model.chat(question('a'))));
    expect(server.requests).toHaveLength(1);
    expect(replies.filter(({ cached }) => !cached)).toHaveLength(1);
    expect(model.stats()).toMatchObject({ cacheHits: 49, spent: { calls: 1 } });
  });

  it('repeats a run that met failures of the model, failures included', async () => {
    const cacheFolder = await temporaryFolder();
    const server = await serve(() => ({ text: server.requests.length % 2 === 1 ? 'no' : '{"x": 5}' }));
    const run = async (config: object) => {
      const model = await modelOf(server, { structured: 'json_schema', ...config }, { cacheFolder });
      const outcomes = [];
      for (let attempt = 0; attempt < 4; attempt++) {
        const reply = model.chat(question('a', { schema: POINT_SCHEMA, attempt }));
        outcomes.push(
          await reply.then(
            ({ json, usage }) => ({ json, usage }),
            ({ code, message, values }) => ({ code, message, values }),
          ),
        );
      }
      await model.close();
      return outcomes;
    };
    const recorded = await run({});
    expect(recorded.map((outcome) => 'json' in outcome)).toEqual([false, true, false, true]);
    expect(await run(REPLAY)).toEqual(recorded);
    expect(await run({})).toEqual(recorded);
    expect(server.requests).toHaveLength(4);
  });

  it('asks anew for what was too large once more may be read, but in a replay', async () => {
    const cacheFolder = await temporaryFolder();
    const server = await serve('x'.repeat(5000));
    const ask = async (config: object) =>
      (await modelOf(server, config, { cacheFolder })).chat(question('a')).then(({ text }) => text.length);
    for (let run = 0; run < 2; run++)
      await expect(ask({ maxReplyBytes: 1000 })).rejects.toMatchObject({ code: 'LLM_REPLY_TOO_LARGE' });
    expect(server.requests).toHaveLength(1);
    await expect(ask({ maxReplyBytes: 9000, ...REPLAY })).rejects.toMatchObject({ code: 'LLM_REPLY_TOO_LARGE' });
    expect(await ask({ maxReplyBytes: 9000 })).toBe(5000);
  });

  it('asks anew, and keeps that, in mode refresh', async () => {
    const cacheFolder = await temporaryFolder();
    const server = await serve(counting());
    await (await modelOf(server, {}, { cacheFolder })).chat(question('a'));
    const refreshing = await modelOf(server, { cache: { mode: 'refresh' } }, { cacheFolder });
    expect((await refreshing.chat(question('a'))).text).toBe('answer 1');
    const replaying = await modelOf(server, REPLAY, { cacheFolder });
    expect((await replaying.chat(question('a'))).text).toBe('answer 1');
  });

  it('needs no server, and no API key, to replay', async () => {
    const cacheFolder = await temporaryFolder();
    const server = await serve('x');
    await (await modelOf(server, {}, { cacheFolder })).chat(question('a'));
    await server.close();
    const config = { ...REPLAY, url: 'http://127.0.0.1:9/v1', apiKeyEnv: 'REVERIE_NO_SUCH_KEY' };
    const model = await modelOf(server, config, { cacheFolder });
    expect((await model.chat(question('a'))).text).toBe('x');
    await expect(model.chat(question('b'))).rejects.toMatchObject({
      code: 'LLM_REPLAY_MISS',
      values: { retryable: false },
    });
  });
});

describe('a damaged cache', () => {
  const damages: [string, (text: string) => string][] = [
    ['a changed digit', (text) => text.replace('"promptTokens":2', '"promptTokens":9')],
    ['a cut-off end', (text) => text.slice(0, -5)],
  ];

  it.each(damages)('is seen, and asked anew: %s', async (_, change) => {
    const cacheFolder = await temporaryFolder();
    const server = await serve('x');
    const first = await modelOf(server, {}, { cacheFolder });
    const live = await first.chat(question('a'));
    await first.close();
    await rewrite(cacheFolder, keyOf(question('a')), change);
    const replaying = await modelOf(server, REPLAY, { cacheFolder });
    await expect(replaying.chat(question('a'))).rejects.toMatchObject({ code: 'FILE_INVALID' });
    const second = await modelOf(server, {}, { cacheFolder });
    expect(await second.chat(question('a'))).toEqual(live);
    expect((await replaying.chat(question('a'))).cached).toBe(true);
  });

  it.each([
    ['cut off', async (path: string) => truncate(path, (await readFile(path)).length - 4096)],
    ['cut to almost nothing', (path: string) => truncate(path, 100)],
    ['overwritten', (path: string) => writeFile(path, 'x'.repeat(100_000))],
    ['of another version', (path: string) => overwrite(path, 28, 9)],
    ['without its second page', (path: string) => overwrite(path, 4096 + 24, 0)],
    ['of pages of no size', (path: string) => overwrite(path, 49, 0)],
  ])('is refused as a file: %s', async (_, damage) => {
    const cacheFolder = await temporaryFolder();
    const server = await serve('x');
    const model = await modelOf(server, {}, { cacheFolder });
    for (let i = 0; i < 50; i++) await model.chat(question(`${i}`));
    await model.close();
    await damage(join(cacheFolder, 'data.mdb'));
    await expect(modelOf(server, {}, { cacheFolder })).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });
});
