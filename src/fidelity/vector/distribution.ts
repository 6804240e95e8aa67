// Do dreams look like the real as a whole: transitions drawn from the depth of dreams against real ones.

import type { Rng } from '../../core/rng.js';
import type { Finding, Instrument } from '../instrument.js';
import { findingOf, type MetricInfo, metricsOfInfos, short, shown, shownShare } from '../section.js';
import { meanEstimate } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING, shareEstimate } from '../statistics/estimate.js';
import { c2st, mmd2 } from '../statistics/two-samples.js';
import { clusteredShare } from './clustered.js';
import { chunkRange, chunkRng, type Ground, intervalRng, type Judged, sectionRng } from './ground.js';
import { type Beginning, openLoop } from './open-loop.js';
import { stepsFrom, widths } from './truth.js';

const CHUNK_DRAWS = 128;

export function distributionInstrument(judged: Judged): Instrument<DistributionRow> {
  const draws = drawsOf(judged);
  return {
    id: 'distribution',
    unit: 'dreams',
    chunks: draws.dreamt.length === 0 ? 0 : Math.ceil(DRAWS / CHUNK_DRAWS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_DRAWS, draws.dreamt.length);
      const own = draws.dreamt.slice(first, end);
      const { truth, plan } = judged.ground;
      const rng = chunkRng(plan, 'distribution', chunk);
      const tracks = await openLoop(judged, own, rng, { propagation: plan.propagation });
      const { obsDim, actionDim } = widths(truth);
      return tracks.map(({ lived, nextObs }, i) => {
        const { row, steps } = own[i];
        if (lived < steps) return { transition: null };
        const last = steps - 1;
        const obs =
          last === 0
            ? truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim)
            : nextObs.subarray((last - 1) * obsDim, last * obsDim);
        const at = (row + last) * actionDim;
        const action = truth.rows.action.subarray(at, at + actionDim);
        const change = obs.map((value, j) => nextObs[last * obsDim + j] - value);
        return { transition: [...obs, ...action, ...change].map(short) };
      });
    },
    conclude: (rows) => concludeDistribution(judged, draws, rows),
  };
}

// Which transitions are drawn, of dreams and of the real: each some steps deep into a sequence that begins anywhere. Were
// the dream perfect, all samples would be drawn from the same recorded transitions in the same way.

/** Of each sample. */
const DRAWS = 640;

interface Draws {
  /** Each is dreamt for its steps; the last one is the drawn transition. */
  readonly dreamt: readonly Beginning[];
  /** Recorded rows that dreams are held against. */
  readonly real: readonly number[];
  /** As many others, for what the real shows of itself. */
  readonly others: readonly number[];
}

function drawsOf(judged: Judged): Draws {
  const { plan } = judged.ground;
  const rng = sectionRng(plan, 'distribution');
  const pool = poolOf(judged);
  const draw = (label: string) => {
    const own = rng.split('draws', label);
    return Array.from({ length: pool.length === 0 ? 0 : DRAWS }, (): Beginning => {
      const { row, seed } = pool[own.int(pool.length)];
      return { row, seed, steps: 1 + own.int(stepsFrom(judged.ground.truth, row, plan.horizon)) };
    });
  };
  const rowsOf = (drawn: readonly Beginning[]) => drawn.map(({ row, steps }) => row + steps - 1);
  return { dreamt: draw('dreamt'), real: rowsOf(draw('real')), others: rowsOf(draw('others')) };
}

/** Where sequences may begin: any row, or, of a model that starts itself, the first rows of episodes. */
function poolOf({ ground, subject }: Judged): readonly Pick<Beginning, 'row' | 'seed'>[] {
  const { truth } = ground;
  if (subject.model !== undefined) return Array.from({ length: truth.rows.rows }, (_, row) => ({ row }));
  const own = truth.episodes.filter(({ seed }) => seed !== undefined);
  return own.map(({ first, seed }) => ({ row: first, seed }));
}

// What the distributions show: a discrepancy, whether dreams can be told apart, and where they never go.

