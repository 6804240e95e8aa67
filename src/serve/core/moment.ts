// One turn of an episode as histories keep it, and what it weighs.

import type { Action, Turn } from './session-contract.js';

/** One turn, with what led to it. */
export interface Moment {
  /** null where the episode began, or went on from a snapshot. */
  readonly action: Action | null;
  readonly turn: Pick<Turn, 'observation' | 'reward' | 'terminated' | 'truncated' | 'info' | 'stepCount' | 'return'>;
  readonly seconds: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Roughly, what it takes in memory. */
  readonly bytes: number;
}

/** Of a step without its values, as measured. */
const STEP_BYTES = 170;

export function momentOf(action: Action | null, turn: Turn, seconds: number): Moment {
  const bytes = STEP_BYTES + keptBytes(action) + keptBytes(turn.observation) + roughBytes(turn.info);
  return { action, turn, seconds, at: Date.now(), bytes };
}

/** Rows are elements of a column. */
function keptBytes(value: unknown): number {
  return value instanceof Float32Array ? 4 * value.length : roughBytes(value);
}

/** About what a value holds in memory, without writing it out. */
function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  let bytes = 32;
  for (const key in value) bytes += 8 + roughBytes((value as Record<string, unknown>)[key]);
  return bytes;
}
