import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReverieError } from '../../src/core/errors.js';
import { Rng } from '../../src/core/rng.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import {
  linearSpaces,
  linearTransitions,
  meanChange,
  meanReward,
  NOISE,
  REWARD_NOISE,
  smallConfig,
} from './linear-system.js';
import { oneStep } from './one-step.js';

const config = { ...smallConfig, hidden: [...smallConfig.hidden] };

describe('an ensemble fitted to a linear system with Gaussian noise', () => {
  let model: EnsembleModel;
  const rows = 400;
  const probe = linearTransitions(rows, Rng.fromSeed(99));

  beforeAll(async () => {
    const batch = linearTransitions(4000, Rng.fromSeed(1));
    const patient = { ...config, maxEpochs: 60, patience: 20 };
    ({ model } = await fitEnsemble(batch, linearSpaces, patient, { rng: Rng.fromSeed(2) }));
    return () => model.close();
  });

  it('recovers means of change and reward', async () => {
    const { mean } = await model.stepElites(probe.obs, probe.action, rows);
    let [changeError, rewardError] = [0, 0];
    for (let r = 0; r < rows; r++) {
      const [x, y, u] = [probe.obs[2 * r], probe.obs[2 * r + 1], probe.action[r]];
      const [dx, dy] = meanChange(x, y, u);
      changeError += (mean[3 * r] - dx) ** 2 + (mean[3 * r + 1] - dy) ** 2;
      rewardError += (mean[3 * r + 2] - meanReward(x, u)) ** 2;
    }
    expect(Math.sqrt(changeError / rows)).toBeLessThan(0.06);
    expect(Math.sqrt(rewardError / rows)).toBeLessThan(0.06);
  });

  it('recovers the noise of each output', async () => {
    const { std } = await model.stepElites(probe.obs, probe.action, rows);
    [...NOISE, REWARD_NOISE].forEach((noise, j) => {
      const mean = Array.from({ length: rows }, (_, r) => std[3 * r + j]).reduce((sum, value) => sum + value, 0) / rows;
      expect(mean / noise, `output ${j}`).toBeGreaterThan(0.85);
      // Members stop by the error of means, a little before the least of the variances has settled.
      expect(mean / noise, `output ${j}`).toBeLessThan(1.3);
    });
  });

  it('samples the mixture of its elites (TS1), and the mean of means with the mean variance', async () => {
    const n = 10_000;
    const obs = new Float32Array(2 * n).map((_, i) => (i % 2 === 0 ? 0.5 : -0.3));
    const action = new Float32Array(n).fill(0.2);
    const elites = await model.stepElites(obs.subarray(0, 2), action.subarray(0, 1), 1);
    for (const propagation of ['ts1', 'mean'] as const) {
      const { nextObs, reward } = await oneStep(model, obs, action, Rng.fromSeed(4), { propagation });
      for (let j = 0; j < 3; j++) {
        const values = Array.from({ length: n }, (_, r) => (j < 2 ? nextObs[2 * r + j] - obs[j] : reward[r]));
        const mean = values.reduce((sum, value) => sum + value, 0) / n;
        const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
        const [a, b] = [elites.mean[j], elites.mean[3 + j]];
        const aleatoric = (elites.std[j] ** 2 + elites.std[3 + j] ** 2) / 2;
        const expected = aleatoric + (propagation === 'ts1' ? ((a - b) / 2) ** 2 : 0);
        expect(Math.abs(mean - (a + b) / 2)).toBeLessThan(5 * Math.sqrt(expected / n));
        expect(Math.abs(variance / expected - 1)).toBeLessThan(5 * Math.sqrt(2 / n));
      }
    }
  });

  it('disagrees more where it has no data', async () => {
    const mean = async (centre: number) => {
      const { obs, action } = linearTransitions(300, Rng.fromSeed(5), { centre });
      const { disagreement } = await oneStep(model, obs, action, Rng.fromSeed(6), { disagreement: true });
      return disagreement!.reduce((sum, value) => sum + value, 0) / 300;
    };
    const [inside, outside] = [await mean(0), await mean(12)];
    expect(inside).toBeLessThan(0.2);
    expect(outside).toBeGreaterThan(4 * inside);
  });

  it('warm-starts from what it knew, although the normaliser has moved', async () => {
    const shifted = linearTransitions(3000, Rng.fromSeed(7), { centre: 1 });
    const brief = { ...config, maxEpochs: 1 };
    const rng = Rng.fromSeed(8);
    const warm = await fitEnsemble(shifted, linearSpaces, brief, { rng, previous: model });
    const cold = await fitEnsemble(shifted, linearSpaces, brief, { rng });
    await Promise.all([warm.model.close(), cold.model.close()]);
    expect(warm.report.isWarmStart).toBe(true);
    expect(cold.report.isWarmStart).toBe(false);
    expect(warm.report.holdoutError).toBeLessThan(0.6 * cold.report.holdoutError);
  });

  it('says what is another where it cannot warm-start', async () => {
    const members = config.members + 1;
    const other = fitEnsemble(
      linearTransitions(50, Rng.fromSeed(7)),
      linearSpaces,
      { ...config, members },
      {
        rng: Rng.fromSeed(8),
        previous: model,
      },
    );
    await expect(other).rejects.toThrow(new RegExp(`"members":${config.members},.* this one {"members":${members},`));
  });
});