const METRICS = {
  mmd: {
    label: 'Discrepancy of transitions',
    better: 'lower',
    unit: 'number',
    meaning:
      'Squared maximum mean discrepancy between dreamt and real (observation, action, change), mean over ten blocks of draws: 0 is alike.',
  },
  'mmd-p': {
    label: 'Chance of such a discrepancy',
    better: 'neither',
    unit: 'share',
    meaning:
      'Share of random relabellings of dreamt and real transitions with at least this discrepancy: small means that they differ.',
  },
  c2st: {
    label: 'Dreams told apart',
    better: 'lower',
    unit: 'share',
    meaning:
      'Share of held-out transitions that a nearest-neighbour classifier rightly assigns to dream or real: 50 % is chance.',
  },
  'state-coverage': {
    label: 'States covered',
    better: 'higher',
    unit: 'share',
    meaning:
      'Of the cells of pairs of elements that drawn real states are in, the share that as many dreamt states are in too.',
  },
  'state-coverage-floor': {
    label: 'The same, real against real',
    better: 'neither',
    unit: 'share',
    meaning: 'The share that as many other real states are in: no model can be expected above it.',
  },
  unvisited: {
    label: 'Dreamt states where no real one was',
    better: 'lower',
    unit: 'share',
    meaning: 'Share of dreamt states that are in a cell of some pair of elements which no recorded state is in.',
  },
  lost: {
    label: 'Dreams lost',
    better: 'lower',
    unit: 'share',
    meaning: 'Share of dreams that left all bounds, or ended for good, before the transition that was drawn of them.',
  },
} as const satisfies Record<string, MetricInfo>;

const BLOCKS = 10;

type Transition = readonly number[];

function concludeDistribution(judged: Judged, draws: Draws, rows: readonly DistributionRow[]): Finding {
  const { ground } = judged;
  const dreamt = rows.flatMap(({ transition }) => (transition === null ? [] : [transition]));
  const real = draws.real.map((row) => transitionOf(ground, row));
  const others = draws.others.map((row) => transitionOf(ground, row));
  const found = {
    ...twoSamples(ground, dreamt, real),
    ...coverageOf(ground, dreamt, real, others),
    ...shares(ground, draws, rows),
  };
  return findingOf(
    {
      id: 'distribution',
      title: 'Distribution',
      summary: `A classifier tells dreamt transitions from real ones in ${shownShare(found.c2st.value)} of the cases (50 % is chance); the discrepancy is ${shown(found.mmd.value)}.`,
      charts: [],
      tables: [],
      worst: [],
      notes: notesOf(judged, dreamt),
    },
    metricsOfInfos(METRICS, found),
  );
}

/** Observation, action and change of a recorded row. */
function transitionOf({ truth }: Ground, row: number): Transition {
  const { obsDim, actionDim } = widths(truth);
  const { obs, action, nextObs } = truth.rows;
  const from = obs.subarray(row * obsDim, (row + 1) * obsDim);
  const change = from.map((value, j) => nextObs[row * obsDim + j] - value);
  return [...from, ...action.subarray(row * actionDim, (row + 1) * actionDim), ...change];
}

function twoSamples({ truth, plan }: Ground, dreamt: readonly Transition[], real: readonly Transition[]) {
  const { obsDim, actionDim } = widths(truth);
  const dim = 2 * obsDim + actionDim;
  const rng = (key: string) => intervalRng(plan, 'distribution', key);
  const { pValue } = mmd2(dreamt.flat(), real.flat(), dim, rng('mmd-p'));
  return {
    mmd: blockwise(dreamt, real, dim, rng('mmd')),
    'mmd-p': pValue === null ? NOTHING : ({ ...NOTHING, value: pValue, n: dreamt.length } satisfies Estimate),
    c2st: c2st(dreamt.flat(), real.flat(), dim, rng('c2st')),
  };
}

/** Mean over disjoint blocks, whose spread gives the interval (B-test: Zaremba et al. 2013, 1307.1954). */
function blockwise(x: readonly Transition[], y: readonly Transition[], dim: number, rng: Rng): Estimate {
  const block = (all: readonly Transition[], b: number) => all.filter((_, i) => i % BLOCKS === b).flat();
  const values = Array.from(
    { length: BLOCKS },
    (_, b) => mmd2(block(x, b), block(y, b), dim, rng.split('block', b)).value,
  );
  return meanEstimate(values, rng.split('interval'));
}

function coverageOf(
  ground: Ground,
  dreamt: readonly Transition[],
  real: readonly Transition[],
  others: readonly Transition[],
) {
  const { obsDim, actionDim } = widths(ground.truth);
  const cells = cellsOf(ground);
  const state = (transition: Transition) =>
    Float32Array.from({ length: obsDim }, (_, j) => transition[j] + transition[obsDim + actionDim + j]);
  const visited = real.map(state);
  const [ours, floor] = [dreamt, others].map((sample) => sharedCells(cells, visited, sample.map(state)));
  return {
    'state-coverage': shareEstimate(ours.shared, ours.of),
    'state-coverage-floor': shareEstimate(floor.shared, floor.of),
  };
}

