// POST /create: an episode for a session id that a client has. Asked again, as clients do when an answer got lost, it
// answers the same and starts no second one.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Json } from '../../../core/json.js';
import type { Owner, SessionState, Sessions } from '../../core/session-contract.js';
import { environmentNamed, resetOf, type TaskRequest } from '../../core/task-choice.js';
import { checkedBody } from '../../http/request-guards.js';

export interface EpisodeRequest {
  readonly sid: string;
  readonly owner: Owner;
  readonly body: unknown;
  /** Of the environment, where the body has none. */
  readonly deployment?: string;
}

/**
 * @throws REQUEST_INVALID, ENV_NOT_SERVED, TASK_NOT_CHOSEN, SESSION_GONE for an id that was deleted, SESSION_EXISTS for one
 *   that is in another episode; as Sessions.open and Sessions.reset
 */
export async function createEpisode(sessions: Sessions, request: EpisodeRequest): Promise<void> {
  const { sid, owner } = request;
  const body = checkedBody(createBody, request.body);
  const served = environmentNamed(sessions, body.env_name ?? request.deployment);
  const reset = resetOf(served, taskRequest(body));
  const episodeId = identityOf(sid, served.name, reset);
  const known = stateOf(sessions, sid, owner);
  if (known?.episodeId === episodeId) return;
  if (known !== undefined && (known.episodeId !== null || known.env !== served.name)) {
    throw reverieError('SESSION_EXISTS', { id: sid });
  }
  if (known === undefined) sessions.open({ env: served.name, id: sid, owner });
  await sessions.reset(sid, { ...reset, episodeId, requestId: episodeId }, owner);
}

/** The same for the same request in the same session. */
function identityOf(sid: string, env: string, reset: object): string {
  const content = JSON.parse(JSON.stringify({ sid, env, reset })) as Json;
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
}

/** undefined where there never was such a session. @throws SESSION_GONE */
function stateOf(sessions: Sessions, sid: string, owner: Owner): SessionState | undefined {
  try {
    return sessions.state(sid, owner);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'SESSION_UNKNOWN') return undefined;
    throw error;
  }
}

// What clients of the Open Reward Standard send. Its Python models write null for what is not given.

const taskSpec = z.looseObject({
  id: z.string().nullish(),
  split: z.string().nullish(),
  index: z.int().min(0).nullish(),
  seed: z.int().min(0).nullish(),
  from_snapshot: z.string().nullish().describe('A snapshot to go on from'),
});

export const createBody = z
  .strictObject({
    env_name: z.string().nullish(),
    task_spec: taskSpec.nullish().describe('A task as it came from the lists of tasks, or parts of one'),
    split: z.string().nullish(),
    index: z.int().min(0).nullish(),
    secrets: z.record(z.string(), z.unknown()).nullish().describe('Not used here, and not kept'),
    toolset_name: z.null().optional().describe('Toolsets are of environments in Python'),
  })
  .refine(({ task_spec, split, index }) => (task_spec == null) === (split != null && index != null), {
    error: 'give either task_spec or both split and index',
  });

export const callBody = z.strictObject({
  name: z.string().max(255),
  input: z.record(z.string(), z.json()),
  task_id: z.string().max(255).nullish().describe('Of a call whose stream broke: its answer, without a second step'),
});

export const sessionHeader = z.object({ 'x-session-id': z.string().trim().min(1).max(255) });

/** The task that is asked for, without the nulls. */
function taskRequest({ task_spec: spec, split, index }: z.infer<typeof createBody>): TaskRequest {
  const { id, seed, from_snapshot, ...place } = spec ?? { split, index };
  return {
    id: given(id),
    split: given(place.split),
    index: given(place.index),
    seed: given(seed),
    from_snapshot: given(from_snapshot),
  };
}

function given<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}
