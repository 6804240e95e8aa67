// Work a few pieces ahead of its reader: in order, bounded, and given up as a whole.

import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inOrder } from '../../src/core/pool-task.js';

const PIECES = [5, 1, 4, 2, 3, 0];

describe('work in order', () => {
  it('answers in the order of the pieces, however long each takes', async () => {
    const answers: number[] = [];
    const work = async (piece: number) => {
      await wait(piece * 3);
      return piece * 10;
    };
    for await (const answer of inOrder(PIECES, work, { ahead: 3 })) answers.push(answer);
    expect(answers).toEqual(PIECES.map((piece) => piece * 10));
  });

  it('has no more under way than it was allowed, and waits for its reader', async () => {
    let begun = 0;
    const work = async (piece: number) => {
      begun++;
      return piece;
    };
    let read = 0;
    for await (const _ of inOrder(PIECES, work, { ahead: 2 })) {
      read++;
      await wait(5);
      expect(begun).toBeLessThanOrEqual(read + 1);
    }
    expect(begun).toBe(PIECES.length);
  });

  it('gives the rest up when its reader leaves, when a piece fails, and on a signal', async () => {
    const stopped: number[] = [];
    const work = (piece: number, signal: AbortSignal) =>
      new Promise<number>((resolve, reject) => {
        if (piece === 5) return resolve(piece);
        if (piece === 2) return reject(new Error('piece 2'));
        signal.addEventListener('abort', () => {
          stopped.push(piece);
          reject(signal.reason);
        });
      });
    for await (const _ of inOrder([5, 1, 4], work, { ahead: 3 })) break;
    expect(stopped).toEqual([1, 4]);
    const failing = async () => {
      for await (const _ of inOrder([5, 2, 3], work, { ahead: 3 }));
    };
    await expect(failing()).rejects.toThrow('piece 2');
    expect(stopped).toEqual([1, 4, 3]);
    const control = new AbortController();
    const aborted = async () => {
      for await (const _ of inOrder([1], work, { ahead: 2, signal: control.signal }));
    };
    setTimeout(() => control.abort(new Error('enough')), 5);
    await expect(aborted()).rejects.toThrow('enough');
  });
});
