// A model held against real episodes: how far it may be trusted follows from how soon it strays.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { tryModel } from '../../src/training/model-trial.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { linearSpaces, linearTransitions, meanChange, smallConfig } from '../worldmodel/linear-system.js';

const EPISODE = 10;

/** Real episodes of the linear system without its noise, or of one in which actions do the opposite. */
function episodes(count: number, sign = 1): ReplayBuffer {
  const rng = Rng.fromSeed(8);
  const buffer = new ReplayBuffer({ capacity: 4000, obsDim: 2, actionDim: 1, source: 'real' });
  const rows = count * EPISODE;
  const batch = allocateBatch(rows, 2, 1);
  rng.fillUniform(batch.action, -1, 1);
  for (let r = 0; r < rows; r++) {
    const isFirst = r % EPISODE === 0;
    const [x, y] = isFirst ? [rng.normal(), rng.normal()] : [batch.nextObs[2 * r - 2], batch.nextObs[2 * r - 1]];
    const [dx, dy] = meanChange(x, y, sign * batch.action[r]);
    batch.obs.set([x, y], 2 * r);
    batch.nextObs.set([x + dx, y + dy], 2 * r);
    batch.truncated[r] = r % EPISODE === EPISODE - 1 ? 1 : 0;
  }
  buffer.append(batch, {
    ...{ source: 'real', backend: 'real', modelVersion: '', scenario: 't', policyVersion: 'p', seed: 0 },
    episode: Float64Array.from({ length: rows }, (_, r) => Math.floor(r / EPISODE)),
    step: Uint32Array.from({ length: rows }, (_, r) => r % EPISODE),
  });
  return buffer;
}

describe('a model tried on real episodes', () => {
  it('is trusted as long as it stays near them, and no longer', async () => {
    const batch = linearTransitions(2000, Rng.fromSeed(1));
    const { model } = await fitEnsemble(batch, linearSpaces, smallConfig, { rng: Rng.fromSeed(2) });
    const options = { from: 0, rng: Rng.fromSeed(3) };
    const like = await tryModel(model, episodes(20), options);
    const unlike = await tryModel(model, episodes(20, -1), options);
    expect(like.r2).toBeGreaterThan(0.8);
    expect(like.trustedSteps).toBeGreaterThan(5);
    expect(like.longest).toBeLessThanOrEqual(EPISODE);
    expect(unlike.trustedSteps).toBeLessThan(like.trustedSteps);
    expect(unlike.r2).toBeLessThan(0.5);
    expect(like.doubt).toBeGreaterThan(0);
    expect(await tryModel(model, episodes(20), options)).toEqual(like);
    await model.close();
  });
});
