// A prompt within a limit: what is kept, what is left out, and that nothing depends on anything but the query.

import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json.js';
import { applyOperations, type CallQuery, type Message, type ToolsDomain } from '../../../src/env/index.js';
import type { ChatMessage, ChatRequest } from '../../../src/llm/index.js';
import type { ExperienceIndex, ExperienceStep } from '../../../src/replay/index.js';
import { makeRouter, parseToolsModelConfig } from '../../../src/worldmodel/index.js';
import { shortPolicy } from '../../../src/worldmodel/llm/short-prompt.js';
import { schemaForms } from '../../../src/worldmodel/llm/short-schema.js';
import { LlmStepModel, type PromptOptions, stepMessages } from '../../../src/worldmodel/llm/step-model.js';

import { questionsOf } from '../../controlled/asking.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { deskDomain, deskQuery } from './desk.js';
import { prediction, ScriptedModel, sectionsOf, truthful } from './scripted-model.js';

const { llm: DEFAULTS } = parseToolsModelConfig({ kind: 'tools' });
const MODES = ['typed', 'text'] as const;

function messagesFor(query: CallQuery, options: Partial<PromptOptions>, ...more: unknown[]): ChatMessage[] {
  const [index, refused] = more as [ExperienceIndex | undefined, never];
  return stepMessages(query, { ...DEFAULTS, ...options }, index, refused);
}

function tokensOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + Buffer.byteLength(content ?? ''), 0) / 4;
}

const partsOf = (messages: ChatMessage[]) => sectionsOf({ messages } as ChatRequest) as Record<string, JsonObject>;

describe('the service desk', () => {
  let queries: CallQuery[];
  beforeAll(async () => {
    const domain: ToolsDomain = await nativeDomain('helpdesk');
    const questions = questionsOf(domain).filter((_, i) => i % 5 === 0);
    queries = questions.map(({ task, state, messages }, seed) => {
      const last = messages.at(-1) as Extract<Message, { role: 'assistant' }>;
      return { domain, task, state, messages, call: last.toolCalls!.at(-1)!, step: 0, seed };
    });
  });

  it.each(MODES)('is never told more than the limit, a refused answer included (%s)', (mode) => {
    const refused = { previous: { observation: '<|x|>"\\'.repeat(2_000) }, problems: ['p'.repeat(5_000)] };
    for (const promptTokens of [1_500, 2_500])
      for (const query of queries) {
        const first = messagesFor(query, { mode, promptTokens });
        const second = messagesFor(query, { mode, promptTokens }, undefined, refused);
        expect(tokensOf(second)).toBeLessThanOrEqual(promptTokens);
        // Servers have the first try's text in their prefix caches.
        expect(second[0]).toEqual(first[0]);
        const [asked] = first[1].content!.split('\n\nAnswer the call.');
        expect(second[1].content!.startsWith(`${asked}\n\n## Refused\n`)).toBe(true);
      }
  });

  it('is told what the call names, and its tool, the same every time', () => {
    for (const query of queries) {
      const messages = messagesFor(query, { promptTokens: 2_500 });
      const { state, call, messages: said } = query;
      const copy = { ...query, ...structuredClone({ state, call, messages: said }) };
      expect(messagesFor(copy, { promptTokens: 2_500 })).toEqual(messages);
      const { State } = partsOf(messages);
      for (const path of namedIn(query)) expect(State.state).toHaveProperty(path);
      const tool = query.domain.tools.find(({ name }) => name === query.call.name);
      expect(messages[0].content).toContain(`## Tools\n${JSON.stringify(tool)}`);
    }
  });

  it('is told how much else there is', () => {
    for (const query of queries) {
      const messages = messagesFor(query, { promptTokens: 1_500 });
      const { State, References, History, Omitted } = partsOf(messages) as Record<string, Json[] & JsonObject>;
      const shown = messages[0].content!.split('\n## Tools\n')[1].split('\n\n')[0].split('\n');
      expect(Omitted.tools).toBe(query.domain.tools.length - shown.length);
      expect(Omitted.linesOfPolicy).toBeGreaterThan(0);
      const whole = partsOf(messagesFor(query, {})).History as unknown as Json[];
      expect(History.length + ((Omitted.messages as number) ?? 0)).toBe(whole.length);
      expect(References).toEqual([]);
      const { tickets } = query.state as Record<string, JsonObject>;
      expect(State).toMatchObject({
        complete: false,
        collections: { '/tickets': { size: Object.keys(tickets).length } },
      });
    }
  });

  /** Paths of entities that are called as an argument says. */
  function namedIn({ state, call }: CallQuery): string[][] {
    const words = Object.values(call.arguments).filter((value) => typeof value === 'string');
    const collections = Object.entries(state as Record<string, JsonObject>);
    return collections.flatMap(([collection, entries]) =>
      words.filter((word) => Object.hasOwn(entries, word)).map((word) => [collection, word]),
    );
  }
});

