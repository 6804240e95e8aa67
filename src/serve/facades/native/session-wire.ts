// A route of the native API: what is told of it and what it does.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Owner, SessionState, Sessions, SnapshotRef, Turn } from '../../core/session-contract.js';
import { encodeInfo, encodeObservation, publicInfo } from '../../core/values.js';
import type { RouteDescription } from '../../http/facade.js';
import type { VectorTable } from '../../vector/vector-table.js';

export interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly sessions: Sessions;
  readonly vectors: VectorTable;
  readonly owner: Owner;
  /** The path's `:id` or `:env`. */
  readonly id: string;
}

export interface NativeRoute extends RouteDescription {
  /** Answers what is sent; undefined: nothing is. */
  handle(asked: Asked): unknown;
}

// Turns, sessions and errors as the native API tells them.

export function wireTurn(
  served: Servable,
  { observation, reward, terminated, truncated, info, episodeId, stepCount }: Turn,
) {
  return {
    observation: encodeObservation(served, observation),
    reward,
    terminated,
    truncated,
    info: encodeInfo(publicInfo(info)),
    episode_id: episodeId,
    step_count: stepCount,
  };
}

export function wireSession(session: SessionState) {
  const { id, env, status, episodeId, task, seed, stepCount, return: sum, parent, openedAt, lastUsedAt } = session;
  return {
    id,
    env,
    status,
    episode_id: episodeId,
    task,
    seed,
    step_count: stepCount,
    return: sum,
    ...(parent === undefined ? {} : { parent }),
    opened_at: openedAt,
    last_used_at: lastUsedAt,
  };
}

export function wireSnapshot({ id, env, stepCount }: SnapshotRef) {
  return { id, env, step_count: stepCount };
}

/** An error as one result among others. */
export function wireError(error: unknown) {
  const { code, message, hint } = error instanceof ReverieError ? error : reverieError('SERVER_FAILED', {}, error);
  return { error: { code, message, hint } };
}

// What sessions take and answer over the native API.

const MAX_ID = 255;
const MAX_FORKS = 1024;

export const sessionId = z.string().min(1).max(MAX_ID);
const requestId = z
  .string()
  .max(MAX_ID)
  .optional()
  .describe("Yours: a request sent again under the same id gets the first one's answer and does nothing twice");

/** Where an episode starts. */
const start = {
  seed: z.int().min(0).optional().describe('Seeds the episode: equal seeds, equal episodes. Drawn unless given'),
  task: z.string().optional().describe('A task by id. In family vector tasks are seeds, and `seed` goes before them'),
  split: z.string().optional().describe('Split that `index` counts in: train, validation or test'),
  index: z.int().min(0).optional().describe('Which task of the split, from 0'),
  snapshot: z.string().optional().describe('Id of a snapshot to start from instead'),
};

export const openBody = z.strictObject({
  env: z.string().optional().describe('Name of the environment; the first one served unless given'),
  id: sessionId.optional().describe('An id of your own; an unguessable one unless given'),
});

export const resetBody = z.strictObject({
  ...start,
  episode_id: z.string().max(MAX_ID).optional().describe('Your name for the episode'),
  request_id: requestId,
});

export const action = z
  .unknown()
  .describe(
    'Family vector: a list of numbers, or one number where there is one element. Family text: a string. ' +
      'Family tools: `{"content": "said to the user"}` or `{"tool_calls": [{"name", "arguments"}]}`',
  );

const step = {
  action,
  request_id: requestId,
  timeout_seconds: z
    .number()
    .positive()
    .optional()
    .describe("Seconds it may take, up to the server's own limit; late, and nothing has happened"),
};

export const stepBody = z.strictObject(step);

const seeds = z
  .array(z.int().min(0))
  .optional()
  .describe('One for each: what follows in it is drawn from there. Without, all go on alike');

export const snapshotBody = z.strictObject({ request_id: requestId });

export const forkBody = z.strictObject({
  count: z.int().min(1).max(MAX_FORKS).default(1).describe('How many new sessions'),
  seeds,
  request_id: requestId,
});

export const restoreBody = z.strictObject({
  snapshot: z.string().describe('Id of a snapshot'),
  seed: z.int().min(0).optional().describe("What follows is drawn from this instead of the snapshot's own stream"),
  request_id: requestId,
});

export const groupBody = z.strictObject({
  env: openBody.shape.env,
  count: z.int().min(1).max(MAX_FORKS).describe('How many sessions'),
  seeds,
  ...start,
});

export const manyStepsBody = z.strictObject({
  steps: z
    .array(z.strictObject({ session: sessionId.describe('Which session'), ...step }))
    .min(1)
    .max(4096)
    .describe('One for each session; all run at the same time'),
});

const status = z.enum(['idle', 'running', 'done']);
const rewardSum = z.number().nullable();

export const sessionSchema = z
  .object({
    id: z.string(),
    env: z.string(),
    status: status.describe('idle: not reset yet; done: the episode ended'),
    episode_id: z.string().nullable(),
    task: z.string().nullable(),
    seed: z.int().nullable(),
    step_count: z.int(),
    return: rewardSum.describe('Sum of rewards; null where one could not be judged'),
    parent: z.string().optional().describe('The session it was forked from'),
    opened_at: z.number().describe('Milliseconds since the epoch'),
    last_used_at: z.number().describe('Milliseconds since the epoch'),
  })
  .meta({ id: 'Session' });

export const turnSchema = z
  .object({
    observation: z
      .unknown()
      .describe(
        'Family vector: a list of numbers. Family text: a string. Family tools: ' +
          '`{"messages": [{"role", "content", "tool_call_id"?, "name"?, "is_error"?}]}`, those that are new',
      ),
    reward: rewardSum.describe('Of this step. null after reset, and where the end could not be judged'),
    terminated: z.boolean().describe('Ended by the task: nothing follows'),
    truncated: z.boolean().describe('Ended by the clock'),
    info: z.record(z.string(), z.unknown()).describe('Who answered, how sure, what it cost; at the end the verdict'),
    episode_id: z.string(),
    step_count: z.int().describe('Steps taken in the episode'),
  })
  .meta({ id: 'Turn' });

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string() }) });

export const sessionsSchema = z.object({ sessions: z.array(sessionSchema) });
export const snapshotSchema = z
  .object({ id: z.string().describe('Hash: equal states have equal ids'), env: z.string(), step_count: z.int() })
  .meta({ id: 'Snapshot' });
export const groupSchema = z.object({
  sessions: z.array(sessionSchema),
  turn: turnSchema.describe('What all of them see first'),
});
export const resultsSchema = z.object({
  results: z.array(z.union([turnSchema, errorSchema])).describe('In the order of the steps; an error stands alone'),
});
