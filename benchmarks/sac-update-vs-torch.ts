// Gradient steps of SAC by vector code (`--device native`) against PyTorch with the same losses, one thread each: batches are given,
// noise is drawn on both sides. PyTorch's losses run as they are or compiled, whichever is faster here. The value is that of the
// defaults with HalfCheetah's spaces; beside it are Pendulum's, the sizes of SAC's paper, and the same steps on ONNX Runtime.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { type UpdateShape, updates } from './learner-updates.js';
import { measurePaired, type PairedRates, ratioInterval } from './measure.js';
import { PythonPeer } from './python-peer.js';

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
      const [native, runtime] = [await updates('sac', 'native', shape), await updates('sac', 'cpu', shape)];
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
