// What every world model must do, whatever its kind. Each implementation runs this suite with a model of its own.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ImagineOptions, type NumberRows, numberRows } from '../../src/core/dynamics.js';
import { Rng } from '../../src/core/rng.js';
import { contains, rowSize } from '../../src/env/space-values.js';
import type { ModelPlace, StoredDynamics } from '../../src/worldmodel/dynamics.js';
import { loadWorldModel } from '../../src/worldmodel/kinds.js';
import type { VectorPrediction } from '../../src/worldmodel/memoryless.js';
import { temporaryFolder } from '../temporary-folder.js';
import { dynamicsContract } from './dynamics-contract.js';
import { oneStep } from './one-step.js';

export interface ContractSubject {
  make(): Promise<StoredDynamics>;
  /** `rows` observations and actions within the model's spaces. */
  inputs(rows: number): { obs: Float32Array; action: Float32Array };
  readonly givesDisagreement: boolean;
  /** Where it runs, and runs again once loaded. */
  readonly place?: ModelPlace;
}

export function worldModelContract(name: string, subject: ContractSubject): void {
  describe(`${name} as a world model`, () => {
    const rows = 1100; // more than two tiles, and not a multiple
    let model: StoredDynamics;
    let obs: Float32Array;
    let action: Float32Array;

    beforeAll(async () => {
      model = await subject.make();
      ({ obs, action } = subject.inputs(rows));
    });
    afterAll(() => model.close());

    dynamicsContract<NumberRows>(name, {
      model: () => model,
      rows,
      starts: (some) => numberRows(rowSize(model.observationSpace)).pick(obs, some),
      actions: (some) => numberRows(rowSize(model.actionSpace)).pick(action, some),
      observations: {
        ...numberRows(1),
        pick: (observation, some) => numberRows(rowSize(model.observationSpace)).pick(observation, some),
      },
    });

    const step = (options = {}, seed = 1) => oneStep(model, obs, action, Rng.fromSeed(seed), options);

    it('answers arrays of the right size, within its spaces', async () => {
      for (const options of [{}, { propagation: 'mean' }, { deterministic: true }] as const) {
        const answer = await step(options);
        expectShapes(model, answer, rows);
        expect(answer.disagreement).toBeUndefined();
      }
    });

    it('gives the same bytes for the same inputs and stream, and other noise for another stream', async () => {
      const first = await step();
      expect(await step()).toEqual(first);
      expect(await step({}, 2)).not.toEqual(first);
      expect(await step()).toEqual(first);
      const calm = { deterministic: true, propagation: 'mean' } as const;
      expect(await step(calm, 2)).toEqual(await step(calm, 3));
    });

    it('leaves its inputs alone and takes its randomness from the stream given, which moves on', async () => {
      const [obsBefore, actionBefore] = [obs.slice(), action.slice()];
      const rng = Rng.fromSeed(1);
      const first = await oneStep(model, obs, action, rng);
      const second = await oneStep(model, obs, action, rng);
      expect([obs, action]).toEqual([obsBefore, actionBefore]);
      const again = Rng.fromSeed(1);
      expect(await oneStep(model, obs, action, again)).toEqual(first);
      expect(await oneStep(model, obs, action, again)).toEqual(second);
    });

    it('answers overlapping calls as it answers them one by one', async () => {
      const alone = [await step({}, 5), await step({ propagation: 'mean' }, 6), await step({}, 7)];
      expect(await Promise.all([step({}, 5), step({ propagation: 'mean' }, 6), step({}, 7)])).toEqual(alone);
    });

    it('gives a row with its own stream the same bytes alone and beside any others', async () => {
      const [obsDim, actionDim] = [rowSize(model.observationSpace), rowSize(model.actionSpace)];
      const rowsOf = (first: number, count: number) => {
        const ofObs = obs.slice(first * obsDim, (first + count) * obsDim);
        return [ofObs, action.slice(first * actionDim, (first + count) * actionDim)] as const;
      };
      const streamOf = (row: number) => Rng.fromSeed(9).split(row);
      for (const options of askedOptions(subject)) {
        const alone = await Promise.all(
          Array.from({ length: 70 }, async (_, row) => {
            const rng = streamOf(row);
            const answer = await oneStep(model, ...rowsOf(row, 1), rng, options);
            return { answer, position: rng.state().position };
          }),
        );
        for (const [first, count] of Object.keys(options).length === 0 ? BATCHES : BATCHES.slice(-3)) {
          const rngs = Array.from({ length: count }, (_, r) => streamOf(first + r));
          const batch = await oneStep(model, ...rowsOf(first, count), rngs, options);
          for (let r = 0; r < count && first + r < alone.length; r++) {
            const got = { answer: rowOf(batch, r, obsDim), position: rngs[r].state().position };
            if (!isDeepStrictEqual(got, alone[first + r]))
              expect(got, `row ${r} of ${count}`).toEqual(alone[first + r]);
          }
        }
      }
    });

    it('says how much it is in doubt, without changing its answer, or refuses to say', async () => {
      if (!subject.givesDisagreement) {
        await expect(step({ disagreement: true })).rejects.toMatchObject({ code: 'SETTING_INVALID' });
        return;
      }
      for (const propagation of ['ts1', 'mean'] as const) {
        const { disagreement, ...answer } = await step({ disagreement: true, propagation });
        expect(disagreement).toHaveLength(rows);
        expect(disagreement!.every((value) => value >= 0 && Number.isFinite(value))).toBe(true);
        const without = await step({ propagation });
        expectClose(answer, without);
      }
    });

    it('refuses arrays of the wrong size', async () => {
      const refused = { code: 'DATA_MISMATCH' };
      const rng = Rng.fromSeed(1);
      const actionDim = rowSize(model.actionSpace);
      const begun = await model.begin(obs, rng);
      const wrong = [
        () => oneStep(model, obs.subarray(rowSize(model.observationSpace)), action, rng),
        () => oneStep(model, obs, action.subarray(actionDim), rng),
        () => oneStep(model, Array.from(obs) as never, action, rng),
        async () => model.follow(begun, action, obs.subarray(1)),
        async () => model.follow(begun, action.subarray(actionDim), obs),
      ];
      for (const [i, ask] of wrong.entries()) await expect(ask(), `case ${i}`).rejects.toMatchObject(refused);
    });

    it('refuses NaN and infinity, naming the row', async () => {
      const dim = rowSize(model.observationSpace);
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
        const spoilt = obs.slice();
        spoilt[7 * dim] = bad;
        const asking = oneStep(model, spoilt, action, Rng.fromSeed(1));
        await expect(asking).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
        await expect(asking).rejects.toThrow(/row 7\b/);
      }
    });

    it('is refused after any change of its manifest, and saved again the same bytes', async () => {
      const folder = temporaryFolder('contract');
      const [stored, again] = [join(folder, 'model'), join(folder, 'again')];
      await model.save(stored);
      const loaded = await loadWorldModel(stored, subject.place);
      await loaded.save(again);
      await loaded.close();
      for (const file of await readdir(stored))
        expect(await readFile(join(again, file)), file).toEqual(await readFile(join(stored, file)));
      const path = join(stored, 'manifest.json');
      const whole = await readFile(path);
      for (let position = 0; position < whole.length; position += 29) {
        const bytes = Buffer.from(whole);
        bytes[position] ^= 1 << (position % 7);
        await writeFile(path, bytes);
        const loading = loadWorldModel(stored);
        await expect(loading, `byte ${position}`).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
      }
    });

    it('is the same after a snapshot sent to another thread, and after a folder', async () => {
      const expected = await step();
      const folder = join(temporaryFolder('model'), 'model');
      await model.save(folder);
      for (const place of [structuredClone(model.snapshot()), folder]) {
        const revived = await loadWorldModel(place, subject.place);
        for (const key of ['modelVersion', 'backend', 'observationSpace', 'actionSpace'] as const)
          expect(revived[key]).toEqual(model[key]);
        expect(await oneStep(revived, obs, action, Rng.fromSeed(1))).toEqual(expected);
        expect(structuredClone(revived.snapshot()).modelVersion).toBe(model.modelVersion);
        await revived.close();
      }
    });
  });
}

