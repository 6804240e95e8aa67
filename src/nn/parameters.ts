// A network's parameters packed in one flat vector, which a training loop carries as a single tensor; and their initial values.

import { reverieError } from '../core/errors.js';
import { normalQuantile, type Rng } from '../core/rng.js';
import type { Value } from './graph.js';
import { reshape, split } from './ops-shape.js';
import { elementCount } from './tensor.js';

/**
 * How a parameter starts.
 * `normal`: normal of the given deviation.
 * `uniformFanIn`: U(-b, b), b = gain / sqrt(fanIn). `truncNormalFanIn`: normal of deviation 1 / (2 sqrt(fanIn)), cut at two
 * deviations (Chua et al. 2018, PETS). `orthogonal`: random orthonormal rows or columns times gain (Saxe et al. 2014); a leading
 * axis beside the last two is a batch of independent matrices.
 */
export type Init =
  | { readonly kind: 'zeros' }
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'normal'; readonly deviation: number }
  | { readonly kind: 'uniformFanIn'; readonly fanIn: number; readonly gain?: number }
  | { readonly kind: 'truncNormalFanIn'; readonly fanIn: number }
  | { readonly kind: 'orthogonal'; readonly gain: number };

export interface ParamSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly init: Init;
}

interface Slot extends ParamSpec {
  readonly offset: number;
  readonly length: number;
}

export class ParamLayout {
  /** Number of values in theta. */
  readonly size: number;
  private readonly slots: readonly Slot[];
  private readonly byName: ReadonlyMap<string, Slot>;

  constructor(readonly specs: readonly ParamSpec[]) {
    let offset = 0;
    this.slots = specs.map((spec) => {
      const slot = { ...spec, offset, length: elementCount(spec.shape) };
      offset += slot.length;
      return slot;
    });
    this.size = offset;
    this.byName = new Map(this.slots.map((slot) => [slot.name, slot]));
    if (this.byName.size !== specs.length) {
      const names = specs.map(({ name }) => name);
      throw reverieError('DATA_MISMATCH', {
        problem: `Parameter "${names.find((n, i) => names.indexOf(n) !== i)}" is named twice.`,
        hint: `The parameters are: ${names}.`,
      });
    }
  }

  /** The parameters as values, cut out of theta [size]. */
  unpack(theta: Value): Record<string, Value> {
    const pieces = split(
      theta,
      0,
      this.slots.map(({ length }) => length),
    );
    return Object.fromEntries(this.slots.map(({ name, shape }, i) => [name, reshape(pieces[i], shape)]));
  }

  /** Fresh initial values [size]. Each parameter draws from `rng.split(name)`, so the others do not move it; rng itself stays. */
  init(rng: Rng): Float32Array {
    const theta = new Float32Array(this.size);
    for (const slot of this.slots) fillInitial(this.view(theta, slot.name), slot, rng.split(slot.name));
    return theta;
  }

  /** The part of theta that holds one parameter; not a copy. */
  view(theta: Float32Array, name: string): Float32Array {
    const slot = this.byName.get(name);
    if (slot === undefined)
      throw reverieError('DATA_MISMATCH', {
        problem: `Parameter "${name}" does not exist.`,
        hint: `The parameters are: ${[...this.byName.keys()]}.`,
      });
    return theta.subarray(slot.offset, slot.offset + slot.length);
  }
}

function fillInitial(out: Float32Array, { shape, init }: ParamSpec, rng: Rng): void {
  switch (init.kind) {
    case 'zeros':
      return;
    case 'constant':
      out.fill(init.value);
      return;
    case 'normal':
      rng.fillNormal(out);
      for (let i = 0; i < out.length; i++) out[i] *= init.deviation;
      return;
    case 'uniformFanIn': {
      const bound = (init.gain ?? 1) / Math.sqrt(init.fanIn);
      rng.fillUniform(out, -bound, bound);
      return;
    }
    case 'truncNormalFanIn':
      fillTruncatedNormal(out, 1 / (2 * Math.sqrt(init.fanIn)), rng);
      return;
    case 'orthogonal':
      fillOrthogonal(out, shape, init.gain, rng);
  }
}

/** Probability of a standard normal below -2. */
const TAIL = 0.022750131948179195;

function fillTruncatedNormal(out: Float32Array, deviation: number, rng: Rng): void {
  rng.fillUniform(out, TAIL, 1 - TAIL);
  for (let i = 0; i < out.length; i++) out[i] = normalQuantile(out[i]) * deviation;
}

function fillOrthogonal(out: Float32Array, shape: readonly number[], gain: number, rng: Rng): void {
  const [rows, columns] = shape.slice(-2);
  const size = rows * columns;
  for (let start = 0; start < out.length; start += size) {
    orthonormal(out.subarray(start, start + size), rows, columns, gain, rng);
  }
}

/** Gram–Schmidt, twice over for accuracy, on the shorter side's vectors. */
function orthonormal(out: Float32Array, rows: number, columns: number, gain: number, rng: Rng): void {
  const count = Math.min(rows, columns);
  const length = Math.max(rows, columns);
  const basis: Float64Array[] = [];
  for (let v = 0; v < count; v++) {
    const vector = rng.fillNormal(new Float64Array(length));
    for (let pass = 0; pass < 2; pass++) for (const earlier of basis) removeComponent(vector, earlier);
    const norm = Math.sqrt(dot(vector, vector));
    basis.push(vector.map((x) => x / norm));
  }
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) out[r * columns + c] = gain * (rows <= columns ? basis[r][c] : basis[c][r]);
  }
}

function removeComponent(vector: Float64Array, direction: Float64Array): void {
  const along = dot(vector, direction);
  for (let i = 0; i < vector.length; i++) vector[i] -= along * direction[i];
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
