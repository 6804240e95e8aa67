// Where a row of a structured world stands, as a value: the typed state, and the conversation that led to it. Every step makes a
// new one, so one that fails leaves the old as it was, and a fork shares all that lies before it. And how it is put away: what
// cannot be had from domain and task.

import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import type { RngState } from '../../core/rng.js';
import { applyOperations } from '../state/operations.js';
import { remembered } from '../state/records.js';
import { stateHash } from '../state/state.js';
import type { ToolsDomain, ToolsTask } from './domain.js';
import type { Message } from './message.js';
import type { EpisodeFacts } from './outcome.js';
import type { Fault, Operation } from './prediction.js';

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
  readonly calls: number;
  /** Injected faults; absent if there were none. */
  readonly faults?: readonly Fault[];
  /** Confidence of answers that were not sure, by id of the call; absent if all were. */
  readonly doubts?: Readonly<Record<string, number>>;
  /** A call ended it: those after it are refused. */
  readonly ended: boolean;
}

/** Who says what is checked; all else of a message is as it was written. */
const message = z.custom<Message>((one) => {
  const { role, content } = (one ?? {}) as Record<string, unknown>;
  return ['user', 'assistant', 'tool'].includes(String(role)) && (content === null || typeof content === 'string');
});

export function policyMessage(domain: ToolsDomain): Message {
  return { role: 'system', content: domain.policy };
}

export interface Episode {
  readonly situation: Situation;
  /** Where in the conversation the last observation begins. */
  readonly observedFrom: number;
  readonly steps: number;
  /** What the user said, the opening included. */
  readonly turns: number;
  readonly running: boolean;
  /** Sum of what exact backends paid; null as long as none did. */
  readonly paid: number | null;
  readonly facts: EpisodeFacts;
}

const count = z.int().min(0);

/** Without the policy, which the domain has. */
const savedEpisode = z.strictObject({
  seed: z.int(),
  row: z.int().optional(),
  /** Tried when it is loaded. */
  operations: z.array(z.looseObject({ op: z.string(), path: z.string() })),
  messages: z.array(message),
  calls: z.int().min(0),
  faults: z.array(z.custom<Fault>((one) => typeof (one as Fault | null)?.call?.id === 'string')).optional(),
  doubts: z.record(z.string(), z.number()).optional(),
  /** Of the state that the operations must lead to. */
  stateHash: z.string(),
  /** Version of the domain. */
  domain: z.string(),
  task: z.string(),
  observedFrom: count,
  steps: count,
  turns: count,
  running: z.boolean(),
  paid: z.number().optional(),
  facts: z
    .strictObject({
      ...{ ranOut: z.string().optional(), refused: z.string().optional() },
      ...{ doubted: z.string().optional(), userFault: z.string().optional(), undecidable: z.string().optional() },
    })
    .default({}),
  /** The environment's own stream, from which seeds of episodes come. */
  rng: z.strictObject({ key: z.tuple([z.number(), z.number()]), position: z.number() }),
});

type SavedEpisode = z.output<typeof savedEpisode>;

/** The episode as plain JSON; of a size with the conversation, not with the state. */
export function saveEpisode(domain: ToolsDomain, episode: Episode, rng: RngState): SavedEpisode {
  const { situation, paid, ...place } = episode;
  const { task, seed, row, state, operations, messages, calls, faults, doubts } = situation;
  return structuredClone({
    ...place,
    domain: domain.version,
    task: task.id,
    seed,
    ...(row === undefined ? {} : { row }),
    operations: operations as readonly { op: string; path: string }[] as SavedEpisode['operations'],
    messages: messages.slice(1),
    calls,
    ...(faults && { faults: [...faults] }),
    ...(doubts && { doubts }),
    ...(paid === null ? {} : { paid }),
    stateHash: stateHash(state),
    rng: { key: [...rng.key] as [number, number], position: rng.position },
  });
}

/**
 * The episode again, and the stream; undefined where it is of another domain, or version.
 * @throws where it is damaged: not of this form, operations that do not apply or lead elsewhere, a task unknown
 */
export function loadEpisode(
  domain: ToolsDomain,
  saved: unknown,
  taskOf: (id: string) => ToolsTask,
): { episode: Episode; rng: RngState } | undefined {
  const { task: id, domain: version, paid = null, rng, ...kept } = savedEpisode.parse(saved);
  if (version !== domain.version) return undefined;
  const { stateHash: hash, operations: done, messages: said, ...rest } = structuredClone(kept);
  const { observedFrom, steps, turns, running, facts, ...ofRow } = rest;
  const task = taskOf(id);
  const operations = done as unknown as readonly Operation[];
  const state = applyOperations(initialStateOf(domain, task), operations);
  if (stateHash(state) !== hash) throw new RangeError('its operations lead to another state');
  const messages = [policyMessage(domain), ...said];
  const situation: Situation = { task, ...ofRow, state, operations, messages, ended: false };
  return { episode: { situation, observedFrom, steps, turns, running, facts, paid }, rng };
}

type PerTask = WeakMap<ToolsTask, JsonObject>;

const initial = new WeakMap<JsonObject, PerTask>();
const reference = new WeakMap<JsonObject, WeakMap<object, PerTask>>();

/**
 * The state the task begins with: the domain's, changed by the task's own operations. The same object every time.
 * @throws OPERATION_INVALID if these do not apply
 */
export function initialStateOf(domain: ToolsDomain, task: ToolsTask): JsonObject {
  if (!task.initialOperations?.length) return domain.initialState;
  const states = remembered(initial, domain.initialState, () => new WeakMap());
  return remembered(states, task, () => applyOperations(domain.initialState, task.initialOperations ?? []));
}

/** The state after the task's reference calls, by the domain's rules; undefined where these do not know all of them. */
export function referenceStateOf(domain: ToolsDomain, task: ToolsTask): JsonObject | undefined {
  const { rules } = domain;
  const calls = task.reference?.calls;
  if (rules === undefined || calls === undefined) return undefined;
  if (calls.some(({ name }) => !rules.tools.has(name))) return undefined;
  const ofRules = remembered(reference, domain.initialState, () => new WeakMap<object, PerTask>());
  const states = remembered(ofRules, rules, () => new WeakMap());
  return remembered(states, task, () =>
    calls.reduce(
      (state, call, i) => {
        const { operations } = rules.execute(state, { ...call, id: `reference-${i}` });
        return applyOperations(state, operations);
      },
      initialStateOf(domain, task),
    ),
  );
}
