// Where a dream begins: an observation, and, for models with a memory, what was really lived before it.

import type { Carry, Rngs } from '../core/dynamics.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { VectorDynamics } from './dynamics.js';
import { requireFinite, rowShape } from './model-folder.js';

/** Real steps before each of some starts, oldest first. */
export interface History {
  /** Steps of the longest row; the width of the arrays. */
  readonly steps: number;
  /** [rows]: steps of each row. What lies behind them is not read. */
  readonly lengths: Uint32Array;
  /** [rows, steps, obsDim] */
  readonly obs: Float32Array;
  /** [rows, steps, actionDim]: what was done at each observation; after the last one of a row the start was seen. */
  readonly action: Float32Array;
}

/** One start alone: its observation, and the steps before it as arrays [steps, dim]. */
export interface Start {
  readonly observation: Float32Array;
  readonly history?: { readonly obs: Float32Array; readonly action: Float32Array };
}

/** The history of these rows, in this order. */
export function pickHistory({ steps, lengths, obs, action }: History, rows: ArrayLike<number>): History {
  const count = lengths.length;
  const pick = (from: Float32Array) => {
    const width = count === 0 ? 0 : from.length / count;
    const picked = new Float32Array(rows.length * width);
    for (let to = 0; to < rows.length; to++) {
      picked.set(from.subarray(rows[to] * width, (rows[to] + 1) * width), to * width);
    }
    return picked;
  };
  return { steps, lengths: Uint32Array.from(rows, (row) => lengths[row]), obs: pick(obs), action: pick(action) };
}

/**
 * A memory of rows that stand at `starts` [rows, obsDim], having lived `history`: begun at the oldest observation of each, and
 * shown what followed. A model without a memory is begun at the starts.
 * @throws as `begin` and `follow`
 */
export async function beginFrom<C extends Carry>(
  model: VectorDynamics<C>,
  starts: Float32Array,
  history: History | undefined,
  rngs: Rngs,
): Promise<C> {
  if (model.context === 0 || history === undefined || history.lengths.every((length) => length === 0)) {
    return model.begin(starts, rngs);
  }
  const past = new Past(model, starts, history);
  // Longest first: a row joins when as many steps are left as it has lived.
  const order = Array.from(history.lengths.keys()).sort((a, b) => history.lengths[b] - history.lengths[a] || a - b);
  const streams = (rows: readonly number[]) => (rngs instanceof Rng ? rngs : rows.map((row) => rngs[row]));
  let carry: C | undefined;
  let joined = 0;
  for (let left = history.lengths[order[0]]; left >= 0; left--) {
    const here = order.slice(0, joined);
    if (carry !== undefined) carry = await model.follow(carry, past.actions(here, left + 1), past.seen(here, left));
    const from = joined;
    while (joined < order.length && history.lengths[order[joined]] === left) joined++;
    if (joined === from) continue;
    const coming = order.slice(from, joined);
    const begun = await model.begin(past.seen(coming, left), streams(coming));
    carry = carry === undefined ? begun : model.join([carry, begun]);
  }
  const back = new Uint32Array(order.length);
  for (const [at, row] of order.entries()) back[row] = at;
  return model.pick(carry!, back);
}

/** Many starts as one batch; of those that nothing was lived before, the history is of no steps. */
export function batchOfStarts(
  starts: readonly Start[],
  { obsDim, actionDim }: { readonly obsDim: number; readonly actionDim: number },
): { readonly starts: Float32Array; readonly history: History } {
  const rows = new Float32Array(starts.length * obsDim);
  for (const [row, { observation }] of starts.entries()) rows.set(observation, row * obsDim);
  const lengths = Uint32Array.from(starts, ({ history }) => (history === undefined ? 0 : history.obs.length / obsDim));
  const steps = lengths.reduce((most, length) => Math.max(most, length), 0);
  const obs = new Float32Array(starts.length * steps * obsDim);
  const action = new Float32Array(starts.length * steps * actionDim);
  for (const [row, { history }] of starts.entries()) {
    if (history === undefined) continue;
    obs.set(history.obs, row * steps * obsDim);
    action.set(history.action, row * steps * actionDim);
  }
  return { starts: rows, history: { steps, lengths, obs, action } };
}

/** Reads a history backwards in time: `left` steps before the starts. */
class Past {
  private readonly obsDim: number;
  private readonly actionDim: number;

  constructor(
    model: VectorDynamics,
    private readonly starts: Float32Array,
    private readonly history: History,
  ) {
    ({ obsDim: this.obsDim, actionDim: this.actionDim } = rowShape(model));
  }

  /** What these rows saw. */
  seen(rows: readonly number[], left: number): Float32Array {
    const { obs } = this.history;
    return left === 0
      ? this.gather(this.starts, this.obsDim, rows, (row) => row)
      : this.gather(obs, this.obsDim, rows, (row) => this.at(row, left));
  }

  /** What they did. */
  actions(rows: readonly number[], left: number): Float32Array {
    return this.gather(this.history.action, this.actionDim, rows, (row) => this.at(row, left));
  }

  private at(row: number, left: number): number {
    const { steps, lengths } = this.history;
    return row * steps + lengths[row] - left;
  }

  private gather(
    from: Float32Array,
    dim: number,
    rows: readonly number[],
    placeOf: (row: number) => number,
  ): Float32Array {
    const gathered = new Float32Array(rows.length * dim);
    for (const [to, row] of rows.entries()) {
      const at = placeOf(row) * dim;
      gathered.set(from.subarray(at, at + dim), to * dim);
    }
    return gathered;
  }
}

// Where dreams begin: real first observations, drawn with replacement, or a sampler of one's own.

/** Rows [n, obsDim] of observations to start from, or a function that draws one, with what was lived before it where it knows. */
export type StartStates = Float32Array | ((rng: Rng) => Float32Array | Start);

/** Draws one start, in arrays of its own. */
export type DrawStart = (rng: Rng) => Start;

/** Throws SETTING_INVALID or NON_FINITE_VALUE unless `starts` has whole rows; a sampler is checked as it draws. */
export function startSampler(starts: StartStates, obsDim: number): DrawStart {
  if (typeof starts === 'function') {
    return (rng) => {
      const drawn = starts(rng);
      const { observation, history } =
        drawn instanceof Float32Array ? { observation: drawn, history: undefined } : drawn;
      checkRows(observation, obsDim, 1);
      return { observation: observation.slice(), history };
    };
  }
  const rows = checkRows(starts, obsDim);
  return (rng) => {
    const row = rng.int(rows);
    return { observation: starts.slice(row * obsDim, (row + 1) * obsDim) };
  };
}

/** Number of whole rows of `starts`. */
export function checkRows(starts: Float32Array, obsDim: number, wanted?: number): number {
  const rows = starts.length / obsDim;
  const isWhole = starts instanceof Float32Array && Number.isInteger(rows) && rows >= 1;
  if (!isWhole || (wanted !== undefined && rows !== wanted)) {
    const want = wanted === undefined ? `rows of ${obsDim}` : `${wanted} rows of ${obsDim}`;
    const hint =
      'Give observations of the environment the model was fitted on, e.g. first observations of its episodes.';
    throw reverieError('SETTING_INVALID', {
      problem: `Dream: ${`start states have ${starts.length} values where ${want} are needed.`}`,
      hint,
    });
  }
  requireFinite('start state', starts, rows, 'the start states of a dream');
  return rows;
}
