// What the main thread and the threads that judge tell each other.

import type { PackedError } from '../../../../core/errors.js';
import type { Json } from '../../../../core/json.js';
import type { ChunkAddress } from '../../../../fidelity/index.js';
import type { FidelitySetup } from '../setup.js';

export interface ChunkTask {
  readonly setup: FidelitySetup;
  readonly address: ChunkAddress;
  /** Set to 1 where nobody wants the rows any more. */
  readonly stop: Int32Array;
}

/** A failure crosses as data, so that its catalogue code survives. */
export type ChunkOutcome =
  | { readonly kind: 'done'; readonly rows: readonly Json[] }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: PackedError };
