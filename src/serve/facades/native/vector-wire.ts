// Vector sessions as the native API tells them, and what it asks of them.

import { reverieError } from '../../../core/errors.js';
import { checkedBody } from '../../http/request-check.js';
import type { Rows, VectorSession } from '../../vector/vector-session.js';
import { resetVectorBody } from './vector-schemas.js';

export function wireVector({ state, batch }: VectorSession) {
  const { id, env, rows, mode, transitions, openedAt, lastUsedAt } = state;
  return {
    id,
    env,
    num_envs: rows,
    autoreset_mode: mode,
    obs_dim: batch.obsDim,
    action_dim: batch.actionDim,
    transitions,
    opened_at: openedAt,
    last_used_at: lastUsedAt,
  };
}

/** @throws REQUEST_INVALID */
export function resetRows(body: unknown, session: VectorSession): Promise<Rows> {
  const { seed, seeds, reset_mask: mask, request_id: requestId } = checkedBody(resetVectorBody, body);
  const { rows } = session.batch;
  requireRows('seeds', seeds, rows);
  requireRows('reset_mask', mask, rows);
  const byRow = seeds ?? (seed === undefined ? undefined : Array.from({ length: rows }, (_, row) => seed + row));
  return session.reset({ seeds: byRow, mask: mask && Uint8Array.from(mask, Number) }, requestId);
}

function requireRows(name: string, given: readonly unknown[] | undefined, rows: number): void {
  if (given === undefined || given.length === rows) return;
  throw reverieError('REQUEST_INVALID', { problem: `${name}: ${given.length} values for ${rows} rows` });
}
