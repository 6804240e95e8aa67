// Many steps without looking: how an open-loop simulation drifts away from what really followed, and whether what a policy did
// in the simulation is worth as much for real.

import type { VectorEnvironment } from '../../core/environment.js';
import { Acting } from '../../core/policy.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats, mean } from '../../core/statistics.js';
import type { Finding, Instrument } from '../measure.js';
import type { FidelityChart, Point } from '../report.js';
import { findingOf, metricsOfInfos, metricTable, pointOf, short, shown } from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import {
  byUnit,
  CHUNK_STARTS,
  type Clustered,
  chunkRange,
  chunkRng,
  clusteredMean,
  clusteredRatio,
  clusteredShare,
  difference,
  episodeAt,
  type Ground,
  intervalRng,
  type Judged,
  type Replay,
  type Units,
  widths,
} from './ground.js';
import { type Beginning, beginningsOf, begunAt, openLoop, type Track, unitsOfBeginnings } from './open-loop.js';

/** One simulation. */
export type KStepRow = {
  /** Root mean square over elements of the error after 1, 2, ... steps, in standard deviations of each element; at most WORST. */
  readonly errors: readonly number[];
  /** One sequence of actions that a policy chose in a simulation from here, and what they came to for real; null without a policy. */
  readonly replayed: Replayed | null;
};

type Replayed = {
  readonly dreamt: number;
  readonly real: number;
  /** Whether the episode ended by its task within the steps. */
  readonly dreamtEnd: boolean;
  readonly realEnd: boolean;
};

/** A simulation that is off by this many standard deviations is lost; by how much says nothing, and would drown the others. */
const WORST = 10;

export function kStepsInstrument(judged: Judged): Instrument<KStepRow> {
  const beginnings = beginningsOf(judged);
  return {
    id: 'k-steps',
    unit: 'simulations',
    chunks: Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_STARTS, beginnings.length);
      const own = beginnings.slice(first, end);
      const rng = chunkRng(judged.ground.plan, 'k-steps', chunk);
      const without = { propagation: 'mean', deterministic: true } as const;
      const tracks = await openLoop(judged, own, rng.split('drift'), without);
      const replays = await replaysOf(judged, own, rng.split('replay'));
      return own.map(({ row, steps }, i) => {
        const replay = replays[i];
        const replayed = replay && { ...replay, dreamt: short(replay.dreamt), real: short(replay.real) };
        return { errors: errorsOf(judged.ground, tracks[i], row, steps), replayed };
      });
    },
    conclude: (rows) => concludeKSteps(judged, beginnings, rows),
  };
}

function errorsOf(ground: Ground, track: Track, row: number, steps: number): number[] {
  const obsDim = ground.scales.state.length;
  return Array.from({ length: steps }, (_, t) =>
    t < track.lived ? stateError(ground, track.nextObs.subarray(t * obsDim, (t + 1) * obsDim), row + t) : WORST,
  ).map((error) => Number(error.toPrecision(6)));
}

/** Of `dreamt` as what follows recorded row `row`. */
function stateError({ truth, scales }: Ground, dreamt: ArrayLike<number>, row: number): number {
  const obsDim = scales.state.length;
  let squares = 0;
  for (let j = 0; j < obsDim; j++) {
    const real = truth.rows.nextObs[row * obsDim + j];
    squares += difference(dreamt[j], real, scales.state[j], scales.isDiscrete) ** 2;
  }
  return Math.min(Math.sqrt(squares / obsDim), WORST);
}

const METRICS = metricTable(`
drift                   | lower   | number | Drift | Mean error over all steps of open-loop simulations under the recorded actions, in standard deviations of each element; an error counts as ${WORST} at most.
drift-final             | lower   | number | Drift at the horizon | The same, of the last step of those simulations that were watched up to the horizon.
divergence-steps        | higher  | steps  | Steps to divergence | Expected number of steps before the error first exceeds the tolerance, counted up to the horizon (Kaplan-Meier: simulations whose recorded episode ended earlier count as long as they were watched).
better-than-persistence | higher  | steps  | Steps better than persistence | Steps, from the first on, for which the mean error is smaller than that of predicting no change at all.
better-than-linear      | higher  | steps  | Steps better than a linear model | Steps, from the first on, for which the mean error is smaller than that of a linear model.
consistency-ratio       | neither | number | Consistency ratio | Real return over simulated return of the same actions, chosen by a policy in the simulation: 1 keeps its word, less promises too much; only where no return is negative.
consistency-gap         | neither | return | Consistency gap | Real minus simulated return of a sequence of actions that a policy chose in the simulation: 0 keeps its word, less than 0 promises too much.
ending-kept             | higher  | share  | Endings kept | Share of action sequences chosen in the simulation whose episode, done for real, ends by its task within the same steps if and only if it did in the simulation.
`);

