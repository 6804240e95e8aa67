import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';

const config = { ...smallConfig, hidden: [16, 16], maxEpochs: 4 };
const data = linearTransitions(800, Rng.fromSeed(1));

async function fitWith(workers: number) {
  const { model, report } = await fitEnsemble(data, linearSpaces, config, {
    rng: Rng.fromSeed(2),
    workers,
  });
  const { parameters, modelVersion } = model;
  await model.close();
  return { parameters, modelVersion, report };
}

describe('training in worker threads', () => {
  it('gives the same bytes with 0 and 2 workers', async () => {
    const here = await fitWith(0);
    expect(here.parameters!.some((value) => value !== 0)).toBe(true);
    expect(await fitWith(2)).toEqual(here);
  });

  it('stops when told to, with the reason it was told', async () => {
    for (const workers of [0, 1]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const long = { ...config, maxEpochs: 10_000, patience: 10_000 };
      const fitting = fitEnsemble(data, linearSpaces, long, {
        rng: Rng.fromSeed(2),
        workers,
        signal: controller.signal,
        onProgress: () => controller.abort(reason),
      });
      await expect(fitting).rejects.toBe(reason);
    }
  });

  it('brings errors back whole', async () => {
    const wild = { ...config, lr: 1, logVarMax: 80, logVarMin: -80 };
    const huge = linearTransitions(800, Rng.fromSeed(1));
    for (const workers of [0, 1]) {
      const fitting = fitEnsemble(
        huge,
        linearSpaces,
        { ...wild, logVarPenalty: 1e38 },
        { rng: Rng.fromSeed(2), workers },
      );
      await expect(fitting).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
    }
  });
});
