// Recorded transitions of the user's as truth: whole episodes, drawn until there are enough rows.

import { rowSize, type VectorEnvironment } from '../../../env/index.js';
import { reverieError } from '../../../errors.js';
import type { TruthEpisode } from '../../../fidelity/index.js';
import type { ReplayBuffer, TransitionBatch } from '../../../replay/index.js';
import { Rng } from '../../../rng.js';
import { findInput } from '../inputs.js';
import { recordsOf } from '../records.js';
import type { FidelitySetup } from './setup.js';
import { hashOf, type TruthRows } from './vector-truth-rows.js';

/** @throws INPUT_UNFIT, CHECKPOINT_CORRUPT, FIDELITY_TRUTH_UNFIT, FIDELITY_HELD_OUT_SEEN */
export async function broughtTruth(setup: FidelitySetup, env: VectorEnvironment, folder: string): Promise<TruthRows> {
  const buffer = await recordsOf(env, folder);
  if (buffer.source !== 'real' || buffer.size === 0) {
    const problem = buffer.size === 0 ? 'it holds no transitions.' : 'its transitions were dreamt, not lived.';
    throw reverieError('FIDELITY_TRUTH_UNFIT', { path: folder, problem });
  }
  const { transitions, starts: wanted } = setup.scenario.config.fidelity;
  const rng = Rng.fromSeed(setup.seed).split('fidelity', 'truth');
  const { indices, episodes } = drawnEpisodes(episodesOf(buffer), transitions, rng.split('episodes'));
  const rows = buffer.gather(Uint32Array.from(indices));
  const drawn = rng.split('starts').permutation(rows.rows).subarray(0, wanted);
  const starts = Array.from(drawn.sort(), (row) => ({ row }));
  const seen = await seenBefore(setup, env, rows, folder);
  if (seen > 0 && setup.inputs.heldOut !== undefined) {
    throw reverieError('FIDELITY_HELD_OUT_SEEN', { path: folder, overlap: `${seen} transitions` });
  }
  return {
    rows,
    episodes,
    starts,
    version: hashOf(buffer.hash(), indices, starts),
    description: `recorded transitions of ${env.id}`,
    notes: [seenNote(seen), ...shortNote(rows.rows, transitions)],
  };
}

function seenNote(seen: number): string {
  if (seen > 0)
    return `${seen} of these transitions lie beside the model, which was probably fitted to them: its errors are those on training data.`;
  return 'A model folder does not say what it was fitted to: that these transitions were not among it is for whoever gave them to know.';
}

function shortNote(rows: number, wanted: number): string[] {
  return rows < wanted ? [`Only ${rows} transitions were given where ${wanted} are asked for.`] : [];
}

/** Indices into the buffer of each unbroken episode, oldest first. */
function episodesOf(buffer: ReplayBuffer): number[][] {
  const { episode, step, obs, nextObs, terminated, truncated } = buffer.columns();
  const { obsDim, size, capacity, inserted } = buffer;
  const follows = (now: number, before: number) =>
    episode[now] === episode[before] &&
    step[now] === step[before] + 1 &&
    !terminated[before] &&
    !truncated[before] &&
    isSame(obs, now * obsDim, nextObs, before * obsDim, obsDim);
  const found: number[][] = [];
  for (let id = inserted - size; id < inserted; id++) {
    const index = id % capacity;
    const last = found.at(-1)?.at(-1);
    if (last !== undefined && follows(index, last)) found.at(-1)!.push(index);
    else found.push([index]);
  }
  return found;
}

/** Whole episodes at random, the last one cut where there would be too many rows. */
function drawnEpisodes(
  all: readonly (readonly number[])[],
  rows: number,
  rng: Rng,
): { readonly indices: number[]; readonly episodes: TruthEpisode[] } {
  const chosen = new Map<number, number>();
  let left = rows;
  for (const e of rng.permutation(all.length)) {
    if (left <= 0) break;
    chosen.set(e, Math.min(left, all[e].length));
    left -= all[e].length;
  }
  const indices: number[] = [];
  const episodes: TruthEpisode[] = [];
  all.forEach((episode, e) => {
    const count = chosen.get(e);
    if (count === undefined) return;
    episodes.push({ first: indices.length, rows: count });
    indices.push(...episode.slice(0, count));
  });
  return { indices, episodes };
}

/** How many rows are among those that lie beside the model under judgement. */
async function seenBefore(
  { inputs }: FidelitySetup,
  env: VectorEnvironment,
  rows: TransitionBatch,
  folder: string,
): Promise<number> {
  let beside: string | undefined;
  try {
    beside = findInput({ data: inputs.model }, 'data');
  } catch {
    return 0;
  }
  if (beside === undefined) return 0;
  if (beside === folder) return rows.rows;
  const theirs = (await recordsOf(env, beside)).rows();
  const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
  const known = new Set(Array.from({ length: theirs.rows }, (_, r) => rowKey(theirs, r, obsDim, actionDim)));
  return Array.from({ length: rows.rows }, (_, r) => rowKey(rows, r, obsDim, actionDim)).filter((key) => known.has(key))
    .length;
}

function rowKey({ obs, action, nextObs }: TransitionBatch, row: number, obsDim: number, actionDim: number): string {
  const part = (values: Float32Array, width: number) => values.subarray(row * width, (row + 1) * width).join();
  return `${part(obs, obsDim)};${part(action, actionDim)};${part(nextObs, obsDim)}`;
}

function isSame(a: Float32Array, at: number, b: Float32Array, bt: number, length: number): boolean {
  for (let j = 0; j < length; j++) if (a[at + j] !== b[bt + j]) return false;
  return true;
}
