// An ensemble on a device: the contract of every world model, and the processor's answers to within the rounding of each
// precision. Here the device is the emulation, which runs the kernels as they are, and the processor by vector code; a GPU where
// there is one.

import { beforeAll, describe, expect, it } from 'vitest';
import type { ImagineOptions } from '../../../src/core/dynamics.js';
import { Rng } from '../../../src/core/rng.js';
import { cudaStatus } from '../../../src/nn/cuda.js';
import type { Precision } from '../../../src/nn/cuda-addon.js';
import type { Spaces, StoredDynamics } from '../../../src/worldmodel/dynamics.js';
import type { EnsembleModel } from '../../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../../src/worldmodel/ensemble/fit.js';
import { loadWorldModel } from '../../../src/worldmodel/kinds.js';
import type { VectorPrediction } from '../../../src/worldmodel/memoryless.js';
import { lacksCompiler, make } from '../../native/native-build.js';
import { worldModelContract } from '../contract.js';
import { linearSpaces, linearTransitions, smallConfig } from '../linear-system.js';
import { oneStep } from '../one-step.js';

const brief = { ...smallConfig, hidden: [16, 16], maxEpochs: 3 };
const discreteSpaces: Spaces = {
  observationSpace: { type: 'box', shape: [2], low: [-1, null], high: [1, null] },
  actionSpace: { type: 'discrete', n: 3, start: 1 },
};

const isSkipped = lacksCompiler('device.test.ts');
if (!isSkipped) make('addon');

const { missing } = await cudaStatus();
if (missing !== undefined) console.warn(`device.test.ts tries no GPU: ${missing.problem}.`);
const KINDS = [...(['emulated', 'native'] as const), ...(missing === undefined ? (['cuda'] as const) : [])];
/** Of each precision, how far from the processor's answers a device may be. */
const TOLERANCES: readonly [Precision, number][] = [
  ['fp32', 2e-5],
  ['tf32', 3e-3],
];

async function fitLinear(): Promise<EnsembleModel> {
  return (await fitEnsemble(linearTransitions(600, Rng.fromSeed(1)), linearSpaces, brief, { rng: Rng.fromSeed(2) }))
    .model;
}

async function fitDiscrete(): Promise<EnsembleModel> {
  const data = linearTransitions(600, Rng.fromSeed(1), { edge: 1 });
  data.action.forEach((value, r) => {
    data.action[r] = 2 + Math.round(value);
  });
  const config = { ...brief, learnTermination: true };
  return (await fitEnsemble(data, discreteSpaces, config, { rng: Rng.fromSeed(2) })).model;
}

const SUBJECTS = [
  { name: 'continuous actions', learn: fitLinear, action: (_: number, value: number) => value },
  { name: 'discrete actions, bounds and a learned end', learn: fitDiscrete, action: (r: number) => 1 + (r % 3) },
] as const;

function inputsOf(rows: number, action: (row: number, value: number) => number) {
  const data = linearTransitions(rows, Rng.fromSeed(3));
  return { obs: data.obs, action: data.action.map((value, row) => action(row, value)) };
}

describe.skipIf(isSkipped).each(KINDS)('on a device (%s)', (kind) => {
  const place = { device: { kind, precision: 'fp32' } } as const;
  worldModelContract('an ensemble of discrete actions, with bounds and a learned end', {
    place,
    make: async () => {
      const model = await fitDiscrete();
      await model.close();
      return loadWorldModel(model.snapshot(), place);
    },
    inputs: (rows) => inputsOf(rows, SUBJECTS[1].action),
    givesDisagreement: true,
  });

  describe.each(SUBJECTS)('an ensemble of $name', ({ learn, action }) => {
    const ROWS = 700;
    const { obs, action: actions } = inputsOf(ROWS, action);
    let processor: EnsembleModel;
    beforeAll(async () => {
      processor = await learn();
      return () => processor.close();
    });

    const OPTIONS: readonly ImagineOptions[] = [
      {},
      { propagation: 'mean' },
      { deterministic: true },
      { disagreement: true },
      { propagation: 'mean', deterministic: true, disagreement: true },
    ];

    it.each(TOLERANCES.slice(0, kind === 'native' ? 1 : undefined))(
      'answers as the processor does in %s, to within %f, and moves streams as far',
      async (precision, tolerance) => {
        const device = await loadWorldModel(processor.snapshot(), { device: { kind, precision } });
        try {
          expect(device.modelVersion).toBe(processor.modelVersion);
          for (const options of OPTIONS) {
            const [ours, theirs] = [Rng.fromSeed(7), Rng.fromSeed(7)];
            ours.skip(3);
            theirs.skip(3);
            const wanted = await oneStep(processor, obs, actions, theirs, options);
            expectNear(await oneStep(device, obs, actions, ours, options), wanted, tolerance);
            expect(ours.state()).toEqual(theirs.state());
            await expectSameRows(device, processor, options, tolerance);
          }
        } finally {
          await device.close();
        }
      },
    );

    async function expectSameRows(
      device: StoredDynamics,
      other: StoredDynamics,
      options: ImagineOptions,
      tolerance: number,
    ) {
      const streams = () => Array.from({ length: 40 }, (_, row) => Rng.fromSeed(5).split(row));
      const [ours, theirs] = [streams(), streams()];
      const rows = [obs.slice(0, 80), actions.slice(0, 40)] as const;
      const got = await oneStep(device, ...rows, ours, options);
      expectNear(got, await oneStep(other, ...rows, theirs, options), tolerance);
      expect(ours.map((rng) => rng.state())).toEqual(theirs.map((rng) => rng.state()));
    }

    it('answers what every elite says, as the processor', async () => {
      const device = await loadWorldModel(processor.snapshot(), { device: { kind, precision: 'fp32' } });
      expect(await (device as EnsembleModel).stepElites(obs, actions, ROWS)).toEqual(
        await processor.stepElites(obs, actions, ROWS),
      );
      await device.close();
    });
  });
});

/** Ends may differ where a probability lies on the edge of a draw; with these tolerances, in one row of a hundred at most. */
function expectNear(got: VectorPrediction, wanted: VectorPrediction, tolerance: number): void {
  for (const key of ['nextObs', 'reward', 'disagreement'] as const) {
    expect(got[key]?.length, key).toBe(wanted[key]?.length);
    const worst = (got[key] ?? new Float32Array(0)).reduce((most, value, i) => {
      // Where the reward jumps at an end, a row that ends here and not there differs by the jump.
      const isOther = key === 'reward' && got.terminated[i] !== wanted.terminated[i];
      return isOther ? most : Math.max(most, Math.abs(value - wanted[key]![i]));
    }, 0);
    expect(worst, key).toBeLessThan(tolerance);
  }
  const others = got.terminated.filter((end, row) => end !== wanted.terminated[row]).length;
  expect(others).toBeLessThanOrEqual(tolerance < 1e-4 ? 0 : got.terminated.length / 100);
}
