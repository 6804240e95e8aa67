// Opens all that is judged in worlds of numbers: the truth, the models, and what is measured of each.

import { basename, resolve } from 'node:path';
import type { Json } from '../../core/canonical-json.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { panelOf } from '../../core/evaluation-set.js';
import { Rng } from '../../core/rng.js';
import type { EnvSpec } from '../../env/env-spec.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { remoteEnvironment } from '../../env/remote/remote.js';
import type { RemoteVectorEnvironment } from '../../env/remote/remote-environment.js';
import { describeSpace, rowSize } from '../../env/space-values.js';
import { faceOf } from '../../kinds/registry.js';
import type { Scenario } from '../../kinds/vector.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { Dream } from '../../worldmodel/dream.js';
import { loadWorldModel } from '../../worldmodel/kinds.js';
import { vectorCalibration } from '../calibration.js';
import { driftRule, horizonFindings } from '../horizon.js';
import type { Subject } from '../measure.js';
import { unrankable } from '../rank.js';
import type { TruthReport } from '../report.js';
import { vectorRewardEnd } from '../reward-end.js';
import {
  type FidelityInputs,
  type FidelityServices,
  type FidelitySetup,
  instrumentsOf,
  isUrl,
  judgedEnvironment,
  type OpenedSubjects,
  type Question,
} from '../setup.js';
import {
  groundOf,
  type Judged,
  type TruthEpisode,
  type VectorHost,
  type VectorSetup,
  type VectorSubjectModel,
  type VectorTruth,
} from './ground.js';
import { kStepsInstrument } from './k-steps.js';
import { openVectorLadder } from './ladder.js';
import { oneStepInstrument } from './one-step.js';
import { hashOf, type PolicyMixture, policyMixture, recordedTruth, type TruthRows } from './record.js';

