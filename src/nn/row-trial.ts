// Whether this machine's kernels give a row the same bytes alone and in a batch: it is tried, as they differ from processor to
// processor. The operators must be of the kind that can (row-operators.ts); a trial alone would miss a rare last bit.

import { Rng } from '../core/rng.js';
import { float32, type Tensor } from './graph.js';
import type { InferenceSession } from './runtime.js';

/** Batches of the trial: odd ones, the kernels' own, and one beyond their blocks. */
const BATCHES = [2, 3, 5, 12, 17, 31, 65, 257];
/** Rows that are also asked alone. */
const ALONE = 65;

/**
 * Whether every answer of the model to a row is, to the byte, the same whatever rows are asked with it. Takes some ten
 * milliseconds. Inputs must be float32 [batch, n]; other models are not tried, and are none.
 */
export async function hasExactRows(session: InferenceSession): Promise<boolean> {
  const isTriable = session.inputs.every(({ dtype, shape }) => dtype === 'float32' && shape.length === 2);
  if (!session.isRowwise || !isTriable) return false;
  const rows = Math.max(...BATCHES);
  const rng = Rng.fromSeed(0).split('row-trial');
  const inputs = session.inputs.map(({ name, shape }) => {
    const width = typeof shape[1] === 'number' ? shape[1] : 1;
    return { name, width, data: rng.split(name).fillNormal(new Float32Array(rows * width)) };
  });
  const ask = (first: number, count: number) => {
    const feeds = inputs.map(({ name, width, data }): [string, Tensor] => [
      name,
      float32(data.slice(first * width, (first + count) * width), [count, width]),
    ]);
    return session.run(Object.fromEntries(feeds));
  };
  const alone: Record<string, Tensor>[] = [];
  for (let row = 0; row < ALONE; row++) alone.push(await ask(row, 1));
  for (const count of BATCHES) {
    const batch = await ask(0, count);
    for (let row = 0; row < Math.min(count, ALONE); row++) if (!isSameRow(batch, alone[row], row, count)) return false;
  }
  return true;
}

function isSameRow(batch: Record<string, Tensor>, alone: Record<string, Tensor>, row: number, rows: number): boolean {
  return Object.entries(alone).every(([name, { data: one }]) => {
    const { data } = batch[name];
    const width = data.length / rows;
    return one.length === width && one.every((value, j) => Object.is(value, data[row * width + j]));
  });
}
