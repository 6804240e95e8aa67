// Many steps. Of numbers: how an open-loop simulation drifts away from what really followed. Of tools: real episodes' calls carried out
// open loop in the simulation, and episodes whose calls were chosen in it carried out for real (the consistency ratio of Word2World,
// 2512.18832: success for real over success in the simulation).

import type { Rng } from '../core/rng.js';
import { joinedFloats, mean } from '../core/statistics.js';
import {
  type DriftPoint,
  estimateIn,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  meanOf,
  metricTable,
  percent,
  pointOf,
  type Sampled,
  shareOf,
  shown,
  streamOf,
} from './section.js';
import { bootstrapEstimate, type Estimate, shareEstimate } from './statistics.js';
import { constructed } from './tools/answers.js';
import {
  CHUNK_EPISODES,
  type OpenLoopRow,
  type OpenLoopStep,
  openLoopRow,
  type SimulatedRow,
} from './tools/episodes.js';
import type { ToolsJudged } from './tools/judged.js';
import {
  chunkRange,
  chunkRng,
  clusteredMean,
  difference,
  type Ground,
  intervalRng,
  type Judged,
  stepsFrom,
  type Units,
  widths,
} from './vector/ground.js';

const ABOUT = { id: 'k-steps', title: 'Many steps' } as const;

// Of numbers.

/** One simulation. */
type KStepRow = {
  /** Root mean square over elements of the error after 1, 2, ... steps, in standard deviations of each element; at most WORST. */
  readonly errors: readonly number[];
};

/** Starts of a chunk of simulations. */
const CHUNK_STARTS = 32;

/** A simulation that is off by this many standard deviations is lost; by how much says nothing, and would drown the others. */
const WORST = 10;

export function vectorKSteps(judged: Judged): Instrument<KStepRow> {
  const { ground } = judged;
  const obsDim = ground.scales.state.length;
  const { starts } = ground.truth;
  const beginnings = starts.map((row) => ({ row, steps: stepsFrom(ground.truth, row, ground.plan.horizon) }));
  return {
    id: 'k-steps',
    chunks: Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_STARTS, beginnings.length);
      const own = beginnings.slice(first, end);
      const rng = chunkRng(ground.plan, 'k-steps', chunk).split('drift');
      const tracks = await openLoop(judged, own, rng);
      return own.map(({ row, steps }, i) => {
        const { length, nextObs } = tracks[i];
        const errors = Array.from({ length: steps }, (_, t) =>
          t < length ? stateError(ground, nextObs.subarray(t * obsDim, (t + 1) * obsDim), row + t) : WORST,
        );
        return { errors: errors.map((error) => Number(error.toPrecision(6))) };
      });
    },
    conclude: (rows) => concludeVector(judged, beginnings, rows),
  };
}

/** Of `simulated` as what follows recorded row `row`. */
function stateError({ truth, scales }: Ground, simulated: ArrayLike<number>, row: number): number {
  const obsDim = scales.state.length;
  let squares = 0;
  for (let j = 0; j < obsDim; j++) {
    const real = truth.rows.nextObs[row * obsDim + j];
    squares += difference(simulated[j], real, scales.state[j], scales.isDiscrete) ** 2;
  }
  return Math.min(Math.sqrt(squares / obsDim), WORST);
}

const VECTOR_METRICS = metricTable(`
drift                   | lower   | number | Drift | Mean error of the steps of an open-loop simulation under the recorded actions, averaged over simulations, in standard deviations of each element; an error counts as ${WORST} at most.
divergence-steps        | higher  | steps  | Steps to divergence | Mean number of steps before the error first exceeds the tolerance; all that were recorded, up to the horizon, where it never does.
`);

/** Errors of each simulation after 1, 2, ... steps. */
type Drifts = readonly (readonly number[])[];

