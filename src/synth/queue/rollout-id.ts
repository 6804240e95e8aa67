// The name of a rollout: the same for the same try at the same row of the same run, on every machine.

import { createHash } from 'node:crypto';

export interface RolloutIdentity {
  /** Hash of everything that decides the run's rows. */
  readonly job: string;
  readonly task: string;
  readonly seed: number;
  readonly row: number;
  /** Tries of the row before this one. */
  readonly attempt: number;
}

/** SHA-256, 64 hex digits. */
export function rolloutId({ job, task, seed, row, attempt }: RolloutIdentity): string {
  return createHash('sha256')
    .update(JSON.stringify([job, task, seed, row, attempt]))
    .digest('hex');
}
