// Spaces of a world model as its networks see them: row widths, one-hot actions, bounds of what may be predicted.

import { z } from 'zod';
import type { VectorSpace } from '../core/environment.js';
import { rowSize } from '../env/space-values.js';

/** Any environment, dream or world model has these two. */
export interface Spaces {
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
}

const bound = z.number().nullable();
const boxSchema = z
  .strictObject({ type: z.literal('box'), shape: z.array(z.int().min(0)), low: z.array(bound), high: z.array(bound) })
  .refine(({ shape, low, high }) => {
    const size = shape.reduce((product, dim) => product * dim, 1);
    return low.length === size && high.length === size;
  }, 'low and high need one bound per element of the shape (null for none)');

/** A vector space as JSON, checked. */
export const vectorSpaceSchema = z.discriminatedUnion('type', [
  boxSchema,
  z.strictObject({ type: z.literal('discrete'), n: z.int().min(1), start: z.int().default(0) }),
]);

/** Widths of one row. */
export interface RowShape {
  readonly obsDim: number;
  readonly actionDim: number;
  /** Elements of an encoded action: `n` for a discrete one (one-hot). */
  readonly actionWidth: number;
  /** obsDim + actionWidth. */
  readonly inputDim: number;
}

export function rowShape({ observationSpace, actionSpace }: Spaces): RowShape {
  const obsDim = rowSize(observationSpace);
  const actionDim = rowSize(actionSpace);
  const actionWidth = actionSpace.type === 'discrete' ? actionSpace.n : actionDim;
  return { obsDim, actionDim, actionWidth, inputDim: obsDim + actionWidth };
}

/** Writes rows `order[first..first + rows)` (or those rows themselves) of obs and action into `into` [rows, inputDim]. */
export type EncodeRows = (
  obs: Float32Array,
  action: Float32Array,
  order: Uint32Array | undefined,
  first: number,
  rows: number,
  into: Float32Array,
) => void;

/** An encoder for these spaces: observation and action side by side, a discrete action one-hot. */
export function rowEncoder(spaces: Spaces): EncodeRows {
  const { obsDim, actionDim, actionWidth, inputDim } = rowShape(spaces);
  const { actionSpace } = spaces;
  return (obs, action, order, first, rows, into) => {
    if (actionSpace.type === 'discrete') into.fill(0, 0, rows * inputDim);
    for (let r = 0; r < rows; r++) {
      const row = order === undefined ? first + r : order[first + r];
      const at = r * inputDim;
      const from = row * obsDim;
      for (let j = 0; j < obsDim; j++) into[at + j] = obs[from + j];
      if (actionSpace.type === 'discrete') into[at + obsDim + action[row * actionDim] - actionSpace.start] = 1;
      else for (let j = 0; j < actionWidth; j++) into[at + obsDim + j] = action[row * actionDim + j];
    }
  };
}
