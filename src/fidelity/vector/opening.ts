// Opens all that is judged in family `vector`: the truth, the models, and what is measured of each.

import type { Json } from '../../core/canonical-json.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { panelOf } from '../../core/evaluation-set.js';
import { Rng } from '../../core/rng.js';
import type { EnvSpec } from '../../env/env-spec.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { rowSize } from '../../env/space-values.js';
import type { Scenario } from '../../kinds/vector.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { horizonFindings } from '../horizon/horizon.js';
import type { HorizonPlan } from '../horizon/return-bounds.js';
import type { Finding, Subject } from '../instrument.js';
import { instrumentsOf } from '../kind.js';
import type { SectionId, TruthReport } from '../report/fidelity-report.js';
import {
  type FidelityInputs,
  type FidelityServices,
  type FidelitySetup,
  isUrl,
  type OpenedSubjects,
} from '../setup.js';
import { groundOf, type Judged } from './ground.js';
import { driftRule } from './horizon.js';
import { vectorKind } from './kind.js';
import { vectorLearningInstrument } from './learning.js';
import { type OpenedModel, openModels } from './models.js';
import { openVectorLadder } from './rank.js';
import { hashOf, recordedTruth, type TruthRows } from './recording.js';
import { type PolicyMixture, policyMixture } from './recording-policies.js';
import { policyGamma, type VectorHost, type VectorSetup } from './setup.js';
import type { TruthEpisode, VectorTruth } from './truth.js';

/**
 * Records the truth first where there is none yet. Worker threads open the same without `services`.
 * @throws what `openTruth` and `openModels` throw, and CHECKPOINT_CORRUPT
 */
