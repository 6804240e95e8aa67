// Documents laid side by side in rows of one length, so that training wastes little on padding. Attention stays within a
// document, positions begin anew with each, and a document's numbers do not depend on what lies beside it.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { chainLength } from './attention.js';

export interface TrainingDocument {
  readonly tokens: ArrayLike<number>;
  /** How much each token counts as a target; 1 unless given. The first is never one. */
  readonly weights?: ArrayLike<number>;
  /** What is fed in the place of each token; the tokens themselves unless given. Blanks, where all of an answer is foretold at once. */
  readonly shown?: ArrayLike<number>;
}

/** Where a document lies: its tokens but the last from `start` on in `row`, each with the next token as its target. */
export interface Place {
  readonly document: number;
  readonly row: number;
  readonly start: number;
}

/** The input of one gradient step: arrays [rows, length]. Outside of documents the segment is -1 and the weight 0. */
export interface PackedBatch {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
  readonly segments: Int32Array;
  readonly positions: Int32Array;
  readonly weights: Float32Array;
  readonly places: readonly Place[];
}

export interface PackedShape {
  readonly rows: number;
  /** Tokens a row. */
  readonly length: number;
  /** Width of a head, which says where a packed document may lie (attention.ts). */
  readonly headDim: number;
}

/** Rows that may still take a document while others are filled: more pack tighter, and take longer. */
const OPEN_ROWS = 32;

/** Documents of one row: their indices and starts. */
type RowPlan = { readonly document: number; readonly start: number }[];

/**
 * Packs documents, in order, each in the first row that has room.
 * @param sizes tokens of each document
 * @throws CONTEXT_TOO_LONG for a document longer than a row
 */
export function planRows(sizes: readonly number[], order: Iterable<number>, shape: PackedShape): RowPlan[] {
  const chain = chainLength(shape.headDim);
  const plans: RowPlan[] = [];
  const ends: number[] = [];
  for (const document of order) {
    const size = sizes[document] - 1;
    if (size > shape.length) {
      throw reverieError('CONTEXT_TOO_LONG', {
        what: `Document ${document}`,
        tokens: sizes[document],
        limit: shape.length + 1,
      });
    }
    let row = Math.max(0, plans.length - OPEN_ROWS);
    while (row < plans.length && startAfter(ends[row], size, chain) + size > shape.length) row++;
    if (row === plans.length) {
      plans.push([]);
      ends.push(0);
    }
    const start = startAfter(ends[row], size, chain);
    plans[row].push({ document, start });
    ends[row] = start + size;
  }
  return plans;
}

/** The first place from `end` on at which `size` tokens cross no multiple of `chain`, or begin at one. */
function startAfter(end: number, size: number, chain: number): number {
  const next = Math.ceil(end / chain) * chain;
  return end + size <= next ? end : next;
}

/** Rows laid out as one batch; missing ones are empty. @throws DATA_MISMATCH for weights of another length */
export function layOut(
  documents: readonly TrainingDocument[],
  plans: readonly RowPlan[],
  shape: PackedShape,
): PackedBatch {
  const size = shape.rows * shape.length;
  const batch = {
    tokens: new Int32Array(size),
    targets: new Int32Array(size),
    segments: new Int32Array(size).fill(-1),
    positions: new Int32Array(size),
    weights: new Float32Array(size),
    places: plans.flatMap((plan, row) => plan.map(({ document, start }) => ({ document, row, start }))),
  };
  batch.places.forEach(({ document, row, start }, segment) => {
    const { tokens, weights, shown = tokens } = documents[document];
    for (const [what, given] of [
      ['weights', weights],
      ['shown tokens', shown],
    ] as const) {
      if (given === undefined || given.length === tokens.length) continue;
      const problem = `${given.length} ${what} for the ${tokens.length} tokens of document ${document}`;
      throw reverieError('DATA_MISMATCH', {
        problem: `The decoder was given ${problem}.`,
        hint: 'Give one for each token.',
      });
    }
    const first = row * shape.length + start;
    for (let i = 0; i + 1 < tokens.length; i++) {
      batch.tokens[first + i] = shown[i];
      batch.targets[first + i] = tokens[i + 1];
      batch.segments[first + i] = segment;
      batch.positions[first + i] = i;
      batch.weights[first + i] = weights?.[i + 1] ?? 1;
    }
  });
  return batch;
}

/**
 * One batch of all documents.
 * @throws CONTEXT_TOO_LONG; DATA_MISMATCH if they do not fit
 */
export function packAll(documents: readonly TrainingDocument[], shape: PackedShape): PackedBatch {
  const sizes = documents.map(({ tokens }) => tokens.length);
  const plans = planRows(sizes, documents.keys(), shape);
  if (plans.length > shape.rows) {
    const problem = `documents that fill ${plans.length} rows for a batch of ${shape.rows}`;
    throw reverieError('DATA_MISMATCH', {
      problem: `The decoder was given ${problem}.`,
      hint: 'Make several batches, or a trainer of more rows.',
    });
  }
  return layOut(documents, plans, shape);
}

/**
 * Documents as an endless sequence of batches: every epoch in a new order. A batch is a function of documents, stream and
 * number alone, so training goes on where it stopped.
 */
export class PackedCorpus {
  private readonly sizes: readonly number[];
  private readonly epochs: RowPlan[][] = [];

  /** @throws DATA_MISMATCH without documents */
  constructor(
    private readonly documents: readonly TrainingDocument[],
    private readonly shape: PackedShape,
    private readonly rng: Rng,
  ) {
    this.sizes = documents.map(({ tokens }) => tokens.length);
    if (documents.length > 0 && !this.sizes.some((tokens) => tokens < 2)) return;
    const problem = documents.length === 0 ? 'no documents' : 'a document of fewer than two tokens';
    throw reverieError('DATA_MISMATCH', {
      problem: `The decoder was given ${problem}.`,
      hint: 'A document is two tokens or more.',
    });
  }

  /** Batch number `step`, from 0. @throws CONTEXT_TOO_LONG for a document longer than a row */
  batch(step: number): PackedBatch {
    const { rows } = this.shape;
    const plans = Array.from({ length: rows }, (_, i) => this.row(step * rows + i));
    return layOut(this.documents, plans, this.shape);
  }

  /** The pass over the documents, from 1, in which batch `step` begins. */
  epochOf(step: number): number {
    let left = step * this.shape.rows;
    let epoch = 0;
    while (left >= this.epoch(epoch).length) left -= this.epoch(epoch++).length;
    return epoch + 1;
  }

  private row(index: number): RowPlan {
    let left = index;
    for (let epoch = 0; ; epoch++) {
      const plans = this.epoch(epoch);
      if (left < plans.length) return plans[left];
      left -= plans.length;
    }
  }

  private epoch(number: number): RowPlan[] {
    this.epochs[number] ??= planRows(
      this.sizes,
      this.rng.split('epoch', number).permutation(this.documents.length),
      this.shape,
    );
    return this.epochs[number];
  }
}
