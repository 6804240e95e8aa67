// One episode of a tools environment as a value: every step makes a new one, so a step that fails leaves the old one as it
// was. And its snapshot: what cannot be had from domain and task.

import { z } from 'zod';
import type { Json, JsonObject } from '../../core/json.js';
import type { RngState } from '../../core/rng.js';
import { applyOperations } from '../state/operations.js';
import { stateHash } from '../state/state-hash.js';
import type { ToolsDomain, ToolsTask } from './domain.js';
import type { Message } from './message.js';
import type { Operation } from './prediction.js';
import { initialStateOf } from './task-states.js';

export interface Episode {
  readonly task: ToolsTask;
  readonly seed: number;
  readonly row?: number;
  readonly state: JsonObject;
  /** All that changed the task's initial state into this one. */
  readonly operations: readonly Operation[];
  /** The whole conversation; the first message is the domain's policy. */
  readonly messages: readonly Message[];
  /** Where in `messages` the last observation begins. */
  readonly observedFrom: number;
  /** Calls answered. */
  readonly calls: number;
  /** Actions taken. */
  readonly steps: number;
  /** What the user said, the opening included. */
  readonly turns: number;
  readonly running: boolean;
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

const count = z.int().min(0);

const savedEpisode = z.strictObject({
  /** Version of the domain. */
  domain: z.string(),
  task: z.string(),
  seed: z.int(),
  row: z.int().optional(),
  operations: z.array(z.looseObject({ op: z.string(), path: z.string() })),
  /** Without the policy, which the domain has. */
  messages: z.array(message),
  observedFrom: count,
  calls: count,
  steps: count,
  turns: count,
  running: z.boolean(),
  /** Of the state that the operations must lead to. */
  stateHash: z.string(),
  /** The environment's own stream, from which seeds of episodes come. */
  rng: z.strictObject({ key: z.tuple([z.number(), z.number()]), position: z.number() }),
});

export type SavedEpisode = z.output<typeof savedEpisode>;

/** The episode as plain JSON; of a size with the conversation, not with the state. */
export function saveEpisode(domain: ToolsDomain, episode: Episode, rng: RngState): SavedEpisode {
  const { task, seed, row, operations, messages, observedFrom, calls, steps, turns, running } = episode;
  return structuredClone({
    domain: domain.version,
    task: task.id,
    seed,
    ...(row === undefined ? {} : { row }),
    operations: operations as readonly { op: string; path: string }[] as SavedEpisode['operations'],
    messages: messages.slice(1) as readonly unknown[] as SavedEpisode['messages'],
    observedFrom,
    calls,
    steps,
    turns,
    running,
    stateHash: stateHash(episode.state),
    rng: { key: [...rng.key] as [number, number], position: rng.position },
  });
}

/** The version of the domain a saved episode belongs to, where it is one at all. */
export function domainOfSaved(saved: unknown): Json | undefined {
  return (saved as { domain?: Json } | null | undefined)?.domain;
}

/**
 * The episode again, and the stream.
 * @throws where it is damaged: not of this form, operations that do not apply or lead elsewhere, a task unknown
 */
export function loadEpisode(
  domain: ToolsDomain,
  saved: unknown,
  taskOf: (id: string) => ToolsTask,
): { episode: Episode; rng: RngState } {
  const { task: id, messages, operations, rng, stateHash: hash, domain: _, ...rest } = savedEpisode.parse(saved);
  const task = taskOf(id);
  const changes = structuredClone(operations) as unknown as readonly Operation[];
  const state = applyOperations(initialStateOf(domain, task), changes);
  if (stateHash(state) !== hash) throw new RangeError('its operations lead to another state');
  const conversation = [policyMessage(domain), ...(structuredClone(messages) as readonly unknown[] as Message[])];
  return { episode: { ...rest, task, state, operations: changes, messages: conversation }, rng };
}

export function policyMessage(domain: ToolsDomain): Message {
  return { role: 'system', content: domain.policy };
}
