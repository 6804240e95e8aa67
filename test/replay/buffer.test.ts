import { describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch, sliceBatch } from '../../src/replay/columns.js';
import { fill, makeBuffer, makeProvenance, makeRows, OBS_DIM } from './rows.js';

describe('ReplayBuffer', () => {
  it('answers the very rows that were appended, in the order asked for', () => {
    const buffer = makeBuffer(100);
    fill(buffer, 50, 7);
    const batch = buffer.gather(Uint32Array.from([49, 0, 23]));
    for (const [row, id] of [49, 0, 23].entries()) expect(sliceBatch(batch, row, row + 1)).toEqual(makeRows(id, 1));
    const { step, obs } = buffer.take(Int32Array.of(23, 49), ['step', 'obs']);
    expect(step).toEqual(Uint32Array.of(3, 9));
    expect(obs.subarray(OBS_DIM)).toEqual(makeRows(49, 1).obs);
  });

  it.each([7, 25, 200])('overwrites the oldest rows when full, appending %i at a time', (batchRows) => {
    const buffer = makeBuffer(25);
    fill(buffer, 211, batchRows);
    expect(buffer.size).toBe(25);
    expect(buffer.inserted).toBe(211);
    const ids = Array.from({ length: 25 }, (_, index) => buffer.rowId(index));
    expect([...ids].sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, i) => 186 + i));
    for (let index = 0; index < 25; index++) {
      expect(buffer.gather(Uint32Array.of(index))).toEqual(makeRows(ids[index], 1));
      expect(buffer.provenanceAt(index)).toMatchObject({ rowId: ids[index], step: ids[index] % 10 });
      expect(ids[index] % 25).toBe(index);
    }
  });

  it('grows by doubling, keeping what it holds, and stops at its capacity', () => {
    const buffer = makeBuffer(5000);
    let stores = 0;
    let last: ArrayBufferLike | undefined;
    while (buffer.inserted < 6000) {
      fill(buffer, 10);
      const memory = buffer.columns().obs.buffer;
      if (memory !== last) stores++;
      last = memory;
    }
    expect(stores).toBeLessThanOrEqual(4);
    expect(last?.byteLength).toBe(5000 * OBS_DIM * 4);
    expect(buffer.gather(Uint32Array.of(4999))).toEqual(makeRows(4999, 1));
  });

  it('gathers into a preallocated batch at an offset, wide rows included', () => {
    const wide = new ReplayBuffer({ capacity: 10, obsDim: 64, actionDim: 1, source: 'real' });
    const rows = allocateBatch(4, 64, 1);
    rows.obs.forEach((_, i) => {
      rows.obs[i] = i;
    });
    wide.append(rows, makeProvenance('real', 0, 4));
    const into = allocateBatch(5, 64, 1);
    expect(wide.gather(Int32Array.of(3, 1), into, 2)).toBe(into);
    expect(into.obs.subarray(128, 192)).toEqual(rows.obs.subarray(192, 256));
    expect(into.obs.subarray(192, 256)).toEqual(rows.obs.subarray(64, 128));
    expect(into.obs.subarray(0, 128).every((value) => value === 0)).toBe(true);
    expect(() => wide.gather(Uint32Array.of(0), into, 5)).toThrow(expect.objectContaining({ code: 'DATA_MISMATCH' }));
  });
});

describe('what a buffer refuses', () => {
  it.each(['obs', 'action', 'reward', 'nextObs'] as const)('NaN and infinity in %s, naming the row', (column) => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const buffer = makeBuffer(10);
      const rows = makeRows(0, 4);
      rows[column][rows[column].length - 1] = value;
      expect(() => buffer.append(rows, makeProvenance('real', 0, 4))).toThrow(
        expect.objectContaining({ code: 'NON_FINITE_VALUE', message: expect.stringMatching(`${column}.*row 3`) }),
      );
      expect(buffer.inserted).toBe(0);
    }
  });

  it('columns of the wrong length', () => {
    const buffer = makeBuffer(10);
    const rows = { ...makeRows(0, 4), action: new Float32Array(5) };
    expect(() => buffer.append(rows, makeProvenance('real', 0, 4))).toThrow(
      expect.objectContaining({ code: 'DATA_MISMATCH' }),
    );
    const short = makeProvenance('real', 0, 4, { step: new Uint32Array(3) });
    expect(() => buffer.append(makeRows(0, 4), short)).toThrow(expect.objectContaining({ code: 'DATA_MISMATCH' }));
  });

  it.each([
    ['synthetic rows in a real buffer', 'real', { source: 'synthetic', modelVersion: 'm', backend: 'ensemble' }],
    ['simulated rows that call themselves real', 'real', { modelVersion: 'model-1' }],
    ['synthetic rows without a model version', 'synthetic', { modelVersion: '' }],
    ['a confidence above 1', 'synthetic', { confidence: Float32Array.of(1, 1.5) }],
  ] as const)('%s', (_, source, changes) => {
    const buffer = makeBuffer(10, source);
    expect(() => buffer.append(makeRows(0, 2), makeProvenance(source, 0, 2, changes))).toThrow(
      expect.objectContaining({ code: 'DATA_MISMATCH' }),
    );
    expect(buffer.size).toBe(0);
  });
});

it('provenance is kept for every row, defaults included', () => {
  const buffer = makeBuffer(10, 'synthetic');
  const first = { task: 'reach', group: Float64Array.of(5), parent: Float64Array.of(2 ** 40), seed: 11 };
  const full = { ...first, logProb: Float32Array.of(-0.5), confidence: Float32Array.of(0.25) };
  buffer.append(
    makeRows(0, 1),
    makeProvenance('synthetic', 0, 1, { ...full, stateHash: BigUint64Array.of(2n ** 63n + 1n) }),
  );
  buffer.append(makeRows(1, 1), makeProvenance('synthetic', 1, 1, { policyVersion: 'policy-2' }));
  expect(buffer.provenanceAt(0)).toEqual({
    rowId: 0,
    source: 'synthetic',
    backend: 'ensemble',
    modelVersion: 'model-1',
    scenario: 'test',
    task: 'reach',
    policyVersion: 'policy-1',
    seed: 11,
    episode: 0,
    step: 0,
    group: 5,
    parent: 2 ** 40,
    logProb: -0.5,
    confidence: 0.25,
    stateHash: 2n ** 63n + 1n,
  });
  expect(buffer.provenanceAt(1)).toMatchObject({
    policyVersion: 'policy-2',
    task: '',
    group: -1,
    parent: -1,
    logProb: Number.NaN,
    confidence: Number.NaN,
    stateHash: 0n,
  });
});
