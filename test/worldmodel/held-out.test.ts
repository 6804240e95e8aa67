// What a fit says of itself on rows held out: how much of each element it explains, beside simple models.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { parseEnsembleConfig, settleEnsembleConfig } from '../../src/worldmodel/ensemble/config.js';
import { prepareData } from '../../src/worldmodel/ensemble/dataset.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { linearSpaces, linearTransitions, meanChange, meanReward } from './linear-system.js';

const ROWS = 1200;
const SPACES = {
  observationSpace: { type: 'box', shape: [4], low: [null, null, null, null], high: [null, null, null, null] },
  actionSpace: { type: 'box', shape: [1], low: [-1], high: [1] },
} as const;

/** One element moves linearly, one by a square, one at random, and one never. */
function records() {
  const rng = Rng.fromSeed(3);
  const obs = rng.split('obs').fillUniform(new Float32Array(4 * ROWS), -1, 1);
  const action = rng.split('action').fillUniform(new Float32Array(ROWS), -1, 1);
  const noise = rng.split('noise').fillNormal(new Float32Array(ROWS));
  const nextObs = obs.slice();
  const reward = new Float32Array(ROWS);
  for (let row = 0; row < ROWS; row++) {
    const at = 4 * row;
    obs[at + 3] = nextObs[at + 3] = 0.5;
    nextObs[at] += 0.3 * obs[at + 1] - 0.2 * action[row] + 0.1;
    nextObs[at + 1] += obs[at] ** 2;
    nextObs[at + 2] += noise[row];
    reward[row] = obs[at];
  }
  return {
    rows: ROWS,
    obs,
    action,
    reward,
    nextObs,
    terminated: new Uint8Array(ROWS),
    truncated: new Uint8Array(ROWS),
  };
}

describe('a fit on held-out rows', () => {
  it('explains what can be known, beside a linear model and no change', async () => {
    const settings = { members: 3, elites: 2, hidden: [32, 32], maxEpochs: 40, minEpochSteps: 30 };
    const { model, heldOut } = await fitEnsemble(records(), SPACES, settings, { rng: Rng.fromSeed(1) });
    const report = heldOut();
    const { members } = model.description.report;
    const byError = [0, 1, 2].sort((a, b) => members[a].holdoutLoss - members[b].holdoutLoss);
    expect(model.description.elites).toEqual(byError.slice(0, 2));
    // A mean absolute error over what changes, which the fourth element never does: no more than the root of the squared ones.
    for (const { holdoutLoss, holdoutMse: mse } of members)
      expect(holdoutLoss).toBeLessThan(
        (Math.sqrt(mse[0]) + Math.sqrt(mse[1]) + Math.sqrt(mse[2]) + Math.sqrt(mse[4])) / 4,
      );
    const r2 = Object.fromEntries(report.elements.map(({ element, r2: figures }) => [element, figures]));
    expect(Object.keys(r2)).toEqual(['obs[0]', 'obs[1]', 'obs[2]', 'obs[3]', 'reward']);
    expect(r2['obs[0]'].model).toBeGreaterThan(0.95);
    expect(r2['obs[0]'].linear).toBeCloseTo(1, 5);
    expect(r2['obs[0]'].unchanged).toBeLessThan(0);
    expect(r2['obs[1]'].model).toBeGreaterThan(0.9);
    expect(r2['obs[1]'].linear).toBeLessThan(0.1);
    for (const figure of Object.values(r2['obs[2]'])) expect(figure).toBeLessThan(0.1);
    expect(r2['obs[3]']).toEqual({ model: null, linear: null, unchanged: null });
    expect(r2['reward'].linear).toBeCloseTo(1, 5);
    expect(report).toMatchObject({ members: 3, maxEpochs: 40 });
    expect(Math.abs(report.rows / ROWS - 0.2)).toBeLessThan(0.05);
    await model.close();
  });
});

/** Like a joint that meets its limit: what follows one row of twenty cannot be told, what follows all others is exact. */
function limited(rows: number) {
  const batch = linearTransitions(rows, Rng.fromSeed(4));
  const coins = Rng.fromSeed(5);
  for (let row = 0; row < rows; row++) {
    const [x, y, u] = [batch.obs[2 * row], batch.obs[2 * row + 1], batch.action[row]];
    const isBeyond = x > 1.6;
    for (const [i, change] of meanChange(x, y, u).entries()) {
      const jump = isBeyond ? 3 * Math.sign(coins.uniform() - 0.5) : change;
      batch.nextObs[2 * row + i] = batch.obs[2 * row + i] + jump;
    }
    batch.reward[row] = meanReward(x, u);
  }
  return batch;
}