describe('early stopping', () => {
  it('stops a member after `patience` epochs without improvement and keeps its best weights', async () => {
    const noise = linearTransitions(400, Rng.fromSeed(1));
    Rng.fromSeed(3).fillNormal(noise.nextObs); // nothing to learn but the mean
    Rng.fromSeed(4).fillNormal(noise.reward);
    const settings = { ...config, members: 2, elites: 1, patience: 2, maxEpochs: 500, batchSize: 64, lr: 1e-2 };
    const { model, report } = await fitEnsemble(noise, linearSpaces, settings, { rng: Rng.fromSeed(5) });
    await model.close();
    for (const { epochs } of report.members) {
      expect(epochs).toBeGreaterThanOrEqual(2);
      expect(epochs).toBeLessThan(60);
    }
  });
});

describe('a learned end', () => {
  it('tells where the task ends', async () => {
    const edge = 0.8;
    const batch = linearTransitions(4000, Rng.fromSeed(1), { edge });
    const settings = { ...config, members: 1, elites: 1, learnTermination: true };
    const { model, report } = await fitEnsemble(batch, linearSpaces, settings, { rng: Rng.fromSeed(2) });
    expect(report.members[0].holdoutCrossEntropy).toBeLessThan(0.2);
    const probe = linearTransitions(1000, Rng.fromSeed(3), { edge });
    const { terminated } = await oneStep(model, probe.obs, probe.action, Rng.fromSeed(4), { deterministic: true });
    const right = terminated.reduce((sum, end, r) => sum + (end === probe.terminated[r] ? 1 : 0), 0);
    expect(right).toBeGreaterThan(930);
    await model.close();
  });

  it('is learnt where transitions end and nobody says why', async () => {
    const fitted = async (edge: number, previous?: EnsembleModel) => {
      const batch = linearTransitions(100, Rng.fromSeed(1), { edge });
      const settings = { ...config, maxEpochs: 1 };
      return (await fitEnsemble(batch, linearSpaces, settings, { rng: Rng.fromSeed(2), previous })).model;
    };
    const endless = await fitted(Number.POSITIVE_INFINITY);
    expect(endless.description.outcome).toEqual({ reward: 'learned', terminated: 'never' });
    // What was fitted before there was an end has no head for it, and is not gone on from.
    const ending = await fitted(0, endless);
    expect(ending.description.outcome).toEqual({ reward: 'learned', terminated: 'learned' });
    expect(ending.description.report.isWarmStart).toBe(false);
    await endless.close();
    await ending.close();
  });
});

