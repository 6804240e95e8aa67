// Language models for tests: a reply for each request, as a function of its sections.

import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import type { Cost } from '../../../src/core/cost.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../../src/llm/language-model.js';
import { sectionsOf as sectionsOfText } from '../../controlled/asked.js';
import { deskRules } from './desk.js';

export const CALL_COST: Cost = { calls: 1, promptTokens: 100, cachedTokens: 0, completionTokens: 10, money: 0.001 };

export type Script = (request: ChatRequest, sections: Record<string, Json>) => Json | Error;

/** Answers by `script`; keeps the requests it was sent. */
export class ScriptedModel implements LanguageModel {
  readonly version = 'scripted';
  readonly requests: ChatRequest[] = [];

  constructor(private readonly script: Script) {}

  async chat(request: ChatRequest): Promise<ChatReply> {
    this.requests.push(request);
    const json = this.script(request, sectionsOf(request));
    if (json instanceof Error) throw json;
    const reply = { text: JSON.stringify(json), json, toolCalls: [], finishReason: 'stop' as const };
    return { ...reply, model: 'scripted-1', usage: CALL_COST, cached: false };
  }

  async close(): Promise<void> {}
}

/** Sections of the user's message. */
export function sectionsOf({ messages }: ChatRequest): Record<string, Json> {
  return sectionsOfText(messages.at(-1)?.content ?? '');
}

/** A reply of schema `prediction`. */
export function prediction(reply: { observation: string } & JsonObject): JsonObject {
  return { reasoning: 'r', operations: [], reward: null, terminated: false, confidence: 0.9, ...reply };
}

/** What the true rules say of the call in the state shown. */
export const truthful: Script = (_request, { State, Changed = {}, Call }) => {
  const [was, is] = [State, Changed] as unknown as Record<string, JsonObject>[];
  const state = { customers: { ...was.customers, ...is.customers }, tickets: { ...was.tickets, ...is.tickets } };
  const { name, arguments: given } = Call as unknown as { name: string; arguments: JsonObject };
  const { operations, observation } = deskRules.execute(state, { id: 'x', name, arguments: given });
  const written = operations.map((operation) => ({
    op: operation.op,
    path: operation.path,
    value: 'value' in operation ? JSON.stringify(operation.value) : 'null',
  }));
  return prediction({ operations: written as Json, observation });
};
