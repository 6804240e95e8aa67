// Recorded transitions of the user's as truth: whole episodes, drawn until there are enough rows.

import type { VectorEnvironment } from '../../../../env/index.js';
import { reverieError } from '../../../../errors.js';
import type { TruthEpisode } from '../../../../fidelity/index.js';
import type { ReplayBuffer } from '../../../../replay/index.js';
import { Rng } from '../../../../rng.js';
import type { JobInputs } from '../../../job.js';
import { recordsOf } from '../../records.js';
import { seenRows, trainingFolders } from '../held-out.js';
import type { FidelitySetup } from '../setup.js';
import { isUrl } from './served.js';
import { hashOf, type TruthRows } from './truth-rows.js';

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
  const seen = await seenRows(
    rows,
    judged(setup.inputs).flatMap((model) => trainingFolders(model)),
  );
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

/** Folders of models under judgement. */
function judged({ model, compare = [] }: JobInputs): readonly string[] {
  return [...(model === undefined ? [] : [model]), ...compare.filter((given) => !isUrl(given))];
}

function seenNote(seen: number): string {
  if (seen > 0)
    return `${seen} of these transitions are among those that a model was made from, as far as runs tell: its errors are those on training data.`;
  return 'None of these transitions was found among those that models were made from, as far as runs tell; a model folder by itself does not say.';
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

function isSame(a: Float32Array, at: number, b: Float32Array, bt: number, length: number): boolean {
  for (let j = 0; j < length; j++) if (a[at + j] !== b[bt + j]) return false;
  return true;
}