/** Errors of each simulation after 1, 2, ... steps, and of the baselines from the same beginnings. */
type Drifts = Readonly<Record<'model' | 'persistence' | 'linear', readonly (readonly number[])[]>>;

function concludeKSteps(judged: Judged, beginnings: readonly Beginning[], rows: readonly KStepRow[]): Finding {
  const { ground, subject } = judged;
  const { plan } = ground;
  const drifts: Drifts = {
    model: rows.map(({ errors }) => errors),
    persistence: beginnings.map((beginning) => persistenceErrors(ground, beginning)),
    linear: beginnings.map((beginning) => linearErrors(ground, beginning)),
  };
  const units = unitsOfBeginnings(judged, beginnings);
  const found = { ...driftEstimates(ground, drifts, units), ...replayEstimates(ground, rows, units) };
  const byStep = driftByStep(ground, drifts, 'model', units);
  const finding = findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Over ${plan.horizon} steps without looking the simulation is off by ${shown(found.drift.estimate.value)} standard deviations in the mean, and within tolerance for ${shown(found['divergence-steps'].estimate.value)} steps.`,
      charts: charts(ground, drifts, byStep, units),
      tables: [],
      worst: [],
      notes: notesOf(ground, rows, subject.model === undefined),
    },
    metricsOfInfos(METRICS, found),
  );
  // What was watched of a single unit has no interval but its value.
  const drift = byStep.flatMap(({ value, low, high }, t) =>
    value === null ? [] : [{ step: t + 1, value, low: low ?? value, high: high ?? value }],
  );
  return { ...finding, drift };
}

/** Errors after 1, 2, ... steps of staying where the simulation began. */
function persistenceErrors(ground: Ground, { row, steps }: Beginning): number[] {
  const { obsDim } = widths(ground.truth);
  const start = ground.truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim);
  return Array.from({ length: steps }, (_, t) => stateError(ground, start, row + t));
}

/** Errors of the linear model, step by step from its own predictions. */
function linearErrors(ground: Ground, { row, steps }: Beginning): number[] {
  const { truth, linear, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  let obs = Float64Array.from(truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim));
  return Array.from({ length: steps }, (_, t) => {
    const at = (row + t) * actionDim;
    const next = new Float64Array(obsDim);
    linear.predict(row, obs, truth.rows.action.subarray(at, at + actionDim), next);
    obs = scales.isDiscrete ? next.map(Math.round) : next;
    return stateError(ground, obs, row + t);
  });
}

function driftEstimates({ plan }: Ground, drifts: Drifts, units: Units) {
  const rng = (key: string) => intervalRng(plan, 'k-steps', key);
  const last = drifts.model.map((errors) => (errors.length === plan.horizon ? errors[plan.horizon - 1] : null));
  return {
    drift: clusteredMean(drifts.model.map(mean), units, rng('drift')),
    'drift-final': clusteredMean(last, units, rng('drift-final')),
    'divergence-steps': divergenceOf(drifts.model, plan.tolerance, units, rng('divergence-steps')),
    'better-than-persistence': leadOver(drifts, 'persistence', units, rng('better-than-persistence')),
    'better-than-linear': leadOver(drifts, 'linear', units, rng('better-than-linear')),
  };
}

function divergenceOf(errors: Drifts['model'], tolerance: number, units: Units, rng: Rng): Clustered {
  const runs = errors.map((one) => watched(one, tolerance));
  const groups = Array.from({ length: units.count }, (): Watched[] => []);
  runs.forEach((run, i) => {
    groups[units.of[i]].push(run);
  });
  const filled = groups.filter(({ length }) => length > 0);
  const estimate = bootstrapEstimate(filled, (drawn) => meanSteps(drawn.flat()), rng);
  // Where no simulation was seen to diverge, how long they last is not known.
  const isOpen = runs.every(({ hasDiverged }) => !hasDiverged);
  return { estimate: isOpen ? { ...estimate, high: null } : estimate, samples: groups.map(meanSteps) };
}

/** Kept errors are rounded: a lead smaller than that is none. */
const ROUNDING = 1e-5;

/** Steps from the first on that the mean of the model's errors is below that of a baseline. */
function leadOver(drifts: Drifts, baseline: keyof Drifts, units: Units, rng: Rng): Estimate {
  const behind = drifts.model.map((errors, i) => errors.map((error, t) => error + ROUNDING - drifts[baseline][i][t]));
  const lead = (drawn: readonly (readonly number[])[]) => {
    const total = summed(drawn);
    const end = total.findIndex((behindBy) => behindBy >= 0);
    return end < 0 ? total.length : end;
  };
  return bootstrapEstimate(byUnit(behind, units).map(summed), lead, rng);
}

/** Sum of each place over lists of different lengths. */
function summed(lists: readonly (readonly number[])[]): number[] {
  const total: number[] = [];
  for (const list of lists) for (let t = 0; t < list.length; t++) total[t] = (total[t] ?? 0) + list[t];
  return total;
}

function replayEstimates({ plan }: Ground, rows: readonly KStepRow[], units: Units) {
  const rng = (key: string) => intervalRng(plan, 'k-steps', key);
  const of = <T>(value: (replay: Replayed) => T) => rows.map(({ replayed }) => replayed && value(replayed));
  const [real, dreamt] = [of((replay) => replay.real), of((replay) => replay.dreamt)];
  const kept = of((replay) => replay.dreamtEnd === replay.realEnd);
  const gap = of((replay) => replay.real - replay.dreamt);
  return {
    'consistency-ratio': hasNegative(rows) ? NOTHING : clusteredRatio(real, dreamt, units, rng('consistency-ratio')),
    'consistency-gap': clusteredMean(gap, units, rng('consistency-gap')),
    'ending-kept': clusteredShare(kept, units, rng('ending-kept')),
  };
}

function hasNegative(rows: readonly KStepRow[]): boolean {
  return rows.some(({ replayed }) => replayed !== null && Math.min(replayed.real, replayed.dreamt) < 0);
}

function notesOf({ replay, truth, plan }: Ground, rows: readonly KStepRow[], isServed: boolean): readonly string[] {
  const hasSnapshots = truth.starts.some(({ snapshot }) => snapshot !== undefined);
  const isNeverLost = rows.every(({ errors }) => !watched(errors, plan.tolerance).hasDiverged);
  return [
    isServed
      ? 'Simulations begin with episodes: the model starts itself, with the seeds of the recorded ones. How far it starts from them is part of its error.'
      : 'Simulations of the drift are without noise (the mean of the elites); those that a policy acts in are sampled, as training sees them.',
    ...(rows.length === 0
      ? [
          'The recorded transitions do not say how their episodes were begun: a model that starts itself could not be started alike.',
        ]
      : []),
    ...(rows.length > 0 && isNeverLost
      ? [
          'No simulation went beyond the tolerance: the steps to divergence are those that were watched, and how long they would last is not known.',
        ]
      : []),
    replay === undefined
      ? 'No policy acted: consistency was not measured.'
      : `In the simulations that were done again for real, "${replay.name}" acted.`,
    ...(replay !== undefined && !hasSnapshots
      ? [
          'The recorded transitions hold no states of the environment to go back to: those simulations begin at its resets.',
        ]
      : []),
    ...(hasNegative(rows) ? ['Some returns are negative, so that their ratio would mean nothing: see the gap.'] : []),
  ];
}

/** Resamples of each point's band. */
const DRAWS = 300;

/** @param drift of the model, as `driftByStep` says it */
function charts(ground: Ground, drifts: Drifts, drift: readonly Estimate[], units: Units): readonly FidelityChart[] {
  const points = (byStep: readonly Estimate[]) => byStep.flatMap((estimate, t) => pointOf(t + 1, estimate));
  const baselines = (['persistence', 'linear'] as const).map((name) => ({
    name,
    points: points(driftByStep(ground, drifts, name, units)),
  }));
  return [
    {
      kind: 'lines',
      title: 'Drift of open-loop simulations',
      caption:
        'Mean error after so many steps under the recorded actions, of simulations whose recorded episode goes on so long.',
      xTitle: 'Steps without looking',
      yTitle: 'Error (standard deviations)',
      series: [{ name: 'model', points: points(drift) }, ...baselines],
    },
    {
      kind: 'lines',
      title: 'Simulations within tolerance',
      caption: 'Share of simulations that have not been beyond the tolerance so far (Kaplan-Meier).',
      xTitle: 'Steps without looking',
      yTitle: 'Share of simulations',
      series: [{ name: 'model', points: survivalPoints(ground, drifts.model, units) }],
    },
  ];
}

/** Mean error after 1, 2, ... steps, up to the horizon. */
function driftByStep({ plan }: Ground, drifts: Drifts, of: keyof Drifts, units: Units): Estimate[] {
  return Array.from({ length: plan.horizon }, (_, t) => {
    const values = drifts[of].map((errors) => errors[t] ?? null);
    return clusteredMean(values, units, intervalRng(plan, 'k-steps', `${of}-${t}`)).estimate;
  });
}

function survivalPoints({ plan }: Ground, errors: Drifts['model'], units: Units): Point[] {
  const runs = byUnit(
    errors.map((one) => watched(one, plan.tolerance)),
    units,
  );
  return Array.from({ length: plan.horizon }, (_, t) => t).flatMap((t) => {
    const rng = intervalRng(plan, 'k-steps', `survival-${t}`);
    const share = bootstrapEstimate(runs, (drawn) => survival(drawn.flat())[t] ?? null, rng, { draws: DRAWS });
    return pointOf(t + 1, share);
  });
}

// Time to divergence where some simulations are not seen to diverge: their recorded episode was over, or the horizon reached
// (Kaplan and Meier 1958).

export interface Watched {
  /** Steps within tolerance before the first one beyond it, or before nobody could look any more. */
  readonly steps: number;
  readonly hasDiverged: boolean;
}

export function watched(errors: readonly number[], tolerance: number): Watched {
  const first = errors.findIndex((error) => error > tolerance);
  return first < 0 ? { steps: errors.length, hasDiverged: false } : { steps: first, hasDiverged: true };
}

/** Share of simulations that are within tolerance through step 1, 2, ... as far as any was watched. */
export function survival(runs: readonly Watched[]): number[] {
  const longest = runs.reduce((most, { steps, hasDiverged }) => Math.max(most, steps + Number(hasDiverged)), 0);
  const diverged = new Float64Array(longest + 2);
  const unseen = new Float64Array(longest + 2);
  for (const { steps, hasDiverged } of runs) (hasDiverged ? diverged : unseen)[steps + 1]++;
  const curve: number[] = [];
  let atRisk = runs.length;
  let share = 1;
  for (let t = 1; t <= longest; t++) {
    atRisk -= unseen[t];
    share *= 1 - diverged[t] / atRisk;
    atRisk -= diverged[t];
    curve.push(share);
  }
  return curve;
}

/** Expected steps before divergence, counted up to the longest that was watched; null without simulations. */
export function meanSteps(runs: readonly Watched[]): number | null {
  return runs.length === 0 ? null : survival(runs).reduce((sum, share) => sum + share, 0);
}

// The consistency of a simulation: a policy acts in it, and what it did there is done once more for real. What it earns is worth
// as much as it promised only if the simulation did not mislead it.

interface Acted {
  readonly actions: Float32Array[];
  return: number;
  ended: boolean;
}

interface Place {
  /** Puts the real environment there; answers its observation. */
  readonly put: () => Promise<Float32Array>;
  readonly steps: number;
}

/** One for each beginning; null without a policy. */
async function replaysOf(
  judged: Judged,
  beginnings: readonly Beginning[],
  rng: Rng,
): Promise<readonly (Replayed | null)[]> {
  const { replay } = judged.ground;
  if (replay === undefined) return beginnings.map(() => null);
  const env = await replay.environment();
  try {
    const places = beginnings.map((beginning, i) => placeOf(judged, beginning, env, rng.split('seed', i)));
    const starts: Float32Array[] = [];
    for (const { put } of places) starts.push(await put());
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

function placeOf({ ground }: Judged, { row, seed }: Beginning, env: VectorEnvironment, rng: Rng): Place {
  const { truth, plan } = ground;
  const clock = env.maxEpisodeSteps ?? Number.POSITIVE_INFINITY;
  const start = seed === undefined ? truth.starts.find((one) => one.row === row) : undefined;
  if (start?.snapshot !== undefined) {
    const { snapshot } = start;
    const left = clock - (row - episodeAt(truth, row).first);
    return { put: async () => env.restore(snapshot), steps: Math.min(plan.horizon, left) };
  }
  const from = seed ?? rng.uint32();
  return { put: async () => (await env.reset({ seed: from })).observation, steps: Math.min(plan.horizon, clock) };
}

/** All simulations side by side in the model. */
async function actedTogether(
  { ground, subject }: Judged,
  { policy }: Replay,
  starts: readonly Float32Array[],
  steps: readonly number[],
  rng: Rng,
): Promise<readonly Acted[]> {
  const { obsDim, actionDim } = widths(ground.truth);
  const { propagation } = ground.plan;
  const model = subject.model!;
  let carry = await begunAt(model, starts, rng);
  let obs: Float32Array = joinedFloats(starts);
  let living = starts.map((_, i) => i);
  const acting = new Acting(policy, starts.length);
  const acted = starts.map((): Acted => ({ actions: [], return: 0, ended: false }));
  const [actRng, stepRng] = [rng.split('act'), rng.split('step')];
  for (let t = 0; ; t++) {
    const rows = Uint32Array.from(living.keys()).filter((k) => t < steps[living[k]] && !acted[living[k]].ended);
    if (rows.length === 0) return acted;
    carry = model.pick(carry, rows);
    acting.keep(rows);
    const kept = new Float32Array(rows.length * obsDim);
    for (const [to, row] of rows.entries()) kept.set(obs.subarray(row * obsDim, (row + 1) * obsDim), to * obsDim);
    living = Array.from(rows, (k) => living[k]);
    const { action } = await acting.act(kept, actRng);
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

/** One simulation after the other, in an environment that starts itself. */
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
