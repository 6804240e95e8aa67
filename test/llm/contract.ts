// What every language model promises, whoever answers: run against the test server, and against real models where there
// are any. Nothing here depends on how clever the model is.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Budget } from '../../src/llm/budget.js';
import type { LlmConfigInput } from '../../src/llm/config.js';
import type { ChatRequest } from '../../src/llm/language-model.js';
import { makeLanguageModel, type ServedModel } from '../../src/llm/served-model.js';
import { temporaryFolder } from '../temporary-folder.js';

export interface ContractOptions {
  readonly name: string;
  /** Starts whatever is needed; called once. */
  readonly config: () => Promise<LlmConfigInput>;
  /** Why it cannot be run here. */
  readonly skip?: string;
  /** Whether equal seeds promise equal texts without a cache. */
  readonly deterministic: boolean;
  readonly givesLogprobs: boolean;
}

const ANSWER_SCHEMA = {
  name: 'answer',
  schema: {
    type: 'object',
    properties: {
      colour: { type: 'string', enum: ['red', 'green', 'blue'] },
      count: { type: 'integer', enum: [1, 2, 3] },
      note: { type: 'string', enum: ['short', 'long'] },
    },
    required: ['colour', 'count'],
    additionalProperties: false,
  },
};

const QUESTION: ChatRequest = {
  messages: [
    { role: 'system', content: 'You answer briefly.' },
    {
      role: 'user',
      content: 'Name a colour and a count. Text in any script may follow: 漢字, emoji 🎲, "quotes", \u2028.',
    },
  ],
  seed: 7,
  maxTokens: 16,
};
/** With room for a whole answer of the schema. */
const SHAPED: ChatRequest = { ...QUESTION, schema: ANSWER_SCHEMA, maxTokens: 60 };

export function describeContract(options: ContractOptions): void {
  const { name, config, skip, deterministic, givesLogprobs } = options;
  describe.skipIf(skip !== undefined)(`${name}${skip === undefined ? '' : ` (${skip})`}`, () => {
    let input: LlmConfigInput;
    let folder: string;
    const models: ServedModel[] = [];
    const make = async (more: object = {}, options: Parameters<typeof makeLanguageModel>[1] = {}) => {
      const model = await makeLanguageModel({ ...input, ...more }, options);
      models.push(model);
      return model;
    };
    let plain: Promise<ServedModel> | undefined;
    /** One for all tests that ask for nothing else: a model in this process takes seconds to load. */
    const shared = () => {
      plain ??= make();
      return plain;
    };

    beforeAll(async () => {
      input = await config();
      folder = temporaryFolder('llm-contract');
    });
    afterAll(async () => {
      await Promise.all(models.map((model) => model.close()));
    });

    it('answers text, with what it cost', async () => {
      const model = await make({ prices: { prompt: 1, completion: 2 } });
      const reply = await model.chat(QUESTION);
      expect(reply).toMatchObject({ toolCalls: [], cached: false, usage: { calls: 1 } });
      expect(reply.text.length).toBeGreaterThan(0);
      expect(['stop', 'length']).toContain(reply.finishReason);
      const { promptTokens, completionTokens, money } = reply.usage;
      expect(promptTokens).toBeGreaterThan(5);
      expect(completionTokens).toBeGreaterThan(0);
      expect(money).toBeCloseTo((promptTokens + 2 * completionTokens) / 1e6, 12);
      expect(model.stats()).toMatchObject({ spent: { calls: 1, money } });
    });

    it('keeps to a schema', async () => {
      const model = await shared();
      const { json } = await model.chat({ ...SHAPED, seed: 1 });
      expect(['red', 'green', 'blue']).toContain((json as { colour: string }).colour);
      expect([1, 2, 3]).toContain((json as { count: number }).count);
    });

    it('says that a reply cut off is no JSON', async () => {
      const model = await shared();
      const cut = model.chat({ ...SHAPED, maxTokens: 2 });
      await expect(cut).rejects.toMatchObject({
        code: 'LLM_REPLY_INVALID',
        values: { retryable: true, usage: { calls: 1 } },
      });
    });

    const itIf = (promised: boolean) => (promised ? it : noTest);

    itIf(deterministic)('answers the same to the same seed', async () => {
      const model = await make({ temperature: 1 });
      const texts = [];
      for (let i = 0; i < 2; i++) texts.push((await model.chat(QUESTION)).text);
      expect(texts[1]).toBe(texts[0]);
    });

    itIf(givesLogprobs)('tells how sure it was', async () => {
      const { meanLogprob } = await (await shared()).chat({ ...QUESTION, logprobs: true });
      expect(meanLogprob).toBeLessThanOrEqual(0);
    });

    it('answers many at once, each its own', async () => {
      const model = await shared();
      const questions = [3, 4].map((seed) => ({ ...SHAPED, seed }));
      const replies = await Promise.all(questions.map((question) => model.chat(question)));
      expect(replies.every(({ json }) => typeof (json as { count: number }).count === 'number')).toBe(true);
    });

    it('repeats a recorded run without asking, to the byte', async () => {
      const cacheFolder = join(folder, 'cache');
      const requests = [QUESTION, SHAPED];
      const recording = await make({}, { cacheFolder });
      const recorded = [];
      for (const request of requests) recorded.push(await recording.chat(request));
      await recording.close();
      models.splice(models.indexOf(recording), 1);
      const replaying = await make({ cache: { mode: 'replay' } }, { cacheFolder });
      const replayed = await Promise.all(requests.map((request) => replaying.chat(request)));
      expect(replaying.version).toBe(recording.version);
      expect(replayed).toEqual(recorded.map((reply) => ({ ...reply, cached: true })));
      expect(replaying.stats()).toMatchObject({ requests: 0, cacheHits: 2, spent: { calls: 0 } });
      await expect(replaying.chat({ ...QUESTION, seed: 99 })).rejects.toMatchObject({ code: 'LLM_REPLAY_MISS' });
    });

    it('stops before a call that the budget does not cover', async () => {
      const budget = new Budget({ calls: 1 });
      const model = await make({}, { budget });
      await model.chat(QUESTION);
      await expect(model.chat(QUESTION)).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
      expect(budget.spent.calls).toBe(1);
    });

    it('ends at once when it is called off', async () => {
      const model = await shared();
      const controller = new AbortController();
      const reply = model.chat({ ...QUESTION, maxTokens: 400 }, { signal: controller.signal });
      controller.abort(new Error('enough'));
      await expect(reply).rejects.toMatchObject({ name: 'AbortError' });
      expect((await model.chat(QUESTION)).text.length).toBeGreaterThan(0);
    });
  });
}

/** What a model does not promise is no test that is left out. */
function noTest(): void {}
