// Offline batches: what the cache lacks becomes files that batch services take, and their results become replies.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type BatchLine, readBatchResults, writeBatchFiles } from '../../src/llm/index.js';
import { modelOf, POINT_SCHEMA, question, serve, temporaryFolder } from './helpers.js';

async function offline() {
  const folder = await temporaryFolder();
  const lines: BatchLine[] = [];
  const cacheFolder = join(folder, 'cache');
  const options = { cacheFolder, onMiss: (line: BatchLine) => void lines.push(line) };
  const model = await modelOf(await serve('never asked'), { cache: { mode: 'replay' } }, options);
  return { folder, lines, model, cacheFolder };
}

const completion = (content: string) => ({
  choices: [{ message: { content }, finish_reason: 'stop' }],
  model: 'batched',
});

describe('a batch', () => {
  it('is a file of what the cache lacks, each once, in OpenAI’s form', async () => {
    const { folder, lines, model } = await offline();
    const requests = [question('b', { seed: 1, schema: POINT_SCHEMA }), question('a'), question('a')];
    for (const request of requests) await model.chat(request).catch(() => undefined);
    const files = await writeBatchFiles(join(folder, 'wave-1.jsonl'), lines);
    expect(files).toEqual([join(folder, 'wave-1.jsonl')]);
    const written = (await readFile(files[0], 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(written).toHaveLength(2);
    const line = written.find(({ body }) => body.seed === 1);
    expect(line).toMatchObject({
      custom_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      method: 'POST',
      url: '/v1/chat/completions',
      body: {
        model: 'test-model',
        messages: [{ role: 'user', content: 'b' }],
        response_format: { type: 'json_schema' },
        stream: false,
      },
    });
    const again = await writeBatchFiles(join(folder, 'again.jsonl'), [...lines].reverse());
    expect(await readFile(again[0], 'utf8')).toBe(await readFile(files[0], 'utf8'));
  });

  it('is split where services take no more', async () => {
    const { folder } = await offline();
    const lines = Array.from({ length: 50_001 }, (_, i) => ({ id: String(i).padStart(64, '0'), text: '{}' }));
    const files = await writeBatchFiles(join(folder, 'wave.jsonl'), lines);
    expect(files).toEqual([join(folder, 'wave.jsonl'), join(folder, 'wave-2.jsonl')]);
    expect(await readFile(files[1], 'utf8')).toBe('{}\n');
    expect(await writeBatchFiles(join(folder, 'none.jsonl'), [])).toEqual([]);
  });

  it('answers the calls that were missing, checked as live replies are', async () => {
    const { folder, lines, model, cacheFolder } = await offline();
    const [good, bad, failed] = [1, 2, 3].map((seed) => question('?', { seed, schema: POINT_SCHEMA }));
    for (const request of [good, bad, failed]) await model.chat(request).catch(() => undefined);
    const bodies = [completion('{"x": 4}'), completion('none'), undefined];
    const results = lines.map(({ id }, i) => ({
      custom_id: id,
      response: { status_code: bodies[i] ? 200 : 500, body: bodies[i] },
    }));
    const path = join(folder, 'results.jsonl');
    await writeFile(path, `${results.map((result) => JSON.stringify(result)).join('\n')}\n\n`);
    expect(await readBatchResults(path, cacheFolder)).toEqual({ imported: 2, failed: 1 });
    for (let i = 0; i < 2; i++) {
      expect(await model.chat(good)).toMatchObject({
        json: { x: 4 },
        model: 'batched',
        cached: true,
        usageEstimated: true,
      });
      await expect(model.chat(bad)).rejects.toMatchObject({ code: 'LLM_REPLY_INVALID', values: { retryable: true } });
    }
    await expect(model.chat(failed)).rejects.toMatchObject({ code: 'LLM_REPLAY_MISS' });
  });

  it.each([
    ['no JSON', 'nonsense'],
    ['another’s', '{"custom_id": "request-1", "response": {}}'],
  ])('result that is %s is refused by its line', async (_, text) => {
    const { folder, cacheFolder } = await offline();
    const path = join(folder, 'results.jsonl');
    await writeFile(path, `\n${text}\n`);
    await expect(readBatchResults(path, cacheFolder)).rejects.toMatchObject({
      code: 'BATCH_RESULTS_INVALID',
      values: { line: 2 },
    });
  });
});
