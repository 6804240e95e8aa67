// Rows of numbers between memory and JSON. A row is a list of numbers, whatever its space: a discrete value is its one element.

import { reverieError } from '../../core/errors.js';
import type { ValueCodec } from '../../core/kind.js';

/** An action may also be a number alone, where the action space is discrete or has one element. */
export const vectorCodec: ValueCodec = {
  encodeObservation: (observation) => listOf(observation as Float32Array),
  decodeAction: (action) => {
    const values = typeof action === 'number' ? [action] : action;
    if (Array.isArray(values) && values.every((value) => typeof value === 'number')) return new Float32Array(values);
    throw reverieError('REQUEST_INVALID', { problem: 'action: expected a number or a list of numbers' });
  },
};

/** `Array.from`, which walks a row by its iterator, takes several times as long. */
function listOf(row: Float32Array): number[] {
  const values: number[] = [];
  for (let i = 0; i < row.length; i++) values.push(row[i]);
  return values;
}
