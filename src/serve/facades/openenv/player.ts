// The messages of OpenEnv over one session: reset, step, state. A WebSocket has one, a request over HTTP makes one.

import { z } from 'zod';
import type { Servable } from '../../../run/index.js';
import type { Action, Owner, Sessions, Turn } from '../../core/session-contract.js';
import { envWire } from './env-wire.js';
import { checkedMessage } from './field-errors.js';
import type { ReplyLimits } from './reply-in-time.js';
import { readReset } from './reset-request.js';

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
    const { tools } = envWire(this.served);
    if (tools.length > 0 && isListing(data)) return this.listing(data, at);
    const action = envWire(this.served).decode(data, at);
    return this.reply(await this.act(action, options), action);
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

  private reply(turn: Turn, action?: Action): ObservationReply {
    const { reward, terminated, truncated } = turn;
    return { observation: envWire(this.served).observe(turn, action), reward, done: terminated || truncated };
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