/** Batch sizes around those of vectors and blocks, from places that put a row at different positions. */
const BATCHES = [1, 2, 3, 7, 8, 9, 15, 17, 31, 32, 33, 63, 65, 130].map(
  (rows, i) => [rows === 130 ? 0 : (i * 7) % 60, rows] as const,
);

function askedOptions({ givesDisagreement }: ContractSubject): ImagineOptions[] {
  const asked: ImagineOptions[] = [{}, { propagation: 'mean' }, { deterministic: true }];
  return givesDisagreement ? [...asked, { disagreement: true }] : asked;
}

function rowOf({ nextObs, reward, terminated, disagreement }: VectorPrediction, row: number, obsDim: number) {
  return {
    nextObs: nextObs.slice(row * obsDim, (row + 1) * obsDim),
    reward: reward.slice(row, row + 1),
    terminated: terminated.slice(row, row + 1),
    disagreement: disagreement?.slice(row, row + 1),
  };
}

function expectShapes(model: StoredDynamics, answer: VectorPrediction, rows: number): void {
  const obsDim = rowSize(model.observationSpace);
  expect(answer.nextObs).toHaveLength(rows * obsDim);
  expect(answer.reward).toHaveLength(rows);
  expect(answer.terminated).toHaveLength(rows);
  expect(answer.terminated.every((end) => end === 0 || end === 1)).toBe(true);
  for (let row = 0; row < rows; row++) {
    const next = answer.nextObs.subarray(row * obsDim, (row + 1) * obsDim);
    if (!contains(model.observationSpace, next)) expect.fail(`row ${row}: [${next}] is outside the observation space`);
  }
}

/** Equal to rounding: other tiles, other order of additions. */
function expectClose(a: VectorPrediction, b: VectorPrediction): void {
  for (const key of ['nextObs', 'reward'] as const) {
    const worst = a[key].reduce((most, value, i) => Math.max(most, Math.abs(value - b[key][i])), 0);
    expect(worst, key).toBeLessThan(1e-4);
  }
}
