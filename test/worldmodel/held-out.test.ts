// What a fit says of itself on rows held out: how much of each element it explains, beside simple models.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';

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
    expect(report).toMatchObject({ rows: 240, members: 3, maxEpochs: 40 });
    await model.close();
  });
});