describe('rows that cannot be predicted', () => {
  it('leave the others exact', async () => {
    const settings = { members: 3, elites: 2, hidden: [32, 32], maxEpochs: 100, patience: 5 };
    const { model } = await fitEnsemble(limited(3000), linearSpaces, settings, { rng: Rng.fromSeed(1) });
    for (const { holdoutMse, holdoutNll } of model.description.report.members) {
      expect(Math.min(holdoutMse[0], holdoutMse[1])).toBeGreaterThan(0.7);
      expect(holdoutMse[2]).toBeLessThan(1e-4);
      expect(holdoutNll).toBeLessThan(-7);
    }
    await model.close();
  });
});

const EPISODE = 30;
const ALL = linearTransitions(3000, Rng.fromSeed(6));

/** Which of rows [first, end) of ALL are held out and which are trained on, in a ring of `capacity` that they are put in piece by piece. */
function sides(first: number, end: number, settings: object = {}, capacity = 4000) {
  const buffer = new ReplayBuffer({ capacity, obsDim: 2, actionDim: 1, source: 'real' });
  for (let from = first; from < end; from += 70) {
    const rows = Math.min(70, end - from);
    const part = <T extends Float32Array | Uint8Array>(column: T, width: number) =>
      column.slice(from * width, (from + rows) * width) as T;
    const columns = {
      ...{ obs: part(ALL.obs, 2), nextObs: part(ALL.nextObs, 2), action: part(ALL.action, 1) },
      ...{ reward: part(ALL.reward, 1), terminated: part(ALL.terminated, 1), truncated: part(ALL.truncated, 1) },
    };
    buffer.append(
      { rows, ...columns },
      {
        ...{ source: 'real', backend: 'real', modelVersion: '', scenario: 't', policyVersion: 'p', seed: 0 },
        episode: Float64Array.from({ length: rows }, (_, r) => Math.floor((from + r) / EPISODE)),
        step: Uint32Array.from({ length: rows }, (_, r) => (from + r) % EPISODE),
      },
    );
  }
  const config = settleEnsembleConfig(parseEnsembleConfig(settings), { spaces: linearSpaces });
  const { data, normaliser } = prepareData(buffer.rows(), linearSpaces, config, buffer.columns());
  const { mean, scale } = normaliser.input;
  const input = (r: number, j: number) => data.inputs[3 * r + j] * scale[j] + mean[j];
  const rowOf = (r: number) => {
    const [x, action] = [input(r, 0), input(r, 2)];
    return ALL.action.findIndex((own, i) => Math.hypot(own - action, ALL.obs[2 * i] - x) < 1e-4);
  };
  const found = Array.from({ length: data.rows }, (_, r) => rowOf(r));
  return { held: found.slice(0, data.holdoutRows), trained: found.slice(data.holdoutRows) };
}

describe('a row that is held out', () => {
  it('is so at every fit, whatever else there is', () => {
    const early = sides(0, 700);
    const late = sides(0, 1400);
    expect(late.held.filter((row) => row < 700).sort()).toEqual(early.held.toSorted());
    expect(new Set([...late.held, ...late.trained]).size).toBe(1400);
    // A ring that has lost the oldest rows, and a buffer that never had them.
    for (const left of [sides(0, 1400, {}, 500), sides(900, 1400)]) {
      expect(left.held.toSorted()).toEqual(late.held.filter((row) => row >= 900).sort());
      expect(left.trained.toSorted()).toEqual(late.trained.filter((row) => row >= 900).sort());
    }
  });

  it('never trains where there are more than may judge', () => {
    const [all, few] = [sides(0, 1000), sides(0, 1000, { holdoutMaxRows: 20 })];
    expect(few.held).toEqual(all.held.slice(0, 20));
    expect(few.trained).toEqual(all.trained);
  });

  it.each([2, 3, 5, 9])('is one at least of %i, as is one that trains', (rows) => {
    for (const holdout of [0.01, 0.2, 0.99]) {
      const { held, trained } = sides(0, rows, { holdout });
      expect([held.length + trained.length, held.length > 0, trained.length > 0]).toEqual([rows, true, true]);
    }
  });
});
