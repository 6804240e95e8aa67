// The door to devices: what is missing is said, a device computes what the host does, and closed models are errors.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import {
  cudaStatus,
  DeviceEnsemble,
  deviceTrial,
  nativeWidth,
  nativeWidths,
  requireDevice,
} from '../../src/nn/cuda.js';
import type { EnsembleWeights } from '../../src/nn/cuda-addon.js';
import { lacksCompiler, make } from '../native/native-build.js';

const isSkipped = lacksCompiler('cuda.test.ts');
if (!isSkipped) make('addon');
const { missing } = await cudaStatus();
if (missing !== undefined) console.warn(`cuda.test.ts tries no GPU: ${missing.problem}.`);

const filled = (length: number, value: number) => new Float32Array(length).fill(value);
const weights: EnsembleWeights = {
  ...{ obsDim: 1, actionDim: 1, actionChoices: 0, actionStart: 0, learnsReward: false, learnsTermination: false },
  elites: [
    {
      layers: [
        { in: 2, out: 8, w: filled(16, 0.1), b: filled(8, 0) },
        { in: 8, out: 2, w: filled(16, 0.1), b: filled(2, 0) },
      ],
      logVarMin: filled(1, -5),
      logVarMax: filled(1, 0),
    },
  ],
  ...{ inputMean: filled(2, 0), inputScale: filled(2, 1), targetMean: filled(1, 0), targetScale: filled(1, 1) },
  ...{ low: filled(1, Number.NEGATIVE_INFINITY), high: filled(1, Number.POSITIVE_INFINITY) },
};

/** Few rows, which the caller waits for, and many, which threads share. */
async function steppedBy(width: string, threads: number) {
  process.env['REVERIE_NATIVE_WIDTH'] = width;
  try {
    const ensemble = await DeviceEnsemble.open({ kind: 'native', precision: 'fp32', threads }, weights);
    const answers = [await step(ensemble, 3), await step(ensemble, 100_000)];
    await ensemble.close();
    return answers.map(({ nextObs }) => createHash('sha256').update(nextObs).digest('hex'));
  } finally {
    delete process.env['REVERIE_NATIVE_WIDTH'];
  }
}

function step(ensemble: DeviceEnsemble, rows: number) {
  const options = { isTs1: true, isDeterministic: false, withDisagreement: false };
  return ensemble.step({ rows, obs: filled(rows, 0), action: filled(rows, 0), rng: Rng.fromSeed(1), ...options });
}

describe.skipIf(isSkipped)('a device', () => {
  it('computes the same each time', async () => {
    expect(await deviceTrial('emulated')).toBe(0);
  });

  it('computes the same by vector code as by the kernels, and the same bytes whatever the width and the threads', async () => {
    expect(await deviceTrial('native')).toBeLessThan(1e-5);
    expect(nativeWidths().at(-1)).toBe('plain');
    const answers = [];
    for (const width of nativeWidths()) {
      for (const threads of [1, 4]) answers.push(await steppedBy(width, threads));
    }
    expect(nativeWidth()).toBe(nativeWidths()[0]);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  it('is an error that names the widths there are where another is asked for', async () => {
    await expect(steppedBy('mmx', 1)).rejects.toMatchObject({
      code: 'DEVICE_UNAVAILABLE',
      message: expect.stringMatching(/REVERIE_NATIVE_WIDTH is "mmx".*plain/),
    });
  });

  it.skipIf(missing !== undefined)('computes what the host does (GPU)', async () => {
    expect(await deviceTrial('cuda')).toBeLessThan(1e-4);
  });

  it.skipIf(missing === undefined)('that is not there is an error that names what is missing', async () => {
    expect(missing!.problem.length).toBeGreaterThan(5);
    expect(missing!.hint.length).toBeGreaterThan(10);
    const asked = requireDevice({ kind: 'cuda', precision: 'tf32' });
    await expect(asked).rejects.toMatchObject({ code: 'CUDA_UNAVAILABLE', hint: missing!.hint });
  });

  it.each(['emulated', 'native'] as const)(
    '(%s) answers in the order it was asked, and is an error once closed',
    async (kind) => {
      const ensemble = await DeviceEnsemble.open({ kind, precision: 'fp32' }, weights);
      expect(ensemble.bytes).toBeGreaterThan(0);
      const [none, one, again] = await Promise.all([step(ensemble, 0), step(ensemble, 3), step(ensemble, 3)]);
      expect(none.nextObs).toHaveLength(0);
      expect(again).toEqual(one);
      const last = step(ensemble, 2);
      await ensemble.close();
      expect((await last).nextObs).toHaveLength(2);
      await ensemble.close();
      await expect(step(ensemble, 1)).rejects.toMatchObject({ code: 'SESSION_RELEASED' });
    },
  );
});
