// The messages of OpenEnv over one session: reset, step, state. A WebSocket has one, a request over HTTP makes one.

import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import { faceOf } from '../../../kinds/index.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Action, Owner, ResetRequest, Sessions, Turn } from '../../core/session-contract.js';
import { resetOf, splitNames } from '../../core/task-choice.js';
import { envWire } from './env-wire.js';
import { checkedMessage, fieldInvalid } from './json-rpc.js';

export interface PlayerOptions {
  readonly sessions: Sessions;
  readonly served: Servable;
  readonly id: string;
  readonly owner: Owner;
  readonly replies: ReplyLimits;
}

export interface ObservationReply {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

export interface StepOptions {
  readonly signal?: AbortSignal;
  readonly requestId?: string;
  readonly timeoutSeconds?: number;
}

export const stateSchema = z
  .object({
    episode_id: z.string().nullable().describe('null before the first reset'),
    step_count: z.int().min(0).describe('Steps taken in the episode'),
    session_id: z.string().describe('Its name in the native API'),
    env: z.string(),
    status: z.enum(['idle', 'running', 'done']),
    task: z.string().nullable().describe('Id of the task'),
    seed: z.int().nullable(),
    return: z.number().nullable().describe('Sum of rewards; null where one could not be told'),
  })
  .meta({ title: 'State' });

const listTools = z.strictObject({
  type: z.literal('list_tools'),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export class Player {
  constructor(private readonly options: PlayerOptions) {}

  get served(): Servable {
    return this.options.served;
  }

  get sessionId(): string {
    return this.options.id;
  }

  /** @throws MessageInvalid; as `Sessions.reset` */
  async reset(data: unknown, at: readonly string[], signal?: AbortSignal): Promise<ObservationReply> {
    const { sessions, id, owner, replies } = this.options;
    const request = readReset(this.served, data, at);
    return this.reply(await sessions.reset(id, { ...request, timeoutSeconds: replies.seconds }, owner, signal));
  }

  /** Steps, or lists the tools: that is no step and needs no episode. @throws MessageInvalid; as `Sessions.step` */
  async step(data: unknown, at: readonly string[], options: StepOptions = {}): Promise<ObservationReply> {
    if (isListing(data)) return this.listing(data, at);
    const action = envWire(this.served).decode(data, at);
    return this.reply(await this.act(action, options), action, data);
  }

  /** @throws as `Sessions.step` */
  act(action: Action, { signal, ...request }: StepOptions): Promise<Turn> {
    const { sessions, id, owner, replies } = this.options;
    const timeoutSeconds = Math.min(request.timeoutSeconds ?? Number.POSITIVE_INFINITY, replies.seconds);
    return sessions.step(id, { action, ...request, timeoutSeconds }, owner, signal);
  }

  state(): z.output<typeof stateSchema> {
    const { sessions, id, owner } = this.options;
    const { episodeId, stepCount, env, status, task, seed, return: sum } = sessions.state(id, owner);
    return { episode_id: episodeId, step_count: stepCount, session_id: id, env, status, task, seed, return: sum };
  }

  private reply(turn: Turn, action?: Action, data?: unknown): ObservationReply {
    const { reward, terminated, truncated } = turn;
    return { observation: envWire(this.served).observe(turn, action, data), reward, done: terminated || truncated };
  }

  private listing(data: unknown, at: readonly string[]): ObservationReply {
    checkedMessage(listTools, data, at);
    return { observation: { tools: toolCards(this.served) }, reward: null, done: this.state().status === 'done' };
  }
}

/** As in steps and ORS: keys in snake_case. */
export function toolCards(served: Servable) {
  return envWire(served).tools.map(({ name, description, parameters }) => {
    return { name, description, input_schema: parameters };
  });
}

export function isListing(data: unknown): boolean {
  return (data as { type?: unknown } | null | undefined)?.type === 'list_tools';
}

// A reply in time or none: a client of the reference gives up after 60 s and then takes a late reply for that of its next
// message, for ever. An operator's own deadline may be longer, as other protocols can wait.

export interface ReplyLimits {
  /** From the message to its reply, waiting for a slot included. */
  readonly seconds: number;
}

export const REPLY_LIMITS: ReplyLimits = { seconds: 55 };

// What may stand in a reset: the reference's seed and episode_id, and which task is begun.

const text = z.string().max(255);

/** A task by its id, or its whole card as the task routes tell it. */
const taskSchema = z.union([text, z.looseObject({ id: text })]);

export const resetSchema = z
  .looseObject({
    seed: z.int().min(0).nullish().describe('Seeds the episode: the same one, the same episode'),
    episode_id: text.nullish().describe("The caller's own name for the episode"),
    task: taskSchema.nullish().describe('A task by its id, or as the task routes tell it'),
    task_id: text.nullish().describe('The same by its id'),
    id: text.nullish().describe("The same, as a task's own keys may be given"),
    split: text.nullish().describe('train, validation or test'),
    index: z.int().min(0).nullish().describe('Place of the task within its split'),
    from_snapshot: text.nullish().describe('Goes on from a snapshot of the native API instead of starting a task'),
  })
  .describe('How an episode begins');

const KNOWN: ReadonlyMap<string, string> = new Map(
  Object.keys(resetSchema.shape).map((key) => [withoutPunctuation(key), key]),
);

/**
 * Keys that no episode knows are dropped, as by the reference; but one that is ours in other letters is refused, as an
 * episode of another task than was meant would go unseen.
 * @throws MessageInvalid, TASK_NOT_CHOSEN
 */
function readReset(served: Servable, data: unknown, at: readonly string[]): ResetRequest {
  const read = checkedMessage(resetSchema, data, at);
  for (const key of Object.keys(read)) {
    const meant = KNOWN.get(withoutPunctuation(key));
    if (meant !== undefined && meant !== key) throw fieldInvalid([...at, key], `It is called "${meant}"`, read[key]);
  }
  const { seed, episode_id: episodeId, task, task_id: taskId, id, split, index, from_snapshot: snapshot } = read;
  const named = (typeof task === 'object' ? task?.id : task) ?? taskId ?? id ?? undefined;
  const place = { split: split ?? undefined, index: index ?? undefined, from_snapshot: snapshot ?? undefined };
  const wanted = faceOf(served).tasks === 'seed' ? seedOf(served, seed, named) : { seed: seed ?? undefined, id: named };
  return { ...resetOf(served, { ...place, ...wanted }), episodeId: episodeId ?? undefined };
}

/** There a task is a seed, called `seed-N`. @throws TASK_NOT_CHOSEN */
function seedOf(served: Servable, seed: number | null | undefined, named: string | undefined) {
  if (seed !== null && seed !== undefined) return { seed };
  if (named === undefined) return {};
  const [, digits] = /^seed-(\d{1,15})$/.exec(named) ?? [];
  if (digits !== undefined) return { seed: Number(digits) };
  const splits = splitNames(served).join(', ');
  throw reverieError('TASK_NOT_CHOSEN', { index: `"${named}"`, split: 'any', env: served.name, splits });
}

/** `taskId`, `task-id` and `Task_ID` are one. */
function withoutPunctuation(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '');
}
