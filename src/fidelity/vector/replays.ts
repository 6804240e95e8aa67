// The consistency of a dream: a policy acts in the dream, and what it did there is done once more for real. What it earns
// is worth as much as it promised only if the dream did not mislead it.

import type { VectorEnvironment } from '../../core/environment.js';
import { Acting } from '../../core/policy.js';
import type { Rng } from '../../core/rng.js';
import { batchOfStarts, type Start } from '../../worldmodel/starts.js';
import type { Ground, Judged, Replay } from './ground.js';
import { type Beginning, begunAt, recordedStart } from './open-loop.js';
import { type DriftStart, episodeAt, widths } from './truth.js';

/** One sequence of actions, chosen in the dream; both returns are of the same number of steps at most. */
export interface Replayed {
  readonly dreamt: number;
  readonly real: number;
  /** Whether the episode ended by its task within those steps. */
  readonly dreamtEnd: boolean;
  readonly realEnd: boolean;
}

interface Acted {
  readonly actions: Float32Array[];
  return: number;
  ended: boolean;
}

/** Clock of an environment without one. */
const NO_CLOCK = Number.POSITIVE_INFINITY;

/** One for each beginning; null without a policy. */
export async function replaysOf(
  judged: Judged,
  beginnings: readonly Beginning[],
  rng: Rng,
): Promise<readonly (Replayed | null)[]> {
  const { replay } = judged.ground;
  if (replay === undefined) return beginnings.map(() => null);
  const env = await replay.environment();
  try {
    const places = beginnings.map((beginning, i) => placeOf(judged, beginning, env, rng.split('seed', i)));
    const starts: Start[] = [];
    for (const { put, history } of places) starts.push({ observation: await put(), history });
    const steps = places.map((place) => place.steps);
    const acted =
      judged.subject.model === undefined
        ? await actedAlone(judged, replay, beginnings, steps, rng)
        : await actedTogether(judged, replay, starts, steps, rng);
    const replayed: Replayed[] = [];
    for (const [i, dreamt] of acted.entries()) {
      await places[i].put();
      replayed.push(await doneForReal(env, dreamt));
    }
    return replayed;
  } finally {
    await env.close();
  }
}

interface Place {
  /** Puts the real environment there; answers its observation. */
  readonly put: () => Promise<Float32Array>;
  readonly steps: number;
  /** What was lived before. */
  readonly history?: Start['history'];
}

function placeOf({ ground, subject }: Judged, { row, seed }: Beginning, env: VectorEnvironment, rng: Rng): Place {
  const { truth, plan } = ground;
  const clock = env.maxEpisodeSteps ?? NO_CLOCK;
  const snapshot = seed === undefined ? startAt(ground, row)?.snapshot : undefined;
  if (snapshot !== undefined) {
    const left = clock - (row - episodeAt(truth, row).first);
    const { history } = recordedStart(truth, row, subject.model?.context ?? 0);
    return { put: async () => env.restore(snapshot), steps: Math.min(plan.horizon, left), history };
  }
  const from = seed ?? rng.uint32();
  return { put: async () => (await env.reset({ seed: from })).observation, steps: Math.min(plan.horizon, clock) };
}

function startAt({ truth }: Ground, row: number): DriftStart | undefined {
  return truth.starts.find((start) => start.row === row);
}

/** All dreams side by side in the model. */
async function actedTogether(
  { ground, subject }: Judged,
  { policy }: Replay,
  starts: readonly Start[],
  steps: readonly number[],
  rng: Rng,
): Promise<readonly Acted[]> {
  const { obsDim, actionDim } = widths(ground.truth);
  const { propagation } = ground.plan;
  const model = subject.model!;
  let carry = await begunAt(model, ground.truth, starts, rng);
  let obs = batchOfStarts(starts, { obsDim, actionDim }).starts;
  let living = starts.map((_, i) => i);
  const acting = new Acting(policy, starts.length);
  const acted = starts.map((): Acted => ({ actions: [], return: 0, ended: false }));
  const [actRng, stepRng] = [rng.split('act'), rng.split('step')];
  for (let t = 0; ; t++) {
    const rows = Uint32Array.from(living.keys()).filter((k) => t < steps[living[k]] && !acted[living[k]].ended);
    if (rows.length === 0) return acted;
    carry = model.pick(carry, rows);
    acting.keep(rows);
    obs = rowsOf(obs, rows, obsDim);
    living = Array.from(rows, (k) => living[k]);
    const { action } = await acting.act(obs, actRng);
    const said = await model.imagine(carry, action, stepRng, { propagation });
    carry = said.carry;
    obs = said.observation;
    living.forEach((i, k) => {
      acted[i].actions.push(action.slice(k * actionDim, (k + 1) * actionDim));
      acted[i].return += said.reward[k];
      acted[i].ended = said.terminated[k] === 1;
    });
  }
}

function rowsOf(values: Float32Array, rows: Uint32Array, dim: number): Float32Array {
  const picked = new Float32Array(rows.length * dim);
  for (const [to, row] of rows.entries()) picked.set(values.subarray(row * dim, (row + 1) * dim), to * dim);
  return picked;
}

/** One dream after the other, in an environment that starts itself. */
async function actedAlone(
  { subject }: Judged,
  { policy }: Replay,
  beginnings: readonly Beginning[],
  steps: readonly number[],
  rng: Rng,
): Promise<readonly Acted[]> {
  const all: Acted[] = [];
  for (const [i, { seed }] of beginnings.entries()) {
    const env = await subject.dream(seed!);
    const actRng = rng.split('act', i);
    const acting = new Acting(policy, 1);
    const acted: Acted = { actions: [], return: 0, ended: false };
    try {
      let { observation } = await env.reset({ seed });
      for (let isOver = false; !isOver && acted.actions.length < steps[i]; ) {
        const { action } = await acting.act(observation, actRng);
        const result = await env.step(action);
        observation = result.observation;
        acted.actions.push(action);
        acted.return += result.reward;
        acted.ended = result.terminated;
        isOver = result.terminated || result.truncated;
      }
    } finally {
      await env.close();
    }
    all.push(acted);
  }
  return all;
}

async function doneForReal(env: VectorEnvironment, dreamt: Acted): Promise<Replayed> {
  let real = 0;
  let realEnd = false;
  for (const action of dreamt.actions) {
    const result = await env.step(action);
    real += result.reward;
    realEnd = result.terminated;
    if (result.terminated || result.truncated) break;
  }
  return { dreamt: dreamt.return, real, dreamtEnd: dreamt.ended, realEnd };
}
