// Dreamt rows that differ from real ones in nothing but who says what follows: each real row is dreamt again, under the same
// action, in short branches that begin at real states.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TruthEpisode } from '../../../../fidelity/index.js';
import { allocateBatch, type TransitionBatch } from '../../../../replay/index.js';
import type { Rng } from '../../../../rng.js';
import type { Propagation, VectorWorldModel } from '../../../../worldmodel/index.js';

export interface DreamtRowsRequest {
  readonly model: VectorWorldModel;
  readonly propagation: Propagation;
  /** Real rows, as unbroken episodes. */
  readonly real: TransitionBatch;
  readonly episodes: readonly TruthEpisode[];
  /** Steps of a branch at most. */
  readonly length: number;
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

/** A branch that is being dreamt: the real row whose action comes next, and rows left. */
interface Branch {
  row: number;
  left: number;
  obs: Float32Array;
}

/**
 * As many rows as there are real ones; row i has the action of real row i. A branch goes on from its own dreamt states; where
 * the dream ends an episode, the next row begins at the real state again.
 */
export async function dreamtRows(request: DreamtRowsRequest): Promise<TransitionBatch> {
  const { real, length, rng, signal } = request;
  const [obsDim, actionDim] = [real.obs.length / real.rows, real.action.length / real.rows];
  const rows = allocateBatch(real.rows, obsDim, actionDim);
  const observed = (row: number) => real.obs.slice(row * obsDim, (row + 1) * obsDim);
  let branches = branchStarts(request).map((one): Branch => ({ ...one, obs: observed(one.row) }));
  for (let step = 0; step < length && branches.length > 0; step++) {
    await nextTurn();
    signal?.throwIfAborted();
    const said = await answers(request, branches, rng.split('step', step), { obsDim, actionDim });
    branches.forEach((branch, i) => {
      const next = said.nextObs.slice(i * obsDim, (i + 1) * obsDim);
      rows.obs.set(branch.obs, branch.row * obsDim);
      rows.action.set(
        real.action.subarray(branch.row * actionDim, (branch.row + 1) * actionDim),
        branch.row * actionDim,
      );
      rows.reward[branch.row] = said.reward[i];
      rows.nextObs.set(next, branch.row * obsDim);
      rows.terminated[branch.row] = said.terminated[i];
      branch.row++;
      branch.left--;
      if (branch.left > 0) branch.obs = said.terminated[i] === 1 ? observed(branch.row) : next;
    });
    branches = branches.filter(({ left }) => left > 0);
  }
  return rows;
}

function branchStarts({ real, episodes, length }: DreamtRowsRequest): { row: number; left: number }[] {
  return episodes.flatMap(({ first, rows }) => {
    const end = Math.min(first + rows, real.rows);
    const count = Math.max(0, Math.ceil((end - first) / length));
    return Array.from({ length: count }, (_, i) => {
      const row = first + i * length;
      return { row, left: Math.min(length, end - row) };
    });
  });
}

function answers(
  { model, propagation, real }: DreamtRowsRequest,
  branches: readonly Branch[],
  rng: Rng,
  { obsDim, actionDim }: { readonly obsDim: number; readonly actionDim: number },
) {
  const obs = new Float32Array(branches.length * obsDim);
  const action = new Float32Array(branches.length * actionDim);
  branches.forEach((branch, i) => {
    obs.set(branch.obs, i * obsDim);
    action.set(real.action.subarray(branch.row * actionDim, (branch.row + 1) * actionDim), i * actionDim);
  });
  return model.step(obs, action, branches.length, rng, { propagation });
}

/** Real rows of which a share is replaced by their dreamt counterparts, drawn at random: as many rows as before. */
export function mixedRows(real: TransitionBatch, dreamt: TransitionBatch, ratio: number, rng: Rng): TransitionBatch {
  const { rows } = real;
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  for (let i = rows - 1; i > 0; i--) {
    const j = rng.int(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  const mixed = copyOf(real);
  const [obsDim, actionDim] = [real.obs.length / rows, real.action.length / rows];
  for (const row of order.subarray(0, Math.round(ratio * rows))) {
    copyRow(dreamt, mixed, row, obsDim, actionDim);
  }
  return mixed;
}

function copyOf({ rows, obs, action, reward, nextObs, terminated, truncated }: TransitionBatch): TransitionBatch {
  return {
    rows,
    ...{ obs: obs.slice(), action: action.slice(), reward: reward.slice(), nextObs: nextObs.slice() },
    ...{ terminated: terminated.slice(), truncated: truncated.slice() },
  };
}

function copyRow(from: TransitionBatch, to: TransitionBatch, row: number, obsDim: number, actionDim: number): void {
  to.obs.set(from.obs.subarray(row * obsDim, (row + 1) * obsDim), row * obsDim);
  to.action.set(from.action.subarray(row * actionDim, (row + 1) * actionDim), row * actionDim);
  to.nextObs.set(from.nextObs.subarray(row * obsDim, (row + 1) * obsDim), row * obsDim);
  to.reward[row] = from.reward[row];
  to.terminated[row] = from.terminated[row];
}
