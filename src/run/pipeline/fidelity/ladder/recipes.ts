// Policies of a ladder as plain data, so that what was found once acts the same in every thread and after every restart.

import type { Rng } from '../../../../core/rng.js';
import type { VectorSpace } from '../../../../env/index.js';
import { rowSize } from '../../../../env/index.js';

/** A small network: layers of [outputs, inputs + 1] weights, row-major, the last of each row a bias; tanh in between. */
export interface NetworkRecipe {
  readonly kind: 'network';
  readonly widths: readonly number[];
  readonly weights: readonly number[];
  /** Its outputs count by their sign alone: full force this way or that. */
  readonly bangBang?: boolean;
}

export type Recipe =
  | { readonly kind: 'random' }
  | { readonly kind: 'zero' }
  | { readonly kind: 'scripted' }
  /** The policy of `--checkpoint`, by its mode; with `realSteps` as it was after so many. */
  | { readonly kind: 'checkpoint'; readonly realSteps?: number }
  | NetworkRecipe
  /** A random action with this probability, each step; else what `of` does. */
  | { readonly kind: 'mixed'; readonly epsilon: number; readonly of: Recipe };

export interface NamedRecipe {
  readonly name: string;
  readonly recipe: Recipe;
}

/** Mean and standard deviation of each element, so that weights mean the same in every environment. */
export interface Normaliser {
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

/** obs [obsDim] to an action within the space; all its randomness comes from `rng`. */
export type Actor = (obs: Float32Array, rng: Rng) => Float32Array | Promise<Float32Array>;

/** With the real steps that making it took. */
export interface Ladder {
  readonly policies: readonly NamedRecipe[];
  readonly normaliser: Normaliser;
  readonly realSteps: number;
  readonly notes: readonly string[];
}

/** Outputs a network needs to choose an action: one an element, or one a choice. */
export function headsOf(space: VectorSpace): number {
  return space.type === 'discrete' ? space.n : rowSize(space);
}

/** Weights of a network of these widths. */
export function weightCount(widths: readonly number[]): number {
  return widths.slice(1).reduce((sum, outputs, layer) => sum + outputs * (widths[layer] + 1), 0);
}

/** Weights drawn so that a layer's outputs are about as large as its inputs. */
export function randomNetwork(widths: readonly number[], rng: Rng, bangBang = false): NetworkRecipe {
  const weights = widths.slice(1).flatMap((outputs, layer) => {
    const inputs = widths[layer] + 1;
    return Array.from({ length: outputs * inputs }, () => rng.normal() / Math.sqrt(inputs));
  });
  return { kind: 'network', widths, weights, ...(bangBang ? { bangBang } : {}) };
}

/** What a network answers to one row. */
export function networkOutput({ widths, weights }: NetworkRecipe, input: Float64Array): Float64Array {
  let layer = input;
  let at = 0;
  for (let depth = 1; depth < widths.length; depth++) {
    const next = new Float64Array(widths[depth]);
    for (let i = 0; i < next.length; i++) {
      let sum = weights[at + layer.length];
      for (let j = 0; j < layer.length; j++) sum += weights[at + j] * layer[j];
      next[i] = depth + 1 < widths.length ? Math.tanh(sum) : sum;
      at += layer.length + 1;
    }
    layer = next;
  }
  return layer;
}
