// Turns, sessions and errors as the native API tells them.

import { ReverieError, reverieError } from '../../../core/errors.js';
import type { SessionState, SnapshotRef, Turn } from '../../core/session-contract.js';
import { publicInfo } from '../../core/turn.js';
import { encodeInfo, encodeObservation } from '../../core/values.js';

export function wireTurn({ observation, reward, terminated, truncated, info, episodeId, stepCount }: Turn) {
  return {
    observation: encodeObservation(observation),
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
