// Gradient steps of learners a second, on rows made up.

import { Rng } from '../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../src/env/space-values.js';
import type { TrainingDevice } from '../src/nn/trainer.js';
import { allocateBatch } from '../src/replay/columns.js';
import type { ReplayLearner } from '../src/rl/learner.js';
import { makeLearner } from '../src/rl/learners.js';
import type { BenchmarkModule } from './benchmark.js';
import { measurePaired, type PairedRates, ratioInterval } from './measure.js';
import { PythonPeer } from './python-peer.js';

interface UpdateShape {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly hidden: readonly number[];
  readonly batchSize: number;
  /** Gradient steps of a round. */
  readonly steps: number;
}

/** What answers the gradient steps a second of a learner, call after call. */
async function updates(
  learner: string,
  device: TrainingDevice,
  { obsDim, actionDim, hidden, batchSize, steps }: UpdateShape,
) {
  const spaces = {
    observationSpace: unboundedSpace(obsDim),
    actionSpace: boxSpace(new Array(actionDim).fill(-1), new Array(actionDim).fill(1)),
  };
  const rng = Rng.fromSeed(0);
  const settings = { hidden, batchSize };
  const made = (await makeLearner(learner, settings, spaces, rng.split('learner'), device)) as ReplayLearner;
  const batch = allocateBatch(steps * batchSize, obsDim, actionDim);
  rng.fillUniform(batch.action, -1, 1);
  for (const column of [batch.obs, batch.nextObs, batch.reward]) rng.fillNormal(column);
  const rate = async () => {
    const start = performance.now();
    await made.update(batch, steps, rng);
    return steps / ((performance.now() - start) / 1000);
  };
  return { rate, close: () => made.close() };
}

const HALF_CHEETAH = { obsDim: 17, actionDim: 6 };
const SMALL: UpdateShape = { ...HALF_CHEETAH, hidden: [64, 64], batchSize: 64, steps: 40 };
const LARGE: UpdateShape = { ...HALF_CHEETAH, hidden: [256, 256], batchSize: 256, steps: 20 };

const CASES = {
  redq: { learner: 'redq', shape: SMALL },
  'redq, 256': { learner: 'redq', shape: LARGE },
  droq: { learner: 'droq', shape: SMALL },
  'droq, 256': { learner: 'droq', shape: LARGE },
};

/**
 * Ensembles of critics by vector code (`--device native`) against the same steps on ONNX Runtime: noise, members and dropout are drawn on
 * both sides. A step is one of all critics; that of the policy comes once in twenty. The value is that of REDQ's defaults.
 */
export const redqVsRuntime: BenchmarkModule = {
  async run({ quick, log }) {
    const rounds = quick ? 2 : 11;
    const ratios: Record<string, ReturnType<typeof ratioInterval>> = {};
    const raw: Record<string, unknown> = {};
    for (const [name, { learner, shape }] of Object.entries(CASES)) {
      const [native, runtime] = [await updates(learner, 'native', shape), await updates(learner, 'cpu', shape)];
      log(name);
      const rates = await measurePaired({ rounds, ours: native.rate, baseline: runtime.rate, log });
      ratios[name] = ratioInterval(rates);
      raw[name] = { ratio: ratios[name], stepsPerSecond: rates.ours, runtimeStepsPerSecond: rates.baseline };
      await Promise.all([native.close(), runtime.close()]);
    }
    return { ...ratios['redq'], n: rounds, raw };
  },
};

const SHAPES = {
  'half-cheetah': { obsDim: 17, actionDim: 6, hidden: [64, 64], batchSize: 64, steps: 200 },
  pendulum: { obsDim: 3, actionDim: 1, hidden: [64, 64], batchSize: 64, steps: 200 },
  'half-cheetah, 256': { obsDim: 17, actionDim: 6, hidden: [256, 256], batchSize: 256, steps: 20 },
} satisfies Record<string, UpdateShape>;

const REQUIREMENTS = ['torch==2.15.0', 'numpy==2.4.6'];

interface SetUp {
  readonly versions: Readonly<Record<string, string>>;
  readonly seconds: Readonly<Record<'eager' | 'compiled', number>>;
}

/**
 * SAC by vector code against PyTorch with the same losses, one thread each: noise is drawn on both sides. PyTorch's losses run as they are
 * or compiled, whichever is faster here. The value is that of the defaults with HalfCheetah's spaces.
 */
export const sacVsTorch: BenchmarkModule = {
  async run({ quick, root, log }) {
    const rounds = quick ? 2 : 11;
    const peer = await PythonPeer.start({
      ...{ name: 'torch-sac', requirements: REQUIREMENTS, script: 'torch_sac.py', root, log },
      environment: { OMP_NUM_THREADS: '1' },
    });
    try {
      const raw: Record<string, unknown> = {};
      const rates: Record<string, PairedRates> = {};
      let versions: SetUp['versions'] = {};
      for (const [name, shape] of Object.entries(SHAPES)) {
        const { obsDim, actionDim, hidden, batchSize, steps } = shape;
        const sizes = { obs_dim: obsDim, action_dim: actionDim, hidden, batch: batchSize };
        const setUp = await peer.call<SetUp>('setup', { ...sizes, steps, lr: 1e-3, tau: 0.01 });
        versions = setUp.versions;
        log(`${name}: PyTorch takes ${setUp.seconds.eager} s as it is, ${setUp.seconds.compiled} s compiled`);
        const native = await updates('sac', 'native', shape);
        const baseline = async () => steps / (await peer.call<number>('update'));
        rates[name] = await measurePaired({ rounds, ours: native.rate, baseline, log });
        raw[name] = {
          ...{ ratio: ratioInterval(rates[name]), torchSetUpSeconds: setUp.seconds },
          ...{ stepsPerSecond: rates[name].ours, torchStepsPerSecond: rates[name].baseline },
        };
        await native.close();
      }
      return { ...ratioInterval(rates['half-cheetah']), n: rounds, raw, versions };
    } finally {
      await peer.close();
    }
  },
};
