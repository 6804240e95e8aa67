// What a memory is worth where observations hide something: the recurrent latent model against the ensemble on a pendulum whose
// velocity is not shown. Both learn from the same real rows, are led through the same held-out episodes and then imagine on
// their own, and plan for the same planner in the real environment.

import type { SyncVectorEnvironment } from '../src/core/environment.js';
import { Rng } from '../src/core/rng.js';
import { hideElements, makeEnvironment } from '../src/env/index.js';
import { allocateBatch } from '../src/replay/index.js';
import { CemPlanner } from '../src/rl/index.js';
import { fitEnsemble, type VectorDynamics } from '../src/worldmodel/index.js';
import type { EpisodeRows } from '../src/worldmodel/latent/dataset.js';
import { fitLatent } from '../src/worldmodel/latent/fit.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, median } from './measure.js';

const SEEDS = [100, 101, 102, 103, 104];
const VELOCITY = 2;
const ROWS = 6000;
const HELD_OUT_ROWS = 4000;
/** Real steps that a model is shown before it imagines, and steps it imagines. */
const SHOWN = 8;
const STEPS = 10;
const EPISODES = 3;
const PLAN = { horizon: 15, candidates: 96, elites: 10, rounds: 3 };

interface Judged {
  /** Root mean square error of the observation after 1 … STEPS steps. */
  readonly errors: readonly number[];
  /** Mean real return of the planner. */
  readonly return: number;
}

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const seeds = quick ? SEEDS.slice(0, 1) : SEEDS;
  const raw: { seed: number; ensemble: Judged; latent: Judged }[] = [];
  for (const seed of seeds) {
    const result = await oneSeed(seed, quick);
    raw.push({ seed, ...result });
    log(`seed ${seed}: ratio ${ratioOf(result).toFixed(2)}, ${JSON.stringify(result)}`);
  }
  const returns = bootstrap(
    raw.map(({ latent, ensemble }) => latent.return - ensemble.return),
    median,
  );
  const settings = { rows: ROWS, shown: SHOWN, steps: STEPS, episodes: EPISODES, planner: PLAN };
  return {
    ...bootstrap(raw.map(ratioOf), median),
    n: seeds.length,
    raw: { settings, seeds: raw, returnGain: returns },
  };
}

/** Mean error over all steps: the ensemble's ÷ the latent model's. */
function ratioOf({ ensemble, latent }: { ensemble: Judged; latent: Judged }): number {
  const sum = (errors: readonly number[]) => errors.reduce((total, error) => total + error, 0);
  return sum(ensemble.errors) / sum(latent.errors);
}

async function oneSeed(seed: number, quick: boolean): Promise<{ ensemble: Judged; latent: Judged }> {
  const env = hideElements(await makeEnvironment({ id: 'pendulum' }), [VELOCITY]);
  const { observationSpace, actionSpace } = env;
  const spaces = { observationSpace, actionSpace };
  const rng = Rng.fromSeed(seed);
  const data = record(env, quick ? 600 : ROWS, rng.split('record'));
  const heldOut = record(env, quick ? 600 : HELD_OUT_ROWS, rng.split('held out'));
  const networks = { hidden: [64, 64] };
  const judge = async (model: VectorDynamics): Promise<Judged> => {
    try {
      const errors = await openLoopErrors(model, heldOut);
      return { errors, return: await plannedReturn(model, env, quick ? 1 : EPISODES, rng.split('plan')) };
    } finally {
      await model.close();
    }
  };
  // As patient as the latent model: it is not stopped before it has learned what can be.
  const ensemble = await fitEnsemble(
    data.batch,
    spaces,
    { ...networks, members: 5, elites: 5, patience: 20, ...(quick && { maxEpochs: 2 }) },
    { rng: rng.split('fit') },
  );
  const latent = await fitLatent(
    data,
    spaces,
    { ...networks, ...(quick && { maxSteps: 50 }) },
    { rng: rng.split('fit') },
  );
  return { ensemble: await judge(ensemble.model), latent: await judge(latent.model) };
}

/** Real rows under random torques, each held for up to eight steps so that the pendulum gets somewhere. */
function record(env: SyncVectorEnvironment, rows: number, rng: Rng): EpisodeRows {
  const batch = allocateBatch(rows, 2, 1);
  const episode = new Float64Array(rows);
  const step = new Uint32Array(rows);
  let obs = env.reset({ seed: rng.uint32() }).observation;
  let [number, t, torque, held] = [0, 0, 0, 0];
  for (let row = 0; row < rows; row++) {
    if (held-- <= 0) [torque, held] = [4 * rng.uniform() - 2, rng.int(8)];
    const result = env.step(Float32Array.of(torque));
    batch.obs.set(obs, 2 * row);
    batch.action[row] = torque;
    batch.reward[row] = result.reward;
    batch.nextObs.set(result.observation, 2 * row);
    batch.truncated[row] = result.truncated ? 1 : 0;
    [episode[row], step[row]] = [number, t++];
    obs = result.observation;
    if (result.truncated) [obs, number, t] = [env.reset().observation, number + 1, 0];
  }
  return { batch, episode, step };
}

async function openLoopErrors(model: VectorDynamics, { batch, episode, step }: EpisodeRows): Promise<number[]> {
  const starts = Array.from({ length: batch.rows - SHOWN - STEPS }, (_, i) => i + SHOWN).filter(
    (row) => row % 7 === 0 && step[row] >= SHOWN && episode[row] === episode[row + STEPS],
  );
  const rows = starts.length;
  const obsAt = (t: number) =>
    Float32Array.from({ length: 2 * rows }, (_, i) => batch.obs[2 * (starts[i >> 1] + t) + (i & 1)]);
  const actionAt = (t: number) => Float32Array.from(starts, (row) => batch.action[row + t]);
  const rng = Rng.fromSeed(0);
  let carry = await model.begin(obsAt(-SHOWN), rng);
  for (let t = -SHOWN; t < 0; t++) carry = await model.follow(carry, actionAt(t), obsAt(t + 1));
  const errors: number[] = [];
  for (let t = 0; t < STEPS; t++) {
    const imagined = await model.imagine(carry, actionAt(t), rng, { deterministic: true, propagation: 'mean' });
    const real = obsAt(t + 1);
    const squares = imagined.observation.reduce((sum, value, i) => sum + (value - real[i]) ** 2, 0);
    errors.push(Math.sqrt(squares / real.length));
    carry = imagined.carry;
  }
  return errors;
}

async function plannedReturn(
  model: VectorDynamics,
  env: SyncVectorEnvironment,
  episodes: number,
  rng: Rng,
): Promise<number> {
  const planner = new CemPlanner(model, PLAN);
  let total = 0;
  for (let episode = 0; episode < episodes; episode++) {
    planner.reset();
    const start = env.reset({ seed: rng.split('episode', episode).uint32() }).observation;
    let carry = await model.begin(start, rng);
    for (let t = 0, over = false; !over; t++) {
      const action = await planner.plan(carry, rng.split('step', episode * 1000 + t));
      const { observation, reward, terminated, truncated } = env.step(action);
      carry = await model.follow(carry, action, observation);
      total += reward;
      over = terminated || truncated;
    }
  }
  return total / episodes;
}