export const VECTOR_QUESTIONS = [
  { id: 'one-step', ask: oneStepInstrument },
  { id: 'k-steps', ask: kStepsInstrument },
  { id: 'reward-end', ask: vectorRewardEnd },
  { id: 'calibration', ask: vectorCalibration },
  { id: 'rank', ask: ({ rank, subject }) => rank?.(subject) ?? unrankable('No policies were opened.') },
] as readonly Question<Judged>[];

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
  const opened: { close(): Promise<void> | void }[] = [];
  const close = async () => {
    for (const one of opened.reverse()) await one.close();
  };
  try {
    const env = await real();
    opened.push(env);
    const mixture = await policyMixture(env, host.find(setup.inputs, 'checkpoint'), host);
    opened.push(mixture);
    const models: OpenedModel[] = [];
    for (const named of namedModels(setup)) {
      models.push(await openModel(named, setup, env, real));
      opened.push(models.at(-1)!);
    }
    const { truth, report, notes } = await openTruth(setup, env, mixture, services);
    const { horizon, tolerance, sections } = config.fidelity;
    const ladder = sections.includes('rank') ? await openVectorLadder(setup) : undefined;
    if (ladder !== undefined) opened.push(ladder);
    const plan = { seed: setup.seed, horizon, tolerance, propagation: config.rollout.propagation };
    const ground = groundOf(truth, plan, { ...mixture.replayed, environment: real });
    const subjects = models.map(({ model }): Subject => {
      const subject = { ...model, notes: [...notes, ...(model.notes ?? [])] };
      return {
        name: model.name,
        kind: model.kind,
        version: model.version,
        instruments: instrumentsOf(VECTOR_QUESTIONS, { ground, subject, rank: ladder?.rank }, sections),
        derive: (findings) => (sections.includes('horizon') ? horizonFindings(findings, driftRule, tolerance) : []),
      };
    });
    const behaviour = mixture.replayed.policy.version;
    const panel = panelOf({
      environment: truth.version,
      tasks: [],
      seeds: [setup.seed],
      policies: { behaviour, ladder: hashOf(ladder?.identity ?? null) },
      settings: { plan, fidelity: config.fidelity } as unknown as Json,
    });
    const identity = hashOf(truth.version, plan, behaviour, ladder?.identity ?? null);
    return { truth: report, identity, panel, subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

// The models under judgement: folders of world models, and served environments.

interface OpenedModel {
  readonly model: VectorSubjectModel;
  close(): Promise<void>;
}

/** Makes a real environment; whoever asks closes it. */
type MakeReal = () => Promise<VectorEnvironment>;

interface NamedModel {
  readonly name: string;
  /** Folder or URL. */
  readonly at: string;
}

/** The served one, the one of --model (or of the scenario), and those to compare; gates look at the first. @throws INPUT_NEEDED */
function namedModels({ inputs, scenario, host }: VectorSetup): NamedModel[] {
  const own = host.find(inputs, 'model') ?? host.ownModel(scenario);
  const compared = (inputs.compare ?? []).map((given) => ({
    given,
    at: isUrl(given) ? given : host.find({ model: given }, 'model')!,
  }));
  const all = [
    ...(inputs.url === undefined ? [] : [{ given: inputs.url, at: inputs.url }]),
    ...(own === undefined ? [] : [{ given: inputs.model ?? own, at: own }]),
    ...compared,
  ];
  if (all.length === 0) throw noModel(scenario.config.name);
  const names = all.map(({ given }) => (isUrl(given) ? given : basename(resolve(given))));
  const isOnce = (name: string) => names.filter((other) => other === name).length === 1;
  return all.map(({ at, given }, i) => ({ at, name: isOnce(names[i]) ? names[i] : given }));
}

/** @throws INPUT_NEEDED, MODEL_FILE_INVALID, INPUT_MISSING, INPUT_UNFIT, and as `remoteEnvironment` */
async function openModel(
  { at, name }: NamedModel,
  { scenario }: VectorSetup,
  env: VectorEnvironment,
  real: MakeReal,
): Promise<OpenedModel> {
  if (isUrl(at)) return { model: await servedModel(at, scenario.config.name, env), close: async () => {} };
  const model = await loadWorldModel(at);
  try {
    requireSpaces(model, env, at, 'model');
  } catch (error) {
    await model.close();
    throw error;
  }
  const { propagation, range } = scenario.config.rollout;
  const subject: VectorSubjectModel = {
    name,
    kind: model.backend,
    version: model.modelVersion,
    model,
    forecast: model.forecast?.bind(model),
    dream: async (seed) => {
      const first = await real();
      try {
        const starts = (await first.reset({ seed })).observation;
        return new Dream({ model, starts, maxEpisodeSteps: env.maxEpisodeSteps, range, step: { propagation } });
      } finally {
        await first.close();
      }
    },
  };
  return { model: subject, close: () => model.close() };
}

/** A served environment: one can only act in it, from its own reset on. */
async function servedModel(url: string, scenario: string, env: VectorEnvironment): Promise<VectorSubjectModel> {
  const first = await judgedEnvironment(url, scenario);
  try {
    const { card } = first;
    if (faceOf(card).acts !== 'numbers') throw noModel(url);
    requireSpaces(first as RemoteVectorEnvironment, env, url, 'url');
    return {
      name: url,
      kind: 'served',
      version: card.version,
      notes: [
        `"${card.name}" is served as ${card.source === 'real' ? 'a real environment' : 'a simulation'}; its episodes are begun with the seeds of the real ones.`,
      ],
      dream: async () => (await remoteEnvironment(url, { environment: card.name })) as RemoteVectorEnvironment,
    };
  } finally {
    await first.close();
  }
}

function noModel(name: string): Error {
  return reverieError('INPUT_NEEDED', {
    problem: `There is no world model of "${name}" to judge.`,
    hint: 'Give --model FOLDER (a run of fit or train), --url URL of a server, or a scenario whose model is an ONNX file.',
  });
}

function requireSpaces(
  model: Pick<VectorEnvironment, 'observationSpace' | 'actionSpace'>,
  env: VectorEnvironment,
  path: string,
  input: keyof FidelityInputs,
): void {
  for (const space of ['observationSpace', 'actionSpace'] as const) {
    const [theirs, ours] = [describeSpace(model[space]), describeSpace(env[space])];
    if (theirs === ours) continue;
    const what = space === 'actionSpace' ? 'action space' : 'observation space';
    throw reverieError('INPUT_UNFIT', { path, input, env: env.id, what, theirs, ours });
  }
}

// The real transitions that simulations are held against: recorded once into the run, or brought by the user.

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

/** @throws INPUT_UNFIT, CHECKPOINT_CORRUPT, INPUT_INVALID */
async function broughtTruth(setup: VectorSetup, env: VectorEnvironment, folder: string): Promise<TruthRows> {
  const buffer = await setup.host.records(env, folder);
  if (buffer.source !== 'real' || buffer.size === 0) {
    const problem = buffer.size === 0 ? 'it holds no transitions.' : 'its transitions were simulated, not real.';
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
  const { model, compare = [], heldOut } = setup.inputs;
  const judged = [...(model === undefined ? [] : [model]), ...compare.filter((given) => !isUrl(given))];
  const seen = await seenRows(
    rows,
    judged.flatMap((one) => setup.host.trainingFolders(one)),
  );
  if (seen > 0 && heldOut !== undefined) {
    throw reverieError('INPUT_INVALID', {
      problem: `"${folder}" is not held out: the model was made from what it holds (${seen} transitions).`,
      hint: 'Judge by records that the model never saw: other families of tasks, other episodes; or leave --held-out away and take the result as one on training data.',
    });
  }
  const seenNote =
    seen > 0
      ? `${seen} of these transitions are among those that a model was made from, as far as runs tell: its errors are those on training data.`
      : 'None of these transitions was found among those that models were made from, as far as runs tell; a model folder by itself does not say.';
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