describe('what a Gaussian of observation and action cannot learn', () => {
  it('is passed on where it never changes, and stops no fit', async () => {
    const batch = linearTransitions(2000, Rng.fromSeed(1));
    // A goal that differs between episodes and never moves within one.
    for (let r = 0; r < batch.rows; r++) batch.nextObs[2 * r + 1] = batch.obs[2 * r + 1];
    const { model, report } = await fitEnsemble(batch, linearSpaces, config, { rng: Rng.fromSeed(2) });
    expect(report.epochs).toBeGreaterThan(5);
    expect(report.holdoutError).toBeLessThan(0.3);
    const probe = linearTransitions(200, Rng.fromSeed(3));
    const { nextObs } = await oneStep(model, probe.obs, probe.action, Rng.fromSeed(4));
    for (let r = 0; r < 200; r++) expect(nextObs[2 * r + 1]).toBe(probe.obs[2 * r + 1]);
    await model.close();
  });

  it('is the reward that jumps at an end, which is told from the rest', async () => {
    const [edge, fall] = [0.8, -20];
    const jumping = (rows: number, seed: number) => {
      const batch = linearTransitions(rows, Rng.fromSeed(seed), { edge });
      for (let r = 0; r < rows; r++) batch.reward[r] += batch.terminated[r] * fall;
      return batch;
    };
    const known = { terminated: (nextObs: Float32Array, at: number) => nextObs[at] > edge };
    const { model, report } = await fitEnsemble(jumping(3000, 1), linearSpaces, config, {
      rng: Rng.fromSeed(2),
      known,
    });
    expect(Math.abs(model.description.endReward! - fall)).toBeLessThan(1);
    // Of the reward's deviation without the jump, a tenth of which is noise.
    expect(report.rewardError).toBeLessThan(0.2);
    const probe = jumping(500, 3);
    const { reward, terminated } = await oneStep(model, probe.obs, probe.action, Rng.fromSeed(4));
    for (let r = 0; r < 500; r++) {
      const expected = meanReward(probe.obs[2 * r], probe.action[r]) + terminated[r] * fall;
      expect(Math.abs(reward[r] - expected)).toBeLessThan(2);
    }
    await model.close();
  });
});

describe('known functions', () => {
  it('take the place of learned heads', async () => {
    const batch = linearTransitions(300, Rng.fromSeed(1), { edge: 1 });
    const known = {
      reward: (obs: Float32Array, at: number, action: Float32Array, actionAt: number) =>
        meanReward(obs[at], action[actionAt]),
      terminated: (nextObs: Float32Array, at: number) => nextObs[at] > 1,
    };
    const settings = { ...config, members: 1, elites: 1, maxEpochs: 2, learnReward: false };
    const { model } = await fitEnsemble(batch, linearSpaces, settings, { rng: Rng.fromSeed(2), known });
    const { nextObs, reward, terminated } = await oneStep(model, batch.obs, batch.action, Rng.fromSeed(3));
    for (let r = 0; r < 300; r++) {
      expect(reward[r]).toBe(Math.fround(meanReward(batch.obs[2 * r], batch.action[r])));
      expect(terminated[r]).toBe(nextObs[2 * r] > 1 ? 1 : 0);
    }
    expect(() => model.snapshot()).toThrowError(expect.objectContaining({ code: 'NOT_PORTABLE' }));
    await model.close();
  });
});

describe('bad input', () => {
  const fitChanged = (change: (batch: ReturnType<typeof linearTransitions>) => void, settings: object = {}) => {
    const batch = linearTransitions(50, Rng.fromSeed(1));
    change(batch);
    return fitEnsemble(batch, linearSpaces, { ...config, ...settings }, { rng: Rng.fromSeed(2) });
  };

  it('names a value that is not finite, its column and its row', async () => {
    const failing = fitChanged(({ nextObs }) => {
      nextObs[21] = Number.NaN;
    });
    await expect(failing).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
    await expect(failing).rejects.toThrow(/nextObs.*row 10, element 1/);
  });

  it('refuses columns that do not fit the spaces, and too few rows', async () => {
    const wide = { ...linearTransitions(50, Rng.fromSeed(1)), action: new Float32Array(100) };
    const options = { rng: Rng.fromSeed(2) };
    await expect(fitEnsemble(wide, linearSpaces, config, options)).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
    });
    const single = linearTransitions(1, Rng.fromSeed(1));
    await expect(fitEnsemble(single, linearSpaces, config, options)).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
    });
  });

  it('refuses settings that make no sense', async () => {
    const nothing = () => {};
    for (const settings of [{ elites: 9 }, { membres: 3 }, { learnReward: false }]) {
      await expect(fitChanged(nothing, settings), JSON.stringify(settings)).rejects.toMatchObject({
        code: 'SETTING_INVALID',
      });
    }
  });

  it.each(['learnReward', 'learnTermination'])(
    'says how to get around a %s that is false, and where it is told',
    async (key) => {
      const failing = fitChanged(({ terminated }) => terminated.fill(1, 0, 1), { [key]: false, elites: 1 });
      const { message, hint } = (await failing.catch((reason) => reason)) as ReverieError;
      expect(message).toContain(`${key} is false`);
      expect(message).toContain('leave it auto');
      const [page] = hint.match(/docs\/\S+\.md/)!;
      expect(readFileSync(page, 'utf8')).toContain(`model.${key}`);
    },
  );
});
