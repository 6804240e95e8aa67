// What one can do with a space and a row: size, membership, description, clipping. Spaces themselves are plain JSON.

import { z } from 'zod';
import type { BoxSpace, DiscreteSpace, EnvSnapshot, Space, VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';

/** A one-dimensional box; bounds are rounded to float32, as the rows they bound are. */
export function boxSpace(low: readonly (number | null)[], high: readonly (number | null)[]): BoxSpace {
  return { type: 'box', shape: [low.length], low: low.map(roundBound), high: high.map(roundBound) };
}

/** A box of `size` unbounded elements. */
export function unboundedSpace(size: number): BoxSpace {
  const none = new Array<null>(size).fill(null);
  return { type: 'box', shape: [size], low: none, high: none };
}

export function discreteSpace(n: number, start = 0): DiscreteSpace {
  return { type: 'discrete', n, start };
}

type Ends = readonly [low: number | null | undefined, high: number | null | undefined, isOpen?: boolean];

/** Why no number lies from `low` to `high`, without the two where `isOpen`; undefined where one does. None bounds nothing. */
export function crossed([low, high, isOpen = false]: Ends): string | undefined {
  if (low == null || high == null || (isOpen ? low < high : low <= high)) return undefined;
  return `no number lies between a low of ${low} and a high of ${high}; give the lower one first`;
}

/** A schema of what has a range, refused where that is empty. */
export function ranged<S extends z.ZodType>(schema: S, endsOf: (value: z.output<S>) => Ends): S {
  return schema.superRefine((value, { addIssue }) => {
    const message = crossed(endsOf(value));
    if (message !== undefined) addIssue({ code: 'custom', message });
  });
}

/** `[low, high]` */
export const rangeSchema = ranged(z.tuple([z.number(), z.number()]), (ends) => ends);

/** A random stream in a snapshot. */
export const rngStateSchema = z.strictObject({
  key: z.tuple([z.int(), z.int()]).readonly(),
  position: z.int().min(0),
});

/**
 * What `read` makes of a snapshot's state: those who take one store it, so it may be another's (undefined), or damaged (it throws).
 * @throws SNAPSHOT_MISMATCH
 */
export function fromSnapshot<T>({ env, state }: EnvSnapshot, into: string, read: (state: unknown) => T | undefined): T {
  let [from, cause]: [string, unknown] = [env, undefined];
  try {
    const found = env === into ? read(state) : undefined;
    if (found !== undefined) return found;
  } catch (error) {
    [from, cause] = [`${env} (damaged)`, error];
  }
  throw reverieError('SNAPSHOT_MISMATCH', { from, into }, cause);
}

/** Elements of one row of the space: a discrete value is one element. */
export function rowSize(space: VectorSpace): number {
  return space.type === 'discrete' ? 1 : space.shape.reduce((product, size) => product * size, 1);
}

/** Whether `row` is a float32 row of the right length with every element finite and within bounds. */
export function contains(space: VectorSpace, row: Float32Array): boolean {
  if (!(row instanceof Float32Array) || row.length !== rowSize(space)) return false;
  if (space.type === 'discrete')
    return Number.isInteger(row[0]) && row[0] >= space.start && row[0] < space.start + space.n;
  for (let i = 0; i < row.length; i++) {
    const low = space.low[i];
    const high = space.high[i];
    if (!Number.isFinite(row[i])) return false;
    if (low !== null && row[i] < Math.fround(low)) return false;
    if (high !== null && row[i] > Math.fround(high)) return false;
  }
  return true;
}

/** One line a person can read: `box [3] in -1..1`, `discrete 0..4`. */
export function describeSpace(space: Space): string {
  switch (space.type) {
    case 'discrete':
      return `discrete ${space.start}..${space.start + space.n - 1}`;
    case 'text':
      return `text of at most ${space.maxLength} characters`;
    case 'tools':
      return `calls of ${space.tools.length} tools`;
    case 'box':
      return `box [${space.shape.join(', ')}] in ${describeBounds(space)}`;
  }
}

/** The nearest row in the space: bounds for a box, the nearest integer for a discrete one. NaN is not repaired. */
export function clipToSpace(space: VectorSpace, row: Float32Array): Float32Array {
  if (space.type === 'discrete')
    return Float32Array.of(Math.min(Math.max(Math.round(row[0]), space.start), space.start + space.n - 1));
  return row.map((value, i) => Math.min(Math.max(value, space.low[i] ?? -Infinity), space.high[i] ?? Infinity));
}

/** Throws ACTION_OUT_OF_SPACE unless `action` lies in the space. */
export function requireAction(space: VectorSpace, action: Float32Array): void {
  if (contains(space, action)) return;
  // As a client wrote it: what kind of array it came in counts only where it is the wrong one.
  const kind = (action as unknown) instanceof Float32Array ? '' : `${action?.constructor.name} `;
  const shown = ArrayBuffer.isView(action) ? `${kind}[${Array.from(action).join(', ')}]` : String(action);
  const hint =
    space.type === 'box'
      ? 'Give as many finite numbers as the shape says; clip each to its bounds.'
      : `Give one whole number of ${space.start} to ${space.start + space.n - 1}, in an array.`;
  throw reverieError('ACTION_OUT_OF_SPACE', { action: shown, space: describeSpace(space), hint });
}

function roundBound(bound: number | null): number | null {
  return bound === null || !Number.isFinite(bound) ? null : Math.fround(bound);
}

function describeBounds(space: BoxSpace): string {
  const pairs = space.low.map((low, i) => `${shown(low, '-inf')}..${shown(space.high[i], 'inf')}`);
  return new Set(pairs).size === 1 ? pairs[0] : pairs.join(', ');
}

function shown(bound: number | null, unbounded: string): string {
  return bound === null ? unbounded : String(Number(bound.toPrecision(6)));
}
