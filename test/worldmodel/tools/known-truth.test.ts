// Domains whose truth is known: what really happens is never refused, what is made up mostly is, and several samples are
// nearer to the truth than one. The service desk of this repository, and tau-bench where its data are at hand.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/canonical-json.js';
import { NO_COST } from '../../../src/core/cost.js';
import { wilson } from '../../../src/core/statistics.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import type { AssistantMessage, Message, ToolCall } from '../../../src/env/tools/message.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../../src/llm/language-model.js';
import { sliceState } from '../../../src/worldmodel/llm/prompt.js';
import { checkProposal, comparableObservation } from '../../../src/worldmodel/tools/checks.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { bodyOf, type Question, questionsOf } from '../../controlled/asking.js';
import { answerOf } from '../../controlled/controlled-model.js';
import type { ControlledOptions } from '../../controlled/controlled-options.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { Truth } from '../../controlled/truth.js';

describe('the service desk', () => {
  let domain: ToolsDomain;
  let truth: Truth;
  let questions: Question[];
  beforeAll(async () => {
    domain = await nativeDomain('helpdesk');
    truth = new Truth(domain);
    questions = questionsOf(domain).filter((_, i) => i % 2 === 0);
  });

  /** Errors against the rules, over every second call of all reference solutions. */
  async function measured(errors: Partial<ControlledOptions>, llm: object = {}) {
    const model = controlled(truth, { domain, seed: 1, ...errors });
    const config = parseToolsModelConfig({ kind: 'tools', backends: ['llm'], llm });
    const responder = await makeRouter(config, { domain, model });
    const real = rulesResponder(domain);
    let [refused, repaired, wrongStates, wrongTexts] = [0, 0, 0, 0];
    for (const [row, { task, state, messages }] of questions.entries()) {
      const call = (messages.at(-1) as AssistantMessage).toolCalls!.at(-1)!;
      const query = { domain, task, state, messages, call, step: 0, seed: row, row };
      const [answer, truly] = [await responder.answer(query), await real.answer(query)];
      const [after, trulyAfter] = [answer, truly].map(({ operations }) =>
        stateHash(applyOperations(state, operations)),
      );
      refused += answer.refused ? 1 : 0;
      repaired += answer.repaired ? 1 : 0;
      wrongStates += after === trulyAfter ? 0 : 1;
      wrongTexts += comparableObservation(answer.observation) === comparableObservation(truly.observation) ? 0 : 1;
    }
    const steps = questions.length;
    return { refused, repaired, steps, transition: wilson(wrongStates, steps), observation: wilson(wrongTexts, steps) };
  }

  it('is believed whenever it is right, shown in part', async () => {
    const { refused, repaired, transition, observation } = await measured({}, { stateTokens: 1_500 });
    expect({ refused, repaired }).toEqual({ refused: 0, repaired: 0 });
    expect([transition.value, observation.value]).toEqual([0, 0]);
  });

  it('is shown no more of the state than it is to be shown', () => {
    for (const { state, call } of questions) {
      const { complete, ...slice } = sliceState({ state, given: call.arguments, texts: [], tokens: 500 });
      expect(complete).toBe(false);
      // What a call names may take as much again; the rest is the frame: names and counts of collections.
      expect(JSON.stringify(slice).length / 4).toBeLessThan(1_500);
    }
  });

  it('is caught making up ids', async () => {
    const { refused, repaired } = await measured({ inventedEntities: 0.3 });
    // About 0.3 of 119 answers name an id that does not exist; errors of calls are left alone.
    expect(refused + repaired).toBeGreaterThan(25);
  });

  it('is nearer to the truth with several samples, and farther where it writes text alone', async () => {
    const errors = { transitionError: 0.2 };
    const one = await measured(errors);
    const five = await measured(errors, { consistency: 5, temperature: 1 });
    const text = await measured(errors, { mode: 'text' });
    expect(five.transition.high).toBeLessThan(one.transition.value!);
    expect(text.transition.low).toBeGreaterThan(one.transition.high);
  });
});

function controlled(truth: Truth, options: ControlledOptions): LanguageModel {
  return {
    version: 'controlled',
    close: async () => {},
    chat: async ({ messages, schema, seed }: ChatRequest): Promise<ChatReply> => {
      const body = bodyOf(schema!.name, messages as never, seed!, schema!.schema);
      const { text = '' } = answerOf(body, truth, options) as { text?: string };
      const reply = { text, json: JSON.parse(text) as Json, toolCalls: [], finishReason: 'stop' as const };
      return { ...reply, model: 'controlled', usage: { ...NO_COST, calls: 1 }, cached: false };
    },
  };
}

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const log = join(data, 'tau/airline/trajectories-gpt-4o.jsonl');

describe.skipIf(!existsSync(log))(`tau-bench airline (skipped without its data: ${log})`, () => {
  interface Recorded {
    readonly traj: readonly {
      readonly role: string;
      readonly content: string | null;
      readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[];
    }[];
  }

  it('is never refused what the rules do, and slices hold what is changed', async () => {
    const domain = await makeDomain({ id: 'tau-airline', data: join(data, 'tau/airline') });
    const episodes = readFileSync(log, 'utf8').trim().split('\n').slice(0, 8);
    const found = { calls: 0, changes: 0, covered: 0, problems: [] as string[] };
    for (const line of episodes) replay(domain, JSON.parse(line) as Recorded, found);
    expect(found.problems).toEqual([]);
    expect(found.calls).toBeGreaterThan(25);
    expect(found.changes).toBeGreaterThan(1);
    expect(found.covered).toBe(found.changes);
  });

  function replay(
    domain: ToolsDomain,
    { traj }: Recorded,
    found: { calls: number; changes: number; covered: number; problems: string[] },
  ): void {
    let state = domain.initialState;
    const messages: Message[] = [];
    for (const { role, content, tool_calls: calls } of traj.slice(1)) {
      const made = calls?.[0]?.function;
      if (role === 'user') messages.push({ role, content: content ?? '' });
      if (role !== 'assistant') continue;
      if (!made || !domain.rules!.tools.has(made.name)) {
        messages.push({ role, content });
        continue;
      }
      const call: ToolCall = { id: `c${found.calls++}`, name: made.name, arguments: JSON.parse(made.arguments) };
      const texts = messages.map((message) => JSON.stringify(message));
      messages.push({ role, content: null, toolCalls: [call] });
      const outcome = domain.rules!.execute(state, call);
      const proposal = { ...outcome, confidence: 1 };
      found.problems.push(...(checkProposal({ domain, state, call, messages, proposal }).problems ?? []));
      const slice = sliceState({ state, given: call.arguments, texts, tokens: 6_000 });
      if (outcome.operations.length > 0) {
        found.changes += 1;
        found.covered += outcome.operations.every(({ op, path }) => op === 'add' || holds(slice.state, path)) ? 1 : 0;
      }
      state = applyOperations(state, outcome.operations);
      messages.push({ role: 'tool', toolCallId: call.id, name: call.name, content: outcome.observation });
    }
  }

  function holds(state: Json, path: string): boolean {
    const [collection, key] = path.split('/').slice(1);
    return Object.hasOwn((state as Record<string, object>)[collection] ?? {}, key);
  }
});