function shares(ground: Ground, draws: Draws, rows: readonly DistributionRow[]) {
  const { truth, units, plan } = ground;
  const { obsDim, actionDim } = widths(truth);
  const cells = cellsOf(ground);
  const known = new Set<string>();
  for (let r = 0; r < truth.rows.rows; r++) {
    for (const cell of cells.of(truth.rows.nextObs.subarray(r * obsDim, (r + 1) * obsDim))) known.add(cell);
  }
  const own = { count: units.count, of: Uint32Array.from(draws.dreamt, ({ row }) => units.of[row]) };
  const unvisited = rows.map(({ transition }) => {
    if (transition === null) return null;
    const state = Float32Array.from({ length: obsDim }, (_, j) => transition[j] + transition[obsDim + actionDim + j]);
    return Number(cells.of(state).some((cell) => !known.has(cell)));
  });
  const lost = rows.map(({ transition }) => Number(transition === null));
  return {
    unvisited: clusteredShare(unvisited, own, intervalRng(plan, 'distribution', 'unvisited')),
    lost: clusteredShare(lost, own, intervalRng(plan, 'distribution', 'lost')),
  };
}

function notesOf({ ground, subject }: Judged, dreamt: readonly Transition[]): readonly string[] {
  return [
    'Dreams are sampled, under recorded actions; drawn transitions are up to the horizon deep. Intervals are of the draws, not of the truth: other records might show another discrepancy.',
    ...(ground.scales.isDiscrete ? ['States are discrete: their numbers are taken as if they lay on a line.'] : []),
    ...(dreamt.length === 0 ? ['No transition could be drawn of any dream.'] : []),
    ...(subject.model === undefined ? ['Dreams begin with the recorded episodes, which the model starts itself.'] : []),
  ];
}

// Which states were visited at all: pairs of elements, each cut where equally many real states lie.

/** Cuts of each element of a pair, and of an element that is alone. */
const CUTS = 8;
const CUTS_ALONE = 64;

interface Cells {
  /** The cells of one state, one a pair of elements. */
  of(state: ArrayLike<number>): readonly string[];
}

function cellsOf({ truth, scales }: Ground): Cells {
  const { obsDim } = widths(truth);
  if (scales.isDiscrete) return { of: (state) => [`${state[0]}`] };
  const { nextObs, rows } = truth.rows;
  const cuts = obsDim === 1 ? CUTS_ALONE : CUTS;
  const borders = Array.from({ length: obsDim }, (_, j) => {
    const sorted = Float64Array.from({ length: rows }, (_, r) => nextObs[r * obsDim + j]).sort();
    return Array.from({ length: cuts - 1 }, (_, k) => sorted[Math.floor(((k + 1) * rows) / cuts)]);
  });
  const bin = (state: ArrayLike<number>, j: number) => borders[j].filter((border) => state[j] >= border).length;
  const pairs = pairsOf(obsDim);
  return { of: (state) => pairs.map(([i, j]) => `${i}:${bin(state, i)},${j}:${bin(state, j)}`) };
}

/** Each element with the next one and the one after: a few pairs of every element, not all. */
function pairsOf(elements: number): (readonly [number, number])[] {
  if (elements === 1) return [[0, 0]];
  const pairs = new Map<string, readonly [number, number]>();
  for (let i = 0; i < elements; i++) {
    for (const apart of [1, 2]) {
      const [a, b] = [i, (i + apart) % elements].sort((x, y) => x - y);
      if (a !== b) pairs.set(`${a},${b}`, [a, b]);
    }
  }
  return [...pairs.values()];
}

/** Of all cells that some of `states` are in, those that any of `others` is in too. */
function sharedCells(
  cells: Cells,
  states: readonly ArrayLike<number>[],
  others: readonly ArrayLike<number>[],
): { readonly shared: number; readonly of: number } {
  const visited = new Set(states.flatMap((state) => cells.of(state)));
  const also = new Set(others.flatMap((state) => cells.of(state)));
  return { shared: [...visited].filter((cell) => also.has(cell)).length, of: visited.size };
}

// What is kept of one dream.

/** One drawn transition of a dream: observation, action, change of the observation; null where the dream was lost before. */
type DistributionRow = { readonly transition: readonly number[] | null };