export async function openVectorSubjects(
  given: FidelitySetup<Scenario>,
  host: VectorHost,
  services?: FidelityServices,
): Promise<OpenedSubjects> {
  const setup: VectorSetup = { ...given, host };
  const { config, folder } = setup.scenario;
  const real = (): Promise<VectorEnvironment> => makeEnvironment(config.env, { folder });
  const env = await real();
  const mixture = await mixtureFor(setup, env);
  let models: OpenedModel[] = [];
  let policies: PolicyInstruments | undefined;
  const close = async () => {
    await policies?.close();
    await Promise.all(models.map((model) => model.close()));
    await mixture.close();
    await env.close();
  };
  try {
    models = await openModels(setup, env, real);
    const { truth, report, notes } = await openTruth(setup, env, mixture, services);
    const judging = await openPolicyInstruments(setup);
    policies = judging;
    const { horizon, tolerance, sections } = config.fidelity;
    const plan = { seed: setup.seed, horizon, tolerance, propagation: config.rollout.propagation };
    const ground = groundOf(truth, plan, { ...mixture.replayed, environment: real });
    const subjects = models.map(({ model }): Subject => {
      const subject = { ...model, notes: [...notes, ...(model.notes ?? [])] };
      const judged: Judged = { ground, subject, policies: judging.of(truth) };
      return {
        name: model.name,
        kind: model.kind,
        version: model.version,
        instruments: instrumentsOf(vectorKind, judged, sections),
        derive: vectorHorizon(setup.scenario, env.maxEpisodeSteps ?? horizon),
        close: async () => {},
      };
    });
    const identity = hashOf(truth.version, plan, mixture.replayed.policy.version, judging.identity);
    const panel = panelOf({
      environment: truth.version,
      tasks: [],
      seeds: [setup.seed],
      policies: { behaviour: mixture.replayed.policy.version, ladder: hashOf(judging.identity) },
      settings: { plan, fidelity: config.fidelity } as unknown as Json,
    });
    return { truth: report, identity, panel, subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function mixtureFor({ inputs, host }: VectorSetup, env: VectorEnvironment): Promise<PolicyMixture> {
  try {
    return await policyMixture(env, host.find(inputs, 'checkpoint'), host);
  } catch (error) {
    await env.close();
    throw error;
  }
}

// What the trust horizon of a scenario's models is asked with.

type Derive = (findings: ReadonlyMap<SectionId, Finding>) => readonly Finding[];

/** For `Subject.derive` of models of numbers. @param maxSteps of an episode of the real environment */
function vectorHorizon({ config }: Scenario, maxSteps: number): Derive {
  const plan: HorizonPlan = {
    rule: driftRule,
    tolerance: config.fidelity.tolerance,
    gamma: policyGamma(config),
    maxSteps,
  };
  return (findings) => (config.fidelity.sections.includes('horizon') ? horizonFindings(findings, plan) : []);
}

// What is measured of a model of numbers by policies: do they rank in it, and what do they learn from it. Made once for all
// models of a run, and only where it is asked for.

interface PolicyInstruments {
  /** Identifies policies and learners. */
  readonly identity: string;
  of(truth: VectorTruth): Judged['policies'];
  close(): Promise<void>;
}

/** Throws what `openVectorLadder` throws. */
async function openPolicyInstruments(setup: VectorSetup): Promise<PolicyInstruments> {
  const { sections, learning } = setup.scenario.config.fidelity;
  const ladder = sections.includes('rank') ? await openVectorLadder(setup) : undefined;
  const isLearned = sections.includes('learning');
  return {
    identity: JSON.stringify([ladder?.identity ?? null, isLearned ? learning : null]),
    of: (truth) => ({
      ...(ladder && { rank: (subject) => ladder.rank(subject) }),
      ...(isLearned && { learning: ({ model }) => vectorLearningInstrument(setup, truth, model) }),
    }),
    close: async () => ladder?.close(),
  };
}

// The real transitions that dreams are held against: recorded once into the run, or brought by the user.

interface OpenedTruth {
  readonly truth: VectorTruth;
  readonly report: TruthReport;
  readonly notes: readonly string[];
}

/**
 * The truth of a run: `--held-out` or `--data` where given, else what is recorded in `<out>/truth` (recorded now, if it is
 * not there yet). @throws INPUT_INVALID, INPUT_UNFIT, INPUT_MISSING, CHECKPOINT_CORRUPT
 */
async function openTruth(
  setup: VectorSetup,
  env: VectorEnvironment,
  mixture: PolicyMixture,
  services?: FidelityServices,
): Promise<OpenedTruth> {
  const { inputs, scenario } = setup;
  const brought = setup.host.find({ data: inputs.heldOut ?? inputs.data }, 'data');
  const found =
    brought === undefined
      ? await recordedTruth(setup, env, mixture, services)
      : await broughtTruth(setup, env, brought);
  const { rows, episodes, starts, version, description, notes } = found;
  const { observationSpace, actionSpace } = env;
  const elements = elementNames(scenario.config.env, env);
  return {
    truth: { version, observationSpace, actionSpace, elements, rows, episodes, starts },
    report: {
      kind: brought === undefined ? 'environment' : 'recorded',
      description,
      version,
      transitions: rows.rows,
      episodes: episodes.length,
    },
    notes,
  };
}

// What people call the elements of an observation, where the environment is one we know.

const velocities = (joints: readonly string[]) => joints.map((joint) => `d ${joint}/dt`);
const LEG = ['thigh', 'leg', 'foot'];
const LEGS = [...LEG, 'left thigh', 'left leg', 'left foot'];
const CHEETAH = ['back thigh', 'back shin', 'back foot', 'front thigh', 'front shin', 'front foot'];
const ROOT = ['root z', 'root angle'];

const NAMES: Readonly<Record<string, readonly string[]>> = {
  pendulum: ['cos θ', 'sin θ', 'dθ/dt'],
  cartpole: ['x', 'dx/dt', 'θ', 'dθ/dt'],
  'inverted-pendulum': ['x', 'θ', 'dx/dt', 'dθ/dt'],
  'cartpole-swingup': ['x', 'sin θ', 'cos θ', 'dx/dt', 'dθ/dt'],
  hopper: [...ROOT, ...LEG, ...velocities(['root x', ...ROOT, ...LEG])],
  walker2d: [...ROOT, ...LEGS, ...velocities(['root x', ...ROOT, ...LEGS])],
  'half-cheetah': [...ROOT, ...CHEETAH, ...velocities(['root x', ...ROOT, ...CHEETAH])],
};

/** One name an element; numbered where the environment is not a known one, or shows something else. */
function elementNames(spec: EnvSpec, env: VectorEnvironment): readonly string[] {
  const names = spec.observation === undefined ? NAMES[spec.id ?? ''] : undefined;
  const size = rowSize(env.observationSpace);
  if (names?.length === size) return names;
  return Array.from({ length: size }, (_, j) => `observation[${j}]`);
}

// Recorded transitions of the user's as truth: whole episodes, drawn until there are enough rows.

/** @throws INPUT_UNFIT, CHECKPOINT_CORRUPT, INPUT_INVALID, INPUT_INVALID */
async function broughtTruth(setup: VectorSetup, env: VectorEnvironment, folder: string): Promise<TruthRows> {
  const buffer = await setup.host.records(env, folder);
  if (buffer.source !== 'real' || buffer.size === 0) {
    const problem = buffer.size === 0 ? 'it holds no transitions.' : 'its transitions were dreamt, not lived.';
    throw reverieError('INPUT_INVALID', {
      problem: `"${folder}" is no truth to hold a dream against: ${problem}`,
      hint: 'Give real transitions of this environment (a run of collect or train), or none: then they are recorded first.',
    });
  }
  const { transitions, starts: wanted } = setup.scenario.config.fidelity;
  const rng = Rng.fromSeed(setup.seed).split('fidelity', 'truth');
  const { indices, episodes } = drawnEpisodes(episodesOf(buffer), transitions, rng.split('episodes'));
  const rows = buffer.gather(Uint32Array.from(indices));
  const drawn = rng.split('starts').permutation(rows.rows).subarray(0, wanted);
  const starts = Array.from(drawn.sort(), (row) => ({ row }));
  const seen = await seenRows(
    rows,
    judged(setup.inputs).flatMap((model) => setup.host.trainingFolders(model)),
  );
  if (seen > 0 && setup.inputs.heldOut !== undefined) {
    throw reverieError('INPUT_INVALID', {
      problem: `"${folder}" is not held out: the model was made from what it holds (${`${seen} transitions`}).`,
      hint: 'Judge by records that the model never saw: other families of tasks, other episodes; or leave --held-out away and take the result as one on training data.',
    });
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
function judged({ model, compare = [] }: FidelityInputs): readonly string[] {
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

// Whether transitions were kept from a model.

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