describe('without a limit', () => {
  const query = deskQuery('close_ticket', { ticket_id: 'T1001' });
  const sha256 = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);

  it('prompts are the bytes that recorded replies are found by', () => {
    expect(sha256(messagesFor(query, {}))).toBe('b796de3cb5cc');
    expect(sha256(messagesFor(query, { mode: 'text' }))).toBe('15002df8cfb3');
    const refused = { previous: { a: 1 }, problems: ['b'] };
    expect(sha256(messagesFor(query, {}, undefined, refused))).toBe('332bd372ddd0');
    expect(messagesFor(query, { promptTokens: 100_000 })).toEqual(messagesFor(query, {}));
  });

  it('models have the versions they had before there was one', () => {
    const model = new ScriptedModel(truthful);
    const versionOf = (promptTokens: number | null) => new LlmStepModel(model, { ...DEFAULTS, promptTokens }).version;
    expect(versionOf(null)).toBe('llm:scripted:683c8fdeaf9d');
    expect(versionOf(2_000)).not.toBe(versionOf(3_000));
  });
});

describe('a limit that is too low', () => {
  it('is an error that says what is needed', () => {
    const query = deskQuery('close_ticket', { ticket_id: 'T1001' });
    const needed = (promptTokens: number): number => {
      try {
        messagesFor(query, { promptTokens });
      } catch (error) {
        const { code, values } = error as { code: string; values: { needed: number } };
        expect(code).toBe('LLM_PROMPT_TOO_LONG');
        return values.needed;
      }
      return 0;
    };
    const least = needed(100);
    expect(least).toBeGreaterThan(500);
    expect(needed(least + 1)).toBe(0);
  });

  it('refuses a call that is too long itself', async () => {
    const query = deskQuery('open_ticket', { customer_id: 'C101', subject: 'x'.repeat(50_000) });
    const model = new ScriptedModel(truthful);
    const config = parseToolsModelConfig({ kind: 'tools', backends: ['llm'], llm: { promptTokens: 2_000 } });
    const answer = await (await makeRouter(config, { domain: query.domain, model })).answer(query);
    expect(answer).toMatchObject({ isError: true, confidence: 0, operations: [] });
    expect(answer.refused?.join()).toContain('promptTokens');
    expect(model.requests).toEqual([]);
  });
});

