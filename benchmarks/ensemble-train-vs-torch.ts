// One gradient step of MBPO's ensemble (7 members, each on its own batch of 256 rows, HalfCheetah's shape) against PyTorch:
// mbrl-lib's GaussianMLP, whose members are one batched network, with torch.optim.Adam. One thread each. Ours trains member
// after member, as it does in one worker; data, gather, loss, gradients, decay and Adam included on both sides.

import { Rng } from '../src/core/rng.js';
import { adamScalars } from '../src/nn/parameters.js';
import type { TrainingDevice } from '../src/nn/trainer.js';
import { ensembleConfigSchema } from '../src/worldmodel/ensemble/config.js';
import { memberShapeOf } from '../src/worldmodel/ensemble/contents.js';
import { decayVector, memberLayout, memberTrainer } from '../src/worldmodel/ensemble/members.js';
import type { BenchmarkContext, BenchmarkModule, Measurement } from './benchmark.js';
import { ACTION_DIM, HIDDEN, MEMBERS, OBS_DIM, SPACES, startTorch } from './ensemble-fixture.js';
import { measurePaired, ratioInterval } from './measure.js';

const ROWS = 10_000;
const BATCH = 256;
const LR = 1e-3;

export const onRuntime: BenchmarkModule = { run: (context) => trainingAgainstTorch(context, 'cpu') };
/** By vector code. */
export const native: BenchmarkModule = { run: (context) => trainingAgainstTorch(context, 'native') };

async function trainingAgainstTorch(
  { quick, root, log }: BenchmarkContext,
  device: TrainingDevice,
): Promise<Measurement> {
  const steps = quick ? 5 : 100;
  const rounds = quick ? 2 : 11;
  const peer = await startTorch(root, log);
  const ours = await prepare(steps, device);
  try {
    const shape = { obs_dim: OBS_DIM, action_dim: ACTION_DIM, hidden: HIDDEN[0], layers: HIDDEN.length };
    const training = { members: MEMBERS, rows: ROWS, batch: BATCH, lr: LR, decay: 5e-5 };
    const versions = await peer.call<Record<string, string>>('setup_training', { ...shape, ...training });
    const rates = await measurePaired({
      rounds,
      ours: async () => steps / (await ours.train()),
      baseline: async () => steps / (await peer.call<number>('train', { steps, threads: 1 })),
      log,
    });
    const raw = { oursStepsPerSecond: rates.ours, torchStepsPerSecond: rates.baseline, batch: BATCH, members: MEMBERS };
    return { ...ratioInterval(rates), n: rounds, raw, versions };
  } finally {
    await Promise.all([peer.close(), ours.release()]);
  }
}

/** Answers what trains all members for `steps` steps and says how many seconds that took. */
async function prepare(steps: number, device: TrainingDevice) {
  const config = ensembleConfigSchema.parse({
    ...{ members: MEMBERS, hidden: HIDDEN, lr: LR, batchSize: BATCH },
    ...{ learnReward: true, learnTermination: false },
  });
  const shape = memberShapeOf(SPACES, config);
  const layout = memberLayout(shape, config);
  const trainer = await memberTrainer(shape, config, BATCH, device);
  const rng = Rng.fromSeed(0);
  const inputs = {
    inputs: rng.fillNormal(new Float32Array(ROWS * shape.inputDim)),
    targets: rng.fillNormal(new Float32Array(ROWS * shape.outputDim)),
    terminated: new Float32Array(ROWS),
    weights: new Float32Array(shape.outputDim).fill(1),
    decay: decayVector(layout, config),
  };
  const scalars = Array.from({ length: steps }, (_, i) => adamScalars(i + 1, LR));
  const alpha = Float32Array.from(scalars, (s) => s.alpha);
  const epsilon = Float32Array.from(scalars, (s) => s.epsilon);
  const zeros = () => new Float32Array(layout.size);
  const states = Array.from({ length: MEMBERS }, (_, m) => ({
    theta: layout.init(rng.split(m)),
    m: zeros(),
    v: zeros(),
  }));
  const train = async (): Promise<number> => {
    const start = performance.now();
    for (const state of states) {
      const rows = Int32Array.from({ length: steps * BATCH }, () => rng.int(ROWS));
      await trainer.run({ state, inputs, perStep: { rows, alpha, epsilon }, steps });
    }
    return (performance.now() - start) / 1000;
  };
  return { train, release: () => trainer.release() };
}
