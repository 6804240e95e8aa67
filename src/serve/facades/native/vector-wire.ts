// Vector sessions as the native API tells them, and what it asks of them.

import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import { checkedBody } from '../../http/request-guards.js';
import type { Rows, VectorSession } from '../../vector/vector-table.js';
import { sessionId } from './session-wire.js';

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

// What vector sessions take and answer over the native API.

const MAX_ROWS = 65_536;

const requestId = z
  .string()
  .max(255)
  .optional()
  .describe("Yours: a request sent again under the same id gets the first one's answer and does nothing twice");

const autoresetMode = z
  .enum(['next_step', 'same_step', 'disabled'])
  .describe(
    "Gymnasium's AutoresetMode. next_step: the step after the end is the reset, its action ignored, its reward 0. " +
      'same_step: a row begins anew in the step that ended it, and final_obs has what it ended with. ' +
      'disabled: rows are reset with reset_mask',
  );

export const openVectorBody = z.strictObject({
  env: z.string().optional().describe('Name of an environment of family vector; the first one served unless given'),
  num_envs: z.int().min(1).max(MAX_ROWS).describe('Rows: each takes a slot'),
  autoreset_mode: autoresetMode.default('next_step'),
  infos: z.boolean().default(false).describe('Whether to answer the info of every row; slower'),
});

export const resetVectorBody = z.strictObject({
  seed: z.int().min(0).optional().describe("Row i gets seed + i: Gymnasium's convention"),
  seeds: z.array(z.int().min(0).nullable()).optional().describe('By row instead; null: its stream goes on'),
  reset_mask: z.array(z.boolean()).optional().describe('By row: whether it is reset. All of them unless given'),
  request_id: requestId,
});

const numbers = z.array(z.number());

export const stepVectorBody = z.strictObject({
  action: z.union([numbers, z.array(numbers)]).describe('By row, nested or flat: num_envs × elements of an action'),
  request_id: requestId,
});

/** The same as MessagePack. */
export const packedStep = z.strictObject({ action: z.instanceof(Uint8Array), request_id: requestId });

export const stepVectorQuery = z.strictObject({ request_id: requestId });

export const vectorSchema = z
  .object({
    id: sessionId,
    env: z.string(),
    num_envs: z.int(),
    autoreset_mode: autoresetMode,
    obs_dim: z.int().describe('Elements of an observation'),
    action_dim: z.int().describe('Elements of an action'),
    transitions: z.int().describe('Steps taken by all rows together'),
    opened_at: z.number().describe('Milliseconds since the epoch'),
    last_used_at: z.number().describe('Milliseconds since the epoch'),
  })
  .meta({ id: 'VectorSession' });

export const vectorsSchema = z.object({ sessions: z.array(vectorSchema) });

const flags = z.array(z.boolean());
const infos = z.array(z.record(z.string(), z.unknown()));

export const rowsSchema = z
  .object({
    obs: z.array(numbers).describe('[num_envs, obs_dim]: what to act on now'),
    reward: numbers,
    terminated: flags.describe('Ended by the task'),
    truncated: flags.describe('Ended by the clock'),
    final_obs: z.array(numbers.nullable()).describe('Mode same_step: what a row that ended ended with; else null'),
    final_info: z.array(z.record(z.string(), z.unknown()).nullable()).describe('The same for info'),
    infos: infos.optional().describe('By row, where the session was opened with infos'),
  })
  .meta({ id: 'Rows' });