describe('a large state', () => {
  const domain = deskDomain({ tickets: 3_000 });
  const query = deskQuery('close_ticket', { ticket_id: 'T2500' }, { domain });

  it('is changed by the paths of the part that is shown', async () => {
    const model = new ScriptedModel(truthful);
    const config = parseToolsModelConfig({ kind: 'tools', backends: ['llm'], llm: { promptTokens: 1_500 } });
    const answer = await (await makeRouter(config, { domain, model })).answer(query);
    expect(tokensOf(model.requests[0].messages)).toBeLessThanOrEqual(1_500);
    const after = applyOperations(query.state, answer.operations) as { tickets: Record<string, JsonObject> };
    expect(Object.keys(after.tickets)).toHaveLength(3_000);
    expect(after.tickets.T2500.status).toBe('closed');
    expect(after.tickets.T2501).toBe((query.state as typeof after).tickets.T2501);
  });

  it('names what a call speaks of and is too large to be shown', () => {
    const tickets = { ...(query.state.tickets as JsonObject), T2500: { subject: 'x'.repeat(9_000) } };
    const { State } = partsOf(messagesFor({ ...query, state: { ...query.state, tickets } }, { promptTokens: 1_500 }));
    expect(State).toMatchObject({ collections: { '/tickets': { size: 3_000, hidden: ['T2500'] } } });
  });
});

describe('references', () => {
  const lived = (observation: string) => ({ call: { name: 'get_ticket', arguments: {} }, observation, isError: false });

  it('are the nearest that fit', () => {
    const found = ['x'.repeat(1_500), 'near', 'far', ...Array.from({ length: 50 }, (_, i) => `${i} farther`)];
    const retrieve = () => found.map((text) => ({ step: lived(text) as unknown as ExperienceStep, score: 1 }));
    const index: ExperienceIndex = { size: found.length, retrieve, exact: () => undefined };
    const query = deskQuery('close_ticket', { ticket_id: 'T1001' });
    const { References, Omitted } = partsOf(messagesFor(query, { promptTokens: 1_300 }, index));
    const shown = (References as unknown as JsonObject[]).map(({ observation }) => observation);
    expect(shown.slice(0, 2)).toEqual(['near', 'far']);
    expect(shown.length).toBeLessThan(20);
    expect(Omitted.references).toBe(found.length - shown.length);
  });
});

describe('a policy', () => {
  const lines = ['# Desk', 'Greet every customer.', 'Close tickets when they are solved.', 'Greet customers warmly.'];
  const call = { name: 'close_ticket', arguments: { ticket_id: 'T1' } };

  it('keeps the lines that speak of the call, in their order', () => {
    const { text, omitted } = shortPolicy(lines.join('\n\n'), call, undefined, 60);
    expect(text).toBe('# Desk\nClose tickets when they are solved.');
    expect(omitted).toBe(2);
    expect(shortPolicy(lines.join('\n'), call, undefined, 0)).toEqual({ text: '', omitted: 4 });
  });
});

describe('a schema', () => {
  const defs = { a: { $ref: '#/$defs/b' }, b: { type: 'string', pattern: 'x' }, c: { type: 'number' } };
  const properties = { shown: { $ref: '#/$defs/a' }, hidden: { $ref: '#/$defs/c' } };
  const schema = { title: 't', type: 'object', properties, required: ['shown'], $defs: defs };

  it('keeps the parts that are shown, with what they point to; then without details', () => {
    const [whole, bare] = schemaForms(schema, new Set(['shown']));
    expect(whole).toEqual({ type: 'object', properties: { shown: properties.shown }, $defs: { a: defs.a, b: defs.b } });
    expect(bare).toEqual({ ...whole, $defs: { a: defs.a, b: { type: 'string' } } });
  });
});

it('an answer from a short prompt is checked as any', async () => {
  const made = () =>
    prediction({ observation: 'ok', operations: [{ op: 'remove', path: '/tickets/T9', value: 'null' }] });
  const model = new ScriptedModel(made);
  const domain = deskDomain({ tickets: 3_000 });
  const config = parseToolsModelConfig({ kind: 'tools', backends: ['llm'], llm: { promptTokens: 1_500 } });
  const query = deskQuery('close_ticket', { ticket_id: 'T2500' }, { domain });
  expect(await (await makeRouter(config, { domain, model })).answer(query)).toMatchObject({
    isError: true,
    operations: [],
  });
  expect(model.requests.map(({ messages }) => tokensOf(messages) <= 1_500)).toEqual([true, true]);
});