function concludeVector(judged: Judged, beginnings: readonly Beginning[], rows: readonly KStepRow[]): Finding {
  const { ground } = judged;
  const { plan, truth } = ground;
  const obsDim = ground.scales.state.length;
  const model = rows.map(({ errors }) => errors);
  const still = beginnings.map(({ row, steps }) => {
    const start = truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim);
    return Array.from({ length: steps }, (_, t) => stateError(ground, start, row + t));
  });
  // Those of one stretch of an episode share what happened.
  const units = { ...ground.units, of: Uint32Array.from(beginnings, ({ row }) => ground.units.of[row]) };
  const rng = (key: string) => intervalRng(plan, 'k-steps', key);
  const found = {
    drift: clusteredMean(model.map(mean), units, rng('drift')),
    'divergence-steps': divergenceOf(model, plan.tolerance, units, rng('divergence-steps')),
  };
  const byStep = (of: Drifts, name: string) =>
    Array.from({ length: plan.horizon }, (_, t) => {
      const values = of.map((errors) => errors[t] ?? null);
      return clusteredMean(values, units, rng(`${name}-${t}`)).estimate;
    });
  const drift = byStep(model, 'model');
  const points = (estimates: readonly Estimate[]) => estimates.flatMap((estimate, t) => pointOf(t + 1, estimate));
  const finding = findingOf(
    {
      ...ABOUT,
      summary: `Over ${plan.horizon} steps without looking the simulation is off by ${shown(found.drift.estimate.value)} standard deviations in the mean, and within tolerance for ${shown(found['divergence-steps'].estimate.value)} steps.`,
      charts: [
        {
          kind: 'lines',
          title: 'Drift of open-loop simulations',
          caption:
            'Mean error after so many steps under the recorded actions. The trust horizon ends where the upper edge of the band first leaves the tolerance.',
          xTitle: 'Steps without looking',
          yTitle: 'Error (standard deviations)',
          series: [
            { name: 'model', points: points(drift) },
            { name: 'persistence', points: points(byStep(still, 'persistence')) },
            { name: 'tolerance', points: drift.map((_, t) => ({ x: t + 1, y: plan.tolerance })) },
          ],
        },
      ],
      notes: vectorNotes(ground, model),
    },
    figuresOf(VECTOR_METRICS, found),
  );
  return { ...finding, drift: drift.flatMap(driftPoint) };
}

/** What was watched of a single unit has no interval but its value. */
function driftPoint({ value, low, high }: Estimate, t: number): DriftPoint[] {
  return value === null ? [] : [{ step: t + 1, value, low: low ?? value, high: high ?? value }];
}

function vectorNotes({ plan }: Ground, model: Drifts): readonly string[] {
  const isNeverLost = model.every((errors) => divergedAt(errors, plan.tolerance) < 0);
  return [
    'Simulations are without noise (the mean of the elites).',
    ...(isNeverLost
      ? [
          'No simulation went beyond the tolerance: the steps to divergence are those that were watched, and how long they would last is not known.',
        ]
      : []),
  ];
}

/** Steps within tolerance before the first one beyond it; -1 where there is none. */
function divergedAt(errors: readonly number[], tolerance: number): number {
  return errors.findIndex((error) => error > tolerance);
}

function divergenceOf(model: Drifts, tolerance: number, units: Units, rng: Rng): Sampled {
  const steps = model.map((errors) => divergedAt(errors, tolerance));
  const watched = steps.map((step, i) => (step < 0 ? model[i].length : step));
  const found = clusteredMean(watched, units, rng);
  // Where no simulation was seen to diverge, how long they last is not known.
  const isOpen = steps.every((step) => step < 0);
  return isOpen ? { ...found, estimate: { ...found.estimate, high: null } } : found;
}

/** Where a simulation begins, and the number of recorded actions. */
type Beginning = Readonly<Record<'row' | 'steps', number>>;

/** What was simulated from one beginning. */
interface Track {
  /** Simulated steps: fewer than asked where it left all bounds. */
  length: number;
  /** [steps, obsDim]: what followed each step. */
  readonly nextObs: Float32Array;
}

/** Standard deviations of an element beyond which a simulation is given up: there is nothing left to measure. */
const OUT_OF_BOUNDS = 1e6;

