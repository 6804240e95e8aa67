// Gradient steps of SAC by vector code (`--device native`) against PyTorch with the same losses, one thread each: batches are given,
// noise is drawn on both sides. PyTorch's losses run as they are or compiled, whichever is faster here. The value is that of the
// defaults with HalfCheetah's spaces; beside it are Pendulum's, the sizes of SAC's paper, and the same steps on ONNX Runtime.

import { Rng } from '../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../src/env/index.js';
import type { TrainingDevice } from '../src/nn/index.js';
import { allocateBatch } from '../src/replay/index.js';
import { makeLearner, type ReplayLearner } from '../src/rl/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, type PairedRates, ratioInterval } from './measure.js';
import { PythonPeer } from './python-peer.js';

interface Shape {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly hidden: readonly number[];
  readonly batchSize: number;
  /** Gradient steps of a round. */
  readonly steps: number;
}

const SHAPES = {
  'half-cheetah': { obsDim: 17, actionDim: 6, hidden: [64, 64], batchSize: 64, steps: 200 },
  pendulum: { obsDim: 3, actionDim: 1, hidden: [64, 64], batchSize: 64, steps: 200 },
  'half-cheetah, 256': { obsDim: 17, actionDim: 6, hidden: [256, 256], batchSize: 256, steps: 20 },
} satisfies Record<string, Shape>;

const REQUIREMENTS = ['torch==2.15.0', 'numpy==2.4.6'];

interface SetUp {
  readonly versions: Readonly<Record<string, string>>;
  readonly seconds: Readonly<Record<'eager' | 'compiled', number>>;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
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
      const [native, runtime] = [await updates('native', shape), await updates('cpu', shape)];
      const baseline = async () => steps / (await peer.call<number>('update'));
      rates[name] = await measurePaired({ rounds, ours: native.rate, baseline, log });
      const overRuntime = await measurePaired({ rounds, ours: native.rate, baseline: runtime.rate, log });
      raw[name] = {
        ...{ ratio: ratioInterval(rates[name]), nativeOverRuntime: ratioInterval(overRuntime) },
        ...{ stepsPerSecond: rates[name].ours, torchStepsPerSecond: rates[name].baseline },
        ...{ runtimeStepsPerSecond: overRuntime.baseline, torchSetUpSeconds: setUp.seconds },
      };
      await Promise.all([native.close(), runtime.close()]);
    }
    return { ...ratioInterval(rates['half-cheetah']), n: rounds, raw, versions };
  } finally {
    await peer.close();
  }
}

/** What answers the gradient steps a second of a learner, call after call. */
async function updates(device: TrainingDevice, { obsDim, actionDim, hidden, batchSize, steps }: Shape) {
  const spaces = {
    observationSpace: unboundedSpace(obsDim),
    actionSpace: boxSpace(new Array(actionDim).fill(-1), new Array(actionDim).fill(1)),
  };
  const rng = Rng.fromSeed(0);
  const learner = (await makeLearner(
    'sac',
    { hidden, batchSize },
    spaces,
    rng.split('learner'),
    device,
  )) as ReplayLearner;
  const batch = allocateBatch(steps * batchSize, obsDim, actionDim);
  rng.fillUniform(batch.action, -1, 1);
  for (const column of [batch.obs, batch.nextObs, batch.reward]) rng.fillNormal(column);
  const rate = async () => {
    const start = performance.now();
    await learner.update(batch, steps, rng);
    return steps / ((performance.now() - start) / 1000);
  };
  return { rate, close: () => learner.close() };
}
