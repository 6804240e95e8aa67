// When a body's episode ends: a quantity leaves its range. NaN is in no range.

import type { KnownFunctions } from '../../core/environment.js';
import type { BodyQuantities, Termination } from './body-spec.js';
import { type Read, readerOf, readersOf, type Scalar, type ScalarSource } from './expression.js';

/** Whether one number lies within the range in which the episode goes on. */
export function isHealthy(range: Termination, value: number): boolean {
  if (Number.isNaN(value)) return false;
  if (range.above !== undefined && value <= range.above) return false;
  if (range.below !== undefined && value >= range.below) return false;
  if (range.atLeast !== undefined && value < range.atLeast) return false;
  return range.atMost === undefined || value <= range.atMost;
}

/** The rows a known function is looking at while it computes. */
interface Rows {
  obs: Float32Array;
  obsAt: number;
  action: Float32Array;
  actionAt: number;
  nextObs: Float32Array;
  nextAt: number;
}

/**
 * Known functions of a body; a function is absent where it depends on what the observation does not show.
 * @param duration seconds of one environment step
 */
export function knownFunctions(quantities: BodyQuantities, duration: number): KnownFunctions {
  const rows: Rows = { obs: EMPTY, obsAt: 0, action: EMPTY, actionAt: 0, nextObs: EMPTY, nextAt: 0 };
  const terminated = knownTermination(quantities, rows);
  const reward = knownReward(quantities, rows, duration, terminated);
  return { ...(reward && { reward }), ...(terminated && { terminated }) };
}

function knownTermination(quantities: BodyQuantities, rows: Rows): KnownFunctions['terminated'] {
  const columns = columnsOf(quantities.observation, true);
  const source = rowSource(
    columns,
    () => rows.nextObs,
    () => rows.nextAt,
  );
  const limits: { readers: Read[]; range: Termination }[] = [];
  for (const { of, range } of quantities.termination) {
    const readers = readersOf(of, source);
    if (readers === undefined) return undefined;
    limits.push({ readers, range });
  }
  return (nextObs, offset) => {
    rows.nextObs = nextObs;
    rows.nextAt = offset;
    return !limits.every(({ readers, range }) => readers.every((read) => isHealthy(range, read())));
  };
}

function knownReward(
  quantities: BodyQuantities,
  rows: Rows,
  duration: number,
  terminated: KnownFunctions['terminated'],
): KnownFunctions['reward'] {
  const columns = columnsOf(quantities.observation, false);
  const before = rowSource(
    columns,
    () => rows.obs,
    () => rows.obsAt,
  );
  const after = rowSource(
    columns,
    () => rows.nextObs,
    () => rows.nextAt,
  );
  const source: ScalarSource = {
    known: after.known,
    leaf: (array, index) => {
      if (array === 'action') return () => rows.action[rows.actionAt + index];
      if (array === 'alive') return terminated && (() => (terminated(rows.nextObs, rows.nextAt) ? 0 : 1));
      return after.leaf(array, index);
    },
    velocity: (of) => {
      const old = readerOf(of, before);
      const now = readerOf(of, after);
      return old && now && (() => (now() - old()) / duration);
    },
  };
  const readers = readersOf(
    quantities.reward.map(({ of }) => of),
    source,
  );
  if (readers === undefined) return undefined;
  const weights = quantities.reward.map(({ weight }) => weight);
  return (obs, obsOffset, action, actionOffset, nextObs) => {
    // All rows of a batch share their offset in rows, so the next observation lies where this one does.
    Object.assign(rows, { obs, obsAt: obsOffset, action, actionAt: actionOffset, nextObs, nextAt: obsOffset });
    let reward = 0;
    for (let i = 0; i < readers.length; i++) reward += weights[i] * readers[i]();
    return reward;
  };
}

/** Column of the observation that shows a quantity, by its key. */
function columnsOf(observation: readonly Scalar[], throughClip: boolean): Map<string, number> {
  const columns = new Map<string, number>();
  observation.forEach((scalar, column) => {
    columns.set(scalar.key, column);
    if (throughClip && scalar.kind === 'map' && scalar.clip) columns.set(scalar.of.key, column);
  });
  return columns;
}

function rowSource(columns: Map<string, number>, row: () => Float32Array, at: () => number): ScalarSource {
  return {
    known: ({ key }) => {
      const column = columns.get(key);
      return column === undefined ? undefined : () => row()[at() + column];
    },
    leaf: () => undefined,
    velocity: () => undefined,
  };
}

const EMPTY = new Float32Array(0);
