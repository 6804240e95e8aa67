// Prioritised replay as a learner uses it: draw a batch with all its columns and importance weights, then set the
// priorities of its rows. Ours against cpprb (C++ core, Python surface), same rows, same options, taking turns.

import { Rng } from '../src/core/rng.js';
import { ReplayBuffer } from '../src/replay/buffer.js';
import { allocateBatch } from '../src/replay/columns.js';
import { PrioritizedSelector } from '../src/replay/selectors.js';
import type { Provenance } from '../src/replay/transition.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, ratioInterval } from './measure.js';
import { PythonPeer } from './python-peer.js';

const OBS_DIM = 17;
const ACTION_DIM = 6;
const ALPHA = 0.6;
const BETA = 0.4;
const EPSILON = 1e-6;
const BATCH = 256;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const capacity = quick ? 20_000 : 1_000_000;
  const iterations = quick ? 50 : 1500;
  const rounds = quick ? 3 : 11;
  const requirements = ['cpprb==11.0.0', 'numpy==2.2.6'];
  const peer = await PythonPeer.start({ name: 'cpprb', requirements, script: 'cpprb_prioritized.py', root, log });
  try {
    log(`filling two buffers of ${capacity} rows`);
    const dimensions = { capacity, obs_dim: OBS_DIM, action_dim: ACTION_DIM };
    const { numpy } = await peer.call<{ numpy: string }>('setup', {
      ...dimensions,
      alpha: ALPHA,
      epsilon: EPSILON,
      batch: BATCH,
      seed: 0,
    });
    const ours = prepare(capacity);
    const rates = await measurePaired({
      rounds,
      ours: () => (BATCH * iterations) / ours(iterations),
      baseline: async () => (BATCH * iterations) / (await peer.call<number>('run', { iterations, beta: BETA })),
      log,
    });
    const raw = { oursRowsPerSecond: rates.ours, cpprbRowsPerSecond: rates.baseline, capacity, batch: BATCH };
    return { ...ratioInterval(rates), n: rounds, raw, versions: { cpprb: '11.0.0', numpy } };
  } finally {
    await peer.close();
  }
}

/** Answers what runs so many draws and updates and says how many seconds they took. */
function prepare(capacity: number): (iterations: number) => number {
  const rng = Rng.fromSeed(0);
  const buffer = new ReplayBuffer({ capacity, obsDim: OBS_DIM, actionDim: ACTION_DIM, source: 'real' });
  const selector = new PrioritizedSelector(buffer, { alpha: ALPHA, beta: BETA, epsilon: EPSILON });
  fill(buffer, selector, rng);
  const indices = new Uint32Array(BATCH);
  const weights = new Float32Array(BATCH);
  const batch = allocateBatch(BATCH, OBS_DIM, ACTION_DIM);
  const priorities = Array.from({ length: 64 }, () => rng.fillUniform(new Float32Array(BATCH)));
  return (iterations) => {
    const start = performance.now();
    for (let i = 0; i < iterations; i++) {
      selector.sample(BATCH, rng, indices, weights);
      buffer.gather(indices, batch);
      selector.update(indices, priorities[i % 64]);
    }
    return (performance.now() - start) / 1000;
  };
}

function fill(buffer: ReplayBuffer, selector: PrioritizedSelector, rng: Rng): void {
  const chunk = Math.min(buffer.capacity, 10_000);
  const provenance: Provenance = {
    source: 'real',
    backend: 'real',
    modelVersion: '',
    scenario: 'benchmark',
    policyVersion: 'none',
    seed: 0,
    episode: new Float64Array(chunk),
    step: new Uint32Array(chunk),
  };
  while (buffer.inserted < buffer.capacity) {
    const first = buffer.inserted;
    const rows = allocateBatch(chunk, OBS_DIM, ACTION_DIM);
    for (const column of [rows.obs, rows.action, rows.reward, rows.nextObs]) rng.fillUniform(column);
    buffer.append(rows, provenance);
    selector.update(
      Uint32Array.from({ length: chunk }, (_, i) => first + i),
      rng.fillUniform(new Float32Array(chunk)),
    );
  }
}
