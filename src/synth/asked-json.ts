// Asking a language model for JSON: how messages are shown to it, and its reply or what was wrong with it. Faults of the reply are no
// errors, as another try may do better.

import { z } from 'zod';
import type { Json, JsonObject } from '../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../core/cost.js';
import { ReverieError } from '../core/errors.js';
import type { Message } from '../env/tools/message.js';
import type { ChatMessage, LanguageModel } from '../llm/language-model.js';

interface AskRequest {
  readonly messages: readonly ChatMessage[];
  readonly schema: { readonly name: string; readonly schema: JsonObject };
  readonly seed: number;
  /** Number of the try at the same thing. */
  readonly attempt: number;
  readonly temperature?: number;
  readonly signal?: AbortSignal;
}

export interface Asked {
  readonly json?: Json;
  /** Why there is none. */
  readonly problem?: string;
  /** What was written in its place, as far as it is known. */
  readonly reply?: string;
  readonly cost: Cost;
}

/** @throws what the model's server throws, but for a reply that cannot be used, or a refusal to write one */
export async function askForJson(model: LanguageModel, { signal, ...request }: AskRequest): Promise<Asked> {
  try {
    const { json, usage } = await model.chat(request, { signal });
    return { json, cost: usage };
  } catch (error) {
    if (!(error instanceof ReverieError) || error.values.ofModel !== true) throw error;
    const { usage = NO_COST, reply } = error.values as { usage?: Cost; reply?: string };
    return { problem: error.message, cost: usage, ...(reply === undefined ? {} : { reply }) };
  }
}

export interface CheckedRequest<S extends z.ZodType>
  extends Pick<AskRequest, 'messages' | 'seed' | 'temperature' | 'signal'> {
  /** Of the schema, as the model is given it. */
  readonly name: string;
  readonly schema: S;
  /** What is wrong with a reply that fits the schema; empty where it stands. */
  readonly faults?: (value: z.output<S>) => readonly string[];
  /** Default 2. */
  readonly attempts?: number;
}

export type Checked<T> =
  | { readonly value: T; readonly cost: Cost }
  | { readonly problems: string[]; readonly cost: Cost };

/** Asks until a reply fits, each time told what was wrong before. @throws as `askForJson` */
export async function askChecked<S extends z.ZodType>(
  model: LanguageModel,
  { name, schema, faults = () => [], attempts = 2, messages, ...request }: CheckedRequest<S>,
): Promise<Checked<z.output<S>>> {
  const form = { name, schema: z.toJSONSchema(schema) as JsonObject };
  let cost: Cost = NO_COST;
  let problems: readonly string[] = [];
  for (let attempt = 0; attempt < attempts; attempt++) {
    const asked = await askForJson(model, {
      ...request,
      messages: withProblems(messages, problems),
      schema: form,
      attempt,
    });
    cost = addCosts(cost, asked.cost);
    const reply = schema.safeParse(asked.json);
    problems = reply.success ? faults(reply.data) : [asked.problem ?? z.prettifyError(reply.error)];
    if (reply.success && problems.length === 0) return { value: reply.data, cost };
  }
  return { problems: [...problems], cost };
}

/** The messages, with what was wrong with the last reply. */
export function withProblems(messages: readonly ChatMessage[], problems: readonly string[]): ChatMessage[] {
  if (problems.length === 0) return [...messages];
  const content = `Your last reply could not be used. Answer again, without these faults:\n${JSON.stringify(problems)}`;
  return [...messages, { role: 'user', content }];
}

/** A message of an episode, as data for a model: what was said and called, without the ids of calls. */
export function shownMessage(message: Message): JsonObject {
  const { role, content } = message;
  if (message.role === 'tool') return { role, name: message.name, content };
  if (message.role !== 'assistant' || !message.toolCalls) return { role, content };
  return { role, content, calls: message.toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })) };
}