/** Simulations from each beginning under the recorded actions. The model continues where it says the episode ended. */
async function openLoop(
  { ground, subject: { model } }: Judged,
  beginnings: readonly Beginning[],
  rng: Rng,
): Promise<readonly Readonly<Track>[]> {
  const { truth, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  const tracks = beginnings.map(({ steps }): Track => ({ length: 0, nextObs: new Float32Array(steps * obsDim) }));
  const starts = beginnings.map(({ row }) => truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim));
  let carry = await model.begin(joinedFloats(starts), rng.split('begin'));
  let remembered = tracks.map((_, i) => i);
  for (let t = 0; ; t++) {
    const isActive = (i: number) => tracks[i].length === t && t < beginnings[i].steps;
    const active = remembered.filter(isActive);
    if (active.length === 0) return tracks;
    carry = model.pick(
      carry,
      Uint32Array.from(remembered.keys()).filter((k) => isActive(remembered[k])),
    );
    remembered = active;
    const action = new Float32Array(active.length * actionDim);
    active.forEach((i, k) => {
      const row = beginnings[i].row + t;
      action.set(truth.rows.action.subarray(row * actionDim, (row + 1) * actionDim), k * actionDim);
    });
    const said = await model.imagine(carry, action, rng, { propagation: 'mean', deterministic: true });
    carry = said.carry;
    active.forEach((i, k) => {
      const next = said.observation.subarray(k * obsDim, (k + 1) * obsDim);
      if (next.some((value, j) => Math.abs(value) > OUT_OF_BOUNDS * scales.state[j])) return;
      const track = tracks[i];
      track.nextObs.set(next, t * obsDim);
      track.length = t + 1;
    });
  }
}

// Of tools.

export function toolsKSteps(judged: ToolsJudged): Instrument<OpenLoopRow | SimulatedRow> {
  const { ground, carry, simulated } = judged;
  const { sequences } = ground.truth;
  const open = Math.ceil(sequences.length / CHUNK_EPISODES);
  return {
    id: 'k-steps',
    chunks: open + simulated.chunks,
    measure: async (chunk, signal) => {
      if (chunk >= open) return simulated.chunk(chunk - open, signal);
      const rows: OpenLoopRow[] = [];
      const [from, end] = chunkRange(chunk, CHUNK_EPISODES, sequences.length);
      for (let episode = from; episode < end; episode++)
        rows.push(await openLoopRow(carry, sequences[episode], episode, signal));
      return rows;
    },
    conclude: (rows) => concludeTools(judged, rows),
  };
}

const TOOLS_METRICS = metricTable(`
divergence-rate        | lower   | share  | Divergence | Probability that a step is the first with a wrong state, if all before it were right.
end-state              | higher  | share  | Right at the end | Share of real episodes that end in the real state when their calls are carried out in the simulation.
steps-to-divergence    | higher  | steps  | Steps before the first wrong state | Steps of an episode before its state is wrong for the first time; all of them where it never is.
observation-right      | higher  | share  | Steps with a right observation | Share of an episode's calls that are answered in the real words; mean over episodes.
observations-all-right | higher  | share  | Episodes answered in the real words | Share of real episodes all of whose calls are answered in the real words.
error-flag             | higher  | share  | Errors reported as errors | Share of an episode's calls that are reported as an error just where they are one; mean over episodes.
consistency-ratio      | neither | number | Consistency ratio | Success for real over success in the simulation of the same calls, chosen in the simulation: below 1, it promised too much.
`);

const NO_TRUTH = 'No rules carry simulated calls out for real: the consistency ratio is not known.';
const SOME_UNKNOWN = 'Of some steps no state is known, for real or in the simulation: only their observations count.';
const NEVER_WRONG =
  'No state was ever wrong: the steps before the first wrong one are the mean length of these episodes, and how long a simulation would go on right is not known.';

