// What the distributions show: a discrepancy, whether dreams can be told apart, and where they never go.

import type { Rng } from '../../../core/rng.js';
import type { Finding } from '../../instrument.js';
import { meanEstimate } from '../../statistics/bootstrap.js';
import { c2st } from '../../statistics/c2st.js';
import { type Estimate, NOTHING } from '../../statistics/estimate.js';
import { mmd2 } from '../../statistics/mmd.js';
import { shareEstimate } from '../../statistics/share.js';
import { clusteredShare } from '../clustered.js';
import { type Ground, intervalRng, type Judged } from '../plan.js';
import { findingOf, type MetricInfo, shown, shownShare } from '../section-parts.js';
import { widths } from '../truth.js';
import type { Draws } from './draws.js';
import type { DistributionRow } from './row.js';

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

export function concludeDistribution(judged: Judged, draws: Draws, rows: readonly DistributionRow[]): Finding {
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
    METRICS,
    found,
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
