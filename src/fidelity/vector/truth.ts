// The real transitions that simulations are held against. Recorded in the real environment: whole episodes of a mixture of policies,
// from seeds that no other job uses; once, and found again by a thread or a run that resumes. Or brought by the user.

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { contentHash } from '../../core/canonical-json.js';
import type { StepResult, VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import { Acting, type Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { rowSize } from '../../env/space-values.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { readKept } from '../measure.js';
import type { TruthReport } from '../report.js';
import { type FidelityServices, notHeldOut } from '../section.js';
import { type TruthEpisode, UNCLOCKED_STEPS, type VectorSetup, type VectorTruth } from './ground.js';
import type { PolicyMixture } from './ladder.js';

/**
 * The truth of a run: `--held-out` or `--data` where given, else what is recorded in `<out>/truth` (recorded now, if it is
 * not there yet). @throws INPUT_INVALID, INPUT_UNFIT, INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function openTruth(
  setup: VectorSetup,
  env: VectorEnvironment,
  mixture: PolicyMixture,
  services?: FidelityServices,
): Promise<{ readonly truth: VectorTruth; readonly report: TruthReport; readonly notes: readonly string[] }> {
  const { inputs } = setup;
  const brought = setup.host.find({ data: inputs.heldOut ?? inputs.data }, 'data');
  const found =
    brought === undefined
      ? await recordedTruth(setup, env, mixture, services)
      : await broughtTruth(setup, env, brought);
  const { description, notes, ...known } = found;
  const { observationSpace, actionSpace } = env;
  const elements = Array.from({ length: rowSize(observationSpace) }, (_, j) => `obs[${j}]`);
  const kind = brought === undefined ? 'environment' : 'recorded';
  const [transitions, episodes] = [known.rows.rows, known.episodes.length];
  return {
    truth: { ...known, observationSpace, actionSpace, elements },
    report: { kind, description, version: known.version, transitions, episodes },
    notes,
  };
}

// Recorded now.

/** Rows, episodes and starts, without the names that go with them. */
type TruthRows = Pick<VectorTruth, 'version' | 'rows' | 'episodes' | 'starts'> & {
  readonly description: string;
  readonly notes: readonly string[];
};

/** What lies beside the recorded rows; written last, so that where it is, all is. */
interface TruthFile {
  /** Identifies what was to be recorded. */
  readonly key: string;
  /** Hash of the rows. */
  readonly rows: string;
  readonly episodes: readonly TruthEpisode[];
  readonly starts: readonly number[];
}

const FOLDER = 'truth';
const FILE = 'truth.json';

async function recordedTruth(
  setup: VectorSetup,
  env: VectorEnvironment,
  mixture: PolicyMixture,
  services?: FidelityServices,
): Promise<TruthRows> {
  const folder = join(setup.out, FOLDER);
  const { policies } = mixture;
  const { transitions, starts } = setup.scenario.config.fidelity;
  const versions = policies.map(({ policy }) => policy.version);
  const key = hashOf('truth 2', setup.host.environment(setup.scenario), setup.seed, transitions, starts, versions);
  const kept = (await readKept(join(folder, FILE))) as TruthFile | undefined;
  const file = kept?.key === key ? kept : await record(setup, env, mixture, folder, key, services);
  const buffer = await ReplayBuffer.load(folder);
  const seen = new Set(buffer.originList().map(({ policyVersion }) => policyVersion));
  const [acted, idle] = [true, false].map((has) => policies.filter(({ policy }) => seen.has(policy.version) === has));
  const named = (some: typeof policies) => some.map(({ name }) => name).join('; ');
  return {
    rows: buffer.rows(),
    episodes: file.episodes,
    starts: file.starts,
    version: hashOf(file.rows, file.episodes, file.starts),
    description: `${env.id}, recorded with ${named(acted)}`,
    notes: [
      'The truth was recorded for this report, in episodes of a seed stream of its own: no model was fitted to them.',
      ...(setup.inputs.checkpoint !== undefined
        ? []
        : ['No --checkpoint was given: only untrained policies acted, and models are judged where those lead.']),
      ...(idle.length > 0 ? [`Did not act, as fidelity.transitions was reached before: ${named(idle)}.`] : []),
    ],
  };
}

async function record(
  setup: VectorSetup,
  env: VectorEnvironment,
  { policies }: PolicyMixture,
  folder: string,
  key: string,
  services?: FidelityServices,
): Promise<TruthFile> {
  const { config } = setup.scenario;
  const { transitions, starts: wanted } = config.fidelity;
  const phase = services?.progress.phase('record truth', transitions, 'real steps');
  const limit = env.maxEpisodeSteps ?? UNCLOCKED_STEPS;
  const root = Rng.fromSeed(setup.seed).split('fidelity', 'truth');
  const drawn = root.split('starts').permutation(transitions).subarray(0, wanted);
  const dims = { obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) };
  const buffer = new ReplayBuffer({ capacity: transitions + limit, ...dims, source: 'real' });
  const shared = {
    source: 'real',
    backend: 'real',
    modelVersion: '',
    scenario: config.name,
    seed: setup.seed,
  } as const;
  const episodes: TruthEpisode[] = [];
  const taken = policies.map(() => 0);
  while (buffer.size < transitions) {
    services?.signal.throwIfAborted();
    // The one with fewest steps: each policy gets an equal share of the rows, however soon its episodes end.
    const turn = taken.indexOf(Math.min(...taken));
    const { policy } = policies[turn];
    const [number, first] = [episodes.length, buffer.size];
    const seed = root.split('episode', number).uint32();
    const batch = await runEpisode(env, policy, seed, root.split('policy', number), limit);
    const { rows } = batch;
    const step = Uint32Array.from({ length: rows }, (_, i) => i);
    const episode = new Float64Array(rows).fill(number);
    buffer.append(batch, { ...shared, policyVersion: policy.version, episode, step });
    episodes.push({ first, rows });
    taken[turn] += rows;
    phase?.set(Math.min(buffer.size, transitions));
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await nextTurn();
  }
  phase?.end();
  await ensureFolder(folder);
  await buffer.save(folder);
  const file: TruthFile = { key, rows: buffer.hash(), episodes, starts: Array.from(drawn).sort((a, b) => a - b) };
  await writeFileAtomic(join(folder, FILE), sealedText(file));
  return file;
}

/** A whole episode, of at most `limit` steps. */
async function runEpisode(env: VectorEnvironment, policy: Policy, seed: number, rng: Rng, limit: number) {
  const steps: (StepResult<Float32Array> & { readonly obs: Float32Array; readonly action: Float32Array })[] = [];
  const acting = new Acting(policy, 1);
  let { observation: obs } = await env.reset({ seed });
  for (let ended = false; !ended && steps.length < limit; ) {
    const { action } = await acting.act(obs, rng);
    const result = await env.step(action);
    steps.push({ obs, action, ...result });
    ended = result.terminated || result.truncated;
    obs = result.observation;
  }
  return {
    rows: steps.length,
    obs: joinedFloats(steps.map((one) => one.obs)),
    action: joinedFloats(steps.map(({ action }) => action)),
    reward: Float32Array.from(steps, ({ reward }) => reward),
    terminated: Uint8Array.from(steps, ({ terminated }) => Number(terminated)),
    truncated: Uint8Array.from(steps, ({ truncated }) => Number(truncated)),
    nextObs: joinedFloats(steps.map(({ observation }) => observation)),
  };
}

/** Short hash of plain data. */
export function hashOf(...parts: readonly unknown[]): string {
  return contentHash(parts).slice(0, 32);
}

// Transitions of the user's as truth: whole episodes, drawn until there are enough rows.

/** @throws INPUT_UNFIT, CHECKPOINT_CORRUPT, INPUT_INVALID */
async function broughtTruth(setup: VectorSetup, env: VectorEnvironment, folder: string): Promise<TruthRows> {
  const buffer = await setup.host.records(env, folder);
  if (buffer.source !== 'real' || buffer.size === 0) {
    const problem = buffer.size === 0 ? 'it holds no transitions.' : 'its transitions were simulated, not real.';
    throw reverieError('INPUT_INVALID', {
      problem: `"${folder}" is no truth to hold a simulation against: ${problem}`,
      hint: 'Give real transitions of this environment (a run of collect or train), or none: then they are recorded first.',
    });
  }
  const { transitions, starts: wanted } = setup.scenario.config.fidelity;
  const rng = Rng.fromSeed(setup.seed).split('fidelity', 'truth');
  const { indices, episodes } = drawnEpisodes(episodesOf(buffer), transitions, rng.split('episodes'));
  const rows = buffer.gather(Uint32Array.from(indices));
  const drawn = rng.split('starts').permutation(rows.rows).subarray(0, wanted);
  const starts = Array.from(drawn.sort());
  const { model, compare = [], heldOut } = setup.inputs;
  const judged = [...(model === undefined ? [] : [model]), ...compare];
  const seen = await seenRows(
    rows,
    judged.flatMap((one) => setup.host.trainingFolders(one)),
  );
  if (seen > 0 && heldOut !== undefined) throw notHeldOut(folder, `${seen} transitions`);
  const seenNote =
    seen > 0
      ? `${seen} of these transitions are among those that a model was made from, as far as runs say: its errors are those on training data.`
      : 'None of these transitions was found among those that models were made from, as far as runs say; a model folder by itself does not say.';
  const fewer = `Only ${rows.rows} transitions were given where ${transitions} are asked for.`;
  return {
    rows,
    episodes,
    starts,
    version: hashOf(buffer.hash(), indices, starts),
    description: `recorded transitions of ${env.id}`,
    notes: [seenNote, ...(rows.rows < transitions ? [fewer] : [])],
  };
}

/** Indices into the buffer of each unbroken episode, oldest first. */
function episodesOf(buffer: ReplayBuffer): number[][] {
  const { episode, step, obs, nextObs, terminated, truncated } = buffer.columns();
  const { obsDim, size, capacity, inserted } = buffer;
  const isSame = (now: number, before: number) => {
    for (let j = 0; j < obsDim; j++) if (obs[now * obsDim + j] !== nextObs[before * obsDim + j]) return false;
    return true;
  };
  const follows = (now: number, before: number) =>
    episode[now] === episode[before] &&
    step[now] === step[before] + 1 &&
    !terminated[before] &&
    !truncated[before] &&
    isSame(now, before);
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
function drawnEpisodes(all: readonly (readonly number[])[], rows: number, rng: Rng) {
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
    for (const index of episode.slice(0, count)) indices.push(index);
  });
  return { indices, episodes };
}

/**
 * How many of the rows lie, to the bit, in one of the folders.
 *
 * @param rows float rows: observations and actions as wide as the batch says
 * @throws CHECKPOINT_CORRUPT
 */
export async function seenRows(rows: TransitionBatch, folders: readonly string[]): Promise<number> {
  const known = new Set<string>();
  for (const folder of folders) {
    const theirs = (await ReplayBuffer.load(folder)).rows();
    for (let row = 0; row < theirs.rows; row++) known.add(rowKey(theirs, row));
  }
  let seen = 0;
  for (let row = 0; row < rows.rows; row++) if (known.has(rowKey(rows, row))) seen++;
  return seen;
}

function rowKey({ rows, obs, action, nextObs }: TransitionBatch, row: number): string {
  return [obs, action, nextObs]
    .map((values) => {
      const width = values.length / rows;
      return values.subarray(row * width, (row + 1) * width).join();
    })
    .join(';');
}
