// Requests to a controlled model as the product's own prompts make them, and what is true of each: shared by its tests.

import type { JsonObject } from '../../src/core/canonical-json.js';
import { applyOperations } from '../../src/env/state/operations.js';
import { stateHash } from '../../src/env/state/state.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import type { Operation } from '../../src/env/tools/prediction.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import type { CallQuery } from '../../src/env/tools/tools-family.js';
import { stepMessages } from '../../src/worldmodel/llm/step-model.js';
import type { LlmServerRequestBody } from '../llm-server/llm-server.js';
import { asList, asText } from './asked.js';
import { openingOf } from './truth.js';

export interface Question {
  readonly task: ToolsTask;
  readonly call: CallSpec;
  readonly state: JsonObject;
  readonly messages: readonly Message[];
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
}

/** Every call of every reference solution, in the state it is made in, with the exact answer. */
export function questionsOf(domain: ToolsDomain): Question[] {
  return domain.tasks.flatMap((task) => {
    let state = initialStateOf(domain, task);
    let messages: Message[] = [{ role: 'user', content: openingOf(task.user) }];
    return (task.reference?.calls ?? []).map((call, i) => {
      const toolCall = { id: `call_${i}`, ...call };
      const { operations, observation, isError } = domain.rules!.execute(state, toolCall);
      const asked: Message[] = [...messages, { role: 'assistant', content: null, toolCalls: [toolCall] }];
      const question = { task, call, state, messages: asked, operations, observation, isError };
      state = applyOperations(state, operations);
      messages = [...asked, { role: 'tool', toolCallId: toolCall.id, name: call.name, content: observation, isError }];
      return question;
    });
  });
}

/** The step model's own prompt, as a body for the server. */
export function stepBody(
  domain: ToolsDomain,
  { task, state, messages }: Question,
  mode: 'typed' | 'text',
  seed: number,
  stateTokens = 3_000,
): LlmServerRequestBody {
  const call = messages.at(-1)!.role === 'assistant' ? messages.at(-1)! : undefined;
  const made = call?.role === 'assistant' ? call.toolCalls!.at(-1)! : undefined;
  const query = { domain, task, state, messages, call: made!, step: 0, seed } as CallQuery;
  const retrieval = { k: 0, sources: 'real', lag: 0, maxChars: 1_000, exceptOwnTask: true } as const;
  const prompt = stepMessages(query, { mode, retrieval, historyTokens: 20_000, stateTokens }, undefined);
  return bodyOf(mode === 'typed' ? 'prediction' : 'text_prediction', prompt as never, seed);
}

export function bodyOf(
  schemaName: string,
  messages: LlmServerRequestBody['messages'],
  seed: number,
  schema: unknown = { type: 'object' },
): LlmServerRequestBody {
  return {
    model: 'controlled',
    messages,
    seed,
    response_format: { type: 'json_schema', json_schema: { name: schemaName, schema } },
  };
}

/** What a reply to a question gets wrong. */
export function faultsOf(question: Question, reply: JsonObject): { state: boolean; observation: boolean } {
  const operations = asList(reply.operations).map(({ op, path, value }) =>
    op === 'remove' ? { op, path } : { op, path, value: JSON.parse(asText(value)) },
  );
  return {
    state: !leadsTo(question, operations as Operation[]),
    observation: reply.observation !== question.observation,
  };
}

const rightHashes = new WeakMap<Question, string>();

function leadsTo(question: Question, operations: readonly Operation[]): boolean {
  const { state, operations: right } = question;
  const hash = rightHashes.get(question) ?? stateHash(applyOperations(state, right));
  rightHashes.set(question, hash);
  try {
    return stateHash(applyOperations(state, operations)) === hash;
  } catch {
    return false;
  }
}

/** Whether `hits` of `n` is what a chance of `p` gives, but for one time in ten thousand (normal approximation). */
export function isLikely(hits: number, n: number, p: number): boolean {
  return Math.abs(hits - n * p) <= 3.9 * Math.sqrt(n * p * (1 - p)) + 1;
}
