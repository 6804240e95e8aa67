// Where a row of a structured world stands, as a value: the typed state, and the conversation that led to it. Every step makes a
// new one, so one that fails leaves the old as it was, and a fork shares all that lies before it. And how it is put away: what
// cannot be had from domain and task.

import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../state/operations.js';
import { stateHash } from '../state/state-hash.js';
import type { ToolsDomain, ToolsTask } from './domain.js';
import type { Message } from './message.js';
import type { Operation } from './prediction.js';
import { initialStateOf } from './task-states.js';

export interface Situation {
  readonly task: ToolsTask;
  /** Of what its models draw, together with `calls`. */
  readonly seed: number;
  /** Row of a job it belongs to: what experience it may see depends on it. */
  readonly row?: number;
  readonly state: JsonObject;
  /** All that changed the state it began with into this one. */
  readonly operations: readonly Operation[];
  /** The whole conversation; the first message is the domain's policy. */
  readonly messages: readonly Message[];
  /** Calls answered. */
  readonly calls: number;
  /** A call ended it: those after it are refused. */
  readonly ended: boolean;
}

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: z.string() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    reasoning: z.string().optional(),
    toolCalls: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string(),
          arguments: z.record(z.string(), z.json()),
          rawArguments: z.string().optional(),
        }),
      )
      .optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    toolCallId: z.string(),
    name: z.string(),
    content: z.string(),
    isError: z.boolean().optional(),
  }),
]);

/** What is kept of a situation wherever it is kept. Operations are tried when it is loaded. */
export const savedSituation = {
  seed: z.int(),
  row: z.int().optional(),
  operations: z.array(z.looseObject({ op: z.string(), path: z.string() })),
  /** Without the policy, which the domain has. */
  messages: z.array(message),
  calls: z.int().min(0),
  /** Of the state that the operations must lead to. */
  stateHash: z.string(),
};

const saved = z.object(savedSituation);
export type SavedSituation = z.output<typeof saved>;

/** Plain JSON, of a size with the conversation and not with the state. Shares its parts with the situation. */
export function saveSituation({ seed, row, operations, messages, calls, state }: Situation): SavedSituation {
  return {
    seed,
    ...(row === undefined ? {} : { row }),
    operations: operations as readonly { op: string; path: string }[] as SavedSituation['operations'],
    messages: messages.slice(1) as readonly unknown[] as SavedSituation['messages'],
    calls,
    stateHash: stateHash(state),
  };
}

/**
 * The situation again.
 * @throws where it is damaged: operations that do not apply, or lead elsewhere
 */
export function loadSituation(
  domain: ToolsDomain,
  task: ToolsTask,
  { seed, row, calls, stateHash: hash, ...parts }: SavedSituation,
): Omit<Situation, 'ended'> {
  const operations = structuredClone(parts.operations) as unknown as readonly Operation[];
  const state = applyOperations(initialStateOf(domain, task), operations);
  if (stateHash(state) !== hash) throw new RangeError('its operations lead to another state');
  const conversation = structuredClone(parts.messages) as readonly unknown[] as Message[];
  return {
    task,
    seed,
    ...(row === undefined ? {} : { row }),
    state,
    operations,
    messages: [policyMessage(domain), ...conversation],
    calls,
  };
}

export function policyMessage(domain: ToolsDomain): Message {
  return { role: 'system', content: domain.policy };
}
