// What batching is worth where many sessions dream of one model: each asks for one step at a time and waits for it, all in
// one worker thread of a host, with the ensemble of MBPO (7 members, 5 elites, 4 x 200, HalfCheetah's shape), one elite a
// row. Two hosts of the same kind take turns, one of them without batches; what sessions are answered is the same.
// HTTP is left out: it costs both the same.

import { Rng } from '../src/core/rng.js';
import type { VectorBlueprint } from '../src/run/serve-vector.js';
import { type RemoteEnvironment, WorkerHost } from '../src/serve/hosts/worker-host.js';

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { ACTION_DIM, makeEnsemble, OBS_DIM } from './ensemble-fixture.js';
import { measurePaired, ratioInterval } from './measure.js';

const SESSIONS = 256;
const MODEL = 'dream';

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 2 : 15;
  const steps = quick ? 1_000 : 20_000;
  const [batched, single] = [new WorkerHost({ workers: 1 }), new WorkerHost({ workers: 1, batchRows: 1 })];
  try {
    log('fitting a small model of made-up data');
    const blueprint = await dream();
    for (const host of [batched, single]) host.add(MODEL, blueprint);
    const [ours, baseline] = await Promise.all([batched, single].map((host) => opened(host)));
    const rates = await measurePaired({
      rounds,
      ours: () => rateOf(ours, steps),
      baseline: () => rateOf(baseline, steps),
      log,
    });
    await Promise.all([...ours, ...baseline].map((session) => session.close()));
    const raw = { batchedStepsPerSecond: rates.ours, singleStepsPerSecond: rates.baseline };
    return { ...ratioInterval(rates), n: rounds, raw };
  } finally {
    await Promise.all([batched.close(), single.close()]);
  }
}

async function dream(): Promise<VectorBlueprint> {
  const model = await makeEnsemble();
  const starts = Rng.fromSeed(1).fillNormal(new Float32Array(64 * OBS_DIM));
  const snapshot = model.snapshot();
  await model.close();
  return { kind: 'vector', env: { id: 'half-cheetah' }, dream: { id: 'half-cheetah', model: snapshot, starts } };
}

async function opened(host: WorkerHost): Promise<readonly RemoteEnvironment[]> {
  return Promise.all(Array.from({ length: SESSIONS }, () => host.make(MODEL)));
}

/** Steps per second of wall time, all sessions together; each starts anew, so that dreams do not wander off. */
async function rateOf(sessions: readonly RemoteEnvironment[], steps: number): Promise<number> {
  await Promise.all(sessions.map((session, i) => session.reset({ seed: i })));
  const each = Math.ceil(steps / sessions.length);
  const began = performance.now();
  await Promise.all(sessions.map((session, i) => live(session, i, each)));
  return (each * sessions.length) / ((performance.now() - began) / 1000);
}

async function live(session: RemoteEnvironment, seed: number, steps: number): Promise<void> {
  const rng = Rng.fromSeed(seed);
  for (let t = 0; t < steps; t++) await session.step(rng.fillUniform(new Float32Array(ACTION_DIM), -1, 1));
}
