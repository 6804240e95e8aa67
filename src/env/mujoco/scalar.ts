// One number computed from a simulation: a small tree, the same whether it is read from MuJoCo or from a stored row.
// `key` names what is computed, so that equal quantities are recognised (an observation that shows a reward's input).

export type LeafArray =
  | 'qpos'
  | 'qvel'
  | 'xpos'
  | 'siteXpos'
  | 'xmat'
  | 'qfrcConstraint'
  | 'sensordata'
  | 'action'
  | 'alive';

export type Scalar =
  | { readonly kind: 'leaf'; readonly key: string; readonly array: LeafArray; readonly index: number }
  | { readonly kind: 'constant'; readonly key: string; readonly value: number }
  | {
      readonly kind: 'map';
      readonly key: string;
      readonly of: Scalar;
      readonly map: (value: number) => number;
      readonly clip?: boolean;
    }
  | { readonly kind: 'reduce'; readonly key: string; readonly of: readonly Scalar[]; readonly how: Reduction }
  | { readonly kind: 'velocity'; readonly key: string; readonly of: Scalar };

export type Reduction = 'sum' | 'product' | 'norm' | 'sumSquares' | 'difference';

export type Read = () => number;

/** Where leaves come from; undefined where a number cannot be seen from here. */
export interface ScalarSource {
  /** Answers whole quantities by key, before their parts are looked for. */
  readonly known?: (scalar: Scalar) => Read | undefined;
  readonly leaf: (array: LeafArray, index: number) => Read | undefined;
  /** The change of a quantity over the step divided by its duration. */
  readonly velocity: (of: Scalar) => Read | undefined;
}

/** A function that computes the scalar from a source, or undefined if the source does not show all of it. */
export function readerOf(scalar: Scalar, source: ScalarSource): Read | undefined {
  const known = source.known?.(scalar);
  if (known !== undefined) return known;
  switch (scalar.kind) {
    case 'leaf':
      return source.leaf(scalar.array, scalar.index);
    case 'constant': {
      const { value } = scalar;
      return () => value;
    }
    case 'map': {
      const { map } = scalar;
      const of = readerOf(scalar.of, source);
      return of && (() => map(of()));
    }
    case 'velocity':
      return source.velocity(scalar.of);
    case 'reduce': {
      const parts = readersOf(scalar.of, source);
      return parts && reduction(scalar.how, parts);
    }
  }
}

/** Readers of all, or undefined if one cannot be seen. */
export function readersOf(scalars: readonly Scalar[], source: ScalarSource): Read[] | undefined {
  const readers = scalars.map((scalar) => readerOf(scalar, source));
  return readers.every((reader) => reader !== undefined) ? readers : undefined;
}

function reduction(how: Reduction, parts: readonly Read[]): Read {
  switch (how) {
    case 'sum':
      return () => fold(parts, 0, (total, value) => total + value);
    case 'product':
      return () => fold(parts, 1, (total, value) => total * value);
    case 'sumSquares':
      return () => fold(parts, 0, (total, value) => total + value * value);
    case 'norm':
      return () => Math.sqrt(fold(parts, 0, (total, value) => total + value * value));
    case 'difference': {
      const [first, second] = parts;
      return () => first() - second();
    }
  }
}

function fold(parts: readonly Read[], start: number, add: (total: number, value: number) => number): number {
  let total = start;
  for (let i = 0; i < parts.length; i++) total = add(total, parts[i]());
  return total;
}