function concludeTools(
  { ground, simulated, notes }: ToolsJudged,
  rows: readonly (OpenLoopRow | SimulatedRow)[],
): Finding {
  const loops = rows.filter((row) => row.kind === 'open-loop');
  const all = loops.flatMap(({ steps }) => steps);
  const isUnknown = all.every(({ state }) => state === null);
  const isEverWrong = all.some(({ state }) => state === false);
  const over = (key: string, of: (row: OpenLoopRow) => number | null) => meanOf(key, loops.map(of));
  const before = over('steps-to-divergence', stepsBefore);
  const figures = figuresOf(TOOLS_METRICS, {
    'divergence-rate': divergenceRate(loops),
    'end-state': shareOf(loops.map(({ isWhole, steps }) => (isWhole ? (steps.at(-1)?.state ?? null) : null))),
    // Where nothing was ever wrong, all that is known of the steps before is that they are no fewer.
    'steps-to-divergence': isEverWrong ? before : { ...before, estimate: { ...before.estimate, high: null } },
    'observation-right': over('observation-right', (row) => shareIn(row, rightWords)),
    'observations-all-right': shareOf(loops.map(allRight)),
    'error-flag': over('error-flag', (row) => shareIn(row, ({ error }) => error)),
    'consistency-ratio': consistency(rows.filter((row) => row.kind === 'episode')),
  });
  const { hasTruth } = simulated;
  const isRewarded = estimateIn(figures, 'consistency-ratio').value !== null;
  const cut = loops.filter(({ isWhole }) => !isWhole).length;
  // Why steps before the first wrong state, or the consistency ratio, have no value.
  const missing = [
    loops.length === 0 && 'No real episode was carried out in the simulation.',
    loops.length > 0 && isUnknown && 'Of no step the state is known, for real or in the simulation.',
    !hasTruth && NO_TRUTH,
    hasTruth && !isRewarded && 'No episode that could be decided was rewarded in the simulation.',
  ].filter((reason) => reason !== false);
  return findingOf(
    {
      ...ABOUT,
      summary: `Of ${loops.length} real episodes carried out in the simulation, ${percent(estimateIn(figures, 'end-state'))} end in the real state, and ${percent(estimateIn(figures, 'observations-all-right'))} are answered in the real words throughout.`,
      notes: [
        ...notes.steps,
        'What was said in an episode stays as it was, whatever the simulation answered: an agent would have reacted.',
        ...(cut === 0 ? [] : [`${cut} episodes broke off at a call that got no answer; they count up to there.`]),
        ...(isEverWrong || isUnknown ? [] : [NEVER_WRONG]),
        ...(all.some(({ state }) => state === null) ? [SOME_UNKNOWN] : []),
        ...(hasTruth ? [] : [NO_TRUTH]),
      ],
      ...(missing.length === 0 ? {} : { missing: missing.join(' ') }),
      ...constructed(
        all.map(({ backend }) => backend),
        ground.truth.truthBackend,
      ),
    },
    figures,
  );
}

type Right = (step: OpenLoopStep) => boolean | null;
const rightWords: Right = ({ observation }) => observation;

/** Steps taken where all before were right are trials, whichever episode they are of: episodes of all lengths count. */
function divergenceRate(loops: readonly OpenLoopRow[]): Estimate {
  const trials = loops.flatMap(({ steps }) => {
    const first = steps.findIndex(({ state }) => state === false);
    return steps.slice(0, first < 0 ? steps.length : first + 1).filter(({ state }) => state !== null);
  });
  return shareEstimate(trials.filter(({ state }) => !state).length, trials.length);
}

/** null where the state is unknown before anything was wrong. */
function stepsBefore({ steps }: OpenLoopRow): number | null {
  const first = steps.findIndex((step) => step.state !== true);
  if (first < 0) return steps.length === 0 ? null : steps.length;
  return steps[first].state === null ? null : first;
}

/** null where nothing was wrong as far as it went, and it did not go to the end. */
function allRight({ steps, isWhole }: OpenLoopRow): boolean | null {
  const asked = steps.map(rightWords).filter((right) => right !== null);
  if (asked.includes(false)) return false;
  return isWhole && asked.length > 0 ? true : null;
}

function shareIn({ steps }: OpenLoopRow, right: Right): number | null {
  const known = steps.map(right).filter((one) => one !== null);
  return known.length === 0 ? null : known.filter(Boolean).length / known.length;
}

function consistency(episodes: readonly SimulatedRow[]): Estimate {
  const pairs = episodes.filter(({ simulated, real }) => simulated !== null && real !== null);
  const ratio = (of: readonly SimulatedRow[]) => {
    const sum = (key: 'simulated' | 'real') => of.reduce((total, pair) => total + pair[key]!, 0);
    return sum('simulated') === 0 ? null : sum('real') / sum('simulated');
  };
  return bootstrapEstimate(pairs, ratio, streamOf('consistency-ratio'));
}
