// Packing: every document once an epoch, none cut, none across a chain of the product; batches are functions of their number.

import { describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { chainLength } from '../../../src/nn/decoder/network.js';
import * as nn from '../nn.js';
import { randomTokens } from './fixture.js';

const shape = { rows: 3, length: 300, headDim: 64 };
const rng = Rng.fromSeed(1);
const documents = Array.from({ length: 70 }, (_, i) => ({ tokens: randomTokens(rng.split(i), 2 + rng.int(180)) }));

describe('a corpus', () => {
  test('has every document once an epoch, in a new order each time', () => {
    const corpus = new nn.PackedCorpus(documents, shape, Rng.fromSeed(2));
    const seen: number[] = [];
    const orders: number[][] = [];
    for (let step = 0; seen.length < 3 * documents.length; step++) {
      seen.push(...corpus.batch(step).places.map(({ document }) => document));
    }
    for (let epoch = 0; epoch < 2; epoch++) {
      const order = seen.slice(epoch * documents.length, (epoch + 1) * documents.length);
      expect([...order].sort((a, b) => a - b)).toEqual([...documents.keys()]);
      orders.push(order);
    }
    expect(orders[0]).not.toEqual(orders[1]);
  });

  test('gives the same batch whenever it is asked', () => {
    const batches = [0, 1, 40].map((step) => new nn.PackedCorpus(documents, shape, Rng.fromSeed(2)).batch(step));
    const corpus = new nn.PackedCorpus(documents, shape, Rng.fromSeed(2));
    expect([40, 0, 1].map((step) => corpus.batch(step))).toEqual([batches[2], batches[0], batches[1]]);
  });

  test('lays tokens, targets and positions where the places say', () => {
    const batch = new nn.PackedCorpus(documents, shape, Rng.fromSeed(2)).batch(2);
    const chain = chainLength(shape.headDim);
    let used = 0;
    batch.places.forEach(({ document, row, start }, segment) => {
      const { tokens } = documents[document];
      const at = row * shape.length + start;
      const size = tokens.length - 1;
      expect(Array.from(batch.tokens.subarray(at, at + size))).toEqual(tokens.slice(0, -1));
      expect(Array.from(batch.targets.subarray(at, at + size))).toEqual(tokens.slice(1));
      expect(Array.from(batch.positions.subarray(at, at + size))).toEqual([...Array(size).keys()]);
      expect(new Set(batch.segments.subarray(at, at + size))).toEqual(new Set([segment]));
      expect(start % chain === 0 || Math.floor(start / chain) === Math.floor((start + size - 1) / chain)).toBe(true);
      used += size;
    });
    expect(batch.segments.filter((segment) => segment >= 0).length).toBe(used);
    expect(batch.weights.reduce((sum, weight) => sum + weight, 0)).toBe(used);
    expect(used).toBeGreaterThan(0.7 * shape.rows * shape.length);
  });
});
