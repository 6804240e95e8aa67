// What a job is given to work with: where in a folder that the user named the wanted thing lies, what it is by its bytes, and records
// and learners checked against the environment they are for.

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { VectorEnvironment, VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, recoverFolder } from '../../core/files.js';
import type { Policy } from '../../core/policy.js';
import type { EnvSpec } from '../../env/environments.js';
import { describeSpace, rowSize } from '../../env/space-values.js';
import type { TrainingDevice } from '../../nn/trainer.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { isSavedBuffer } from '../../replay/snapshot.js';
import { loadLearner, saveLearner } from '../../rl/checkpoint.js';
import type { Learner, PlanningLearner } from '../../rl/learner.js';
import { misfit, type Spaces } from '../../rl/spaces.js';
import type { Training } from '../../training/training.js';
import type { StoredDynamics } from '../../worldmodel/dynamics.js';
import { dynamicsKinds, loadWorldModel } from '../../worldmodel/kinds.js';
import { closedOnFailure, type FolderInput, type JobInputs } from '../job.js';
import type { Scenario } from '../scenario.js';

type FoundInput = keyof typeof INPUTS;

const LEARNER_FORMAT = 'reverie-learner';

/** What is looked for: its file, and the folders of a run that it may lie in. */
interface Input {
  readonly what: string;
  readonly file: string;
  readonly folders: readonly string[];
  /** Whether the `format` that a manifest claims is of this kind; a damaged file counts, for its reader to say how. */
  readonly isFormat?: (format: unknown) => boolean;
}

const INPUTS: Readonly<Record<Exclude<FolderInput, 'heldOut'>, Input>> = {
  data: { what: 'replay snapshot', file: 'transitions.bin', folders: ['', 'data', 'checkpoint/real', 'real'] },
  episodes: { what: 'file of episodes', file: 'episodes.jsonl', folders: ['data', ''] },
  model: {
    what: 'world model',
    file: 'manifest.json',
    folders: ['model', 'checkpoint/model', ''],
    isFormat: (format) => format !== LEARNER_FORMAT,
  },
  checkpoint: {
    what: 'learner checkpoint',
    file: 'manifest.json',
    folders: ['learner', 'checkpoint/learner', ''],
    isFormat: (format) => format === undefined || format === LEARNER_FORMAT,
  },
};

/** Finishes what a killed run left of replacing its checkpoint. `given`: a run, its checkpoint, or a folder in that. */
export async function recoverCheckpoint(given: string): Promise<void> {
  const folder = resolve(given);
  for (const place of [join(folder, 'checkpoint'), folder, dirname(folder)])
    if (basename(place) === 'checkpoint') await recoverFolder(place);
}

/**
 * The folder of input `name`, or undefined if the user gave none.
 * @param flag  what gives it, if that is called otherwise
 * @throws INPUT_MISSING if it holds no such thing
 */
export function findInput(inputs: JobInputs, name: FoundInput, flag: FoundInput = name): string | undefined {
  const given = inputs[flag];
  if (given === undefined) return undefined;
  const { what, folders } = INPUTS[name];
  const found = folders.map((folder) => join(given, folder)).find((folder) => isOne(name, folder));
  if (found === undefined) throw reverieError('INPUT_MISSING', { what, path: given, input: flag });
  return found;
}

/** As `findInput`, where the job cannot do without. @throws INPUT_NEEDED, INPUT_MISSING */
export function requireInput(inputs: JobInputs, name: FoundInput, flag: FoundInput = name): string {
  const found = findInput(inputs, name, flag);
  if (found !== undefined) return found;
  const what = `a ${INPUTS[name].what}`;
  throw reverieError('INPUT_NEEDED', {
    problem: `This needs ${what}, and --${flag} was not given.`,
    hint: `Give --${flag} FOLDER: one that holds ${what}, or a run that does.`,
  });
}

function isOne(name: FoundInput, folder: string): boolean {
  if (name === 'data') return isSavedBuffer(folder);
  const { file, isFormat } = INPUTS[name];
  const path = join(folder, file);
  return existsSync(path) && (isFormat === undefined || isFormat(formatOf(path)));
}

function formatOf(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { format?: unknown } | null)?.format;
  } catch {
    // What the reader of that folder says of a damaged file is better than "there is none".
    return undefined;
  }
}

/** Of the bytes of all files in a folder, whatever it is called and wherever it lies. */
export async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) {
    const path = join(folder, file);
    if (!statSync(path).isFile()) continue;
    hash.update(`${basename(file)}\n`);
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  }
  return hash.digest('hex').slice(0, 12);
}

/** Folder of the world model that a scenario brings along; undefined where its kind is fitted. */
export function broughtModel({ config, folder }: Scenario): string | undefined {
  const brought = dynamicsKinds.get(config.model.kind).broughtFolder?.(config.model);
  return brought === undefined ? undefined : resolve(folder, brought);
}

/** The world model in `folder`; with `kind`, one that this kind fits further. @throws MODEL_FILE_INVALID, FLAG_INVALID, INPUT_UNFIT if its spaces are not `env`'s */
export async function modelFor(env: VectorEnvironment, folder: string, kind?: string): Promise<StoredDynamics> {
  const model = await loadWorldModel(folder);
  const isFit = kind === undefined || kind === model.backend || dynamicsKinds.get(kind).broughtFolder !== undefined;
  const expected = `one of model.kind "${kind}", to fit it further, and not of "${model.backend}"`;
  const problem = isFit
    ? misfit(model, env, folder, 'model')
    : reverieError('FLAG_INVALID', { flag: '--model', value: folder, expected });
  if (problem === undefined) return model;
  await model.close();
  throw problem;
}

/** The scenario's environment with model file and folder by their whole paths. */
export function resolvedSpec({ config, folder }: Scenario): EnvSpec {
  const { mjcf, mjcfFolder } = config.env;
  const whole = (key: string, path?: string) => path !== undefined && { [key]: resolve(folder, path) };
  return { ...config.env, ...whole('mjcf', mjcf), ...whole('mjcfFolder', mjcfFolder) };
}

/** The buffer in `folder`. @throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if its rows are not such as `env` gives */
export async function recordsOf(env: VectorEnvironment, folder: string): Promise<ReplayBuffer> {
  const buffer = await ReplayBuffer.load(folder);
  const sizes = (obs: number, action: number) => `${obs} observation and ${action} action numbers`;
  const theirs = sizes(buffer.obsDim, buffer.actionDim);
  const ours = sizes(rowSize(env.observationSpace), rowSize(env.actionSpace));
  const unfit = (what: string, sides: { readonly theirs: string; readonly ours: string }) =>
    reverieError('INPUT_UNFIT', { path: folder, input: 'data', env: env.id, what, ...sides });
  if (theirs !== ours) throw unfit('row', { theirs, ours });
  const far = farAction(buffer, env.actionSpace);
  if (far !== undefined) throw unfit('action', { theirs: String(far), ours: describeSpace(env.actionSpace) });
  return buffer;
}

/** What recorded actions may lie beyond their space, in widths of it: some are noisy; those of another environment lie elsewhere. */
const BEYOND = 0.05;

/** The first number of an action that lies far outside. */
function farAction(buffer: ReplayBuffer, space: VectorSpace): number | undefined {
  const { low, high } = space.type === 'discrete' ? { low: [space.start], high: [space.start + space.n - 1] } : space;
  return buffer.columns().action.find((value, at) => {
    const [least, most] = [low[at % buffer.actionDim], high[at % buffer.actionDim]];
    const slack = least === null || most === null ? 0 : BEYOND * (most - least);
    return (least !== null && value < least - slack) || (most !== null && value > most + slack);
  });
}

/** The learner in `folder`. @throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if it learned to act in other spaces than `env`'s */
export async function learnerFor(env: VectorEnvironment, folder: string, device?: TrainingDevice) {
  const { learner, manifest } = await loadLearner(folder, device);
  const problem = misfit(manifest.spaces as Spaces, env, folder, 'checkpoint');
  if (problem === undefined) return { learner, manifest };
  await learner.close();
  throw problem;
}

/** Who acts by a checkpoint; `close` closes all that it is made of. */
export interface Agent {
  readonly policy: Policy;
  close(): Promise<void>;
}

/** What the learner in `folder` acts by: its planner where it has one, else its policy. @throws as `learnerFor` */
export async function agentFor(env: VectorEnvironment, folder: string): Promise<Agent> {
  const { learner } = await learnerFor(env, folder);
  const planner = await closedOnFailure(learner, () => plannerOf(learner, folder));
  const close = async () => {
    await planner?.close();
    await learner.close();
  };
  return { policy: planner?.policy ?? learner.policy(), close };
}

/** Of a learner that plans, and whose run's world model lies beside it; else undefined. @throws MODEL_FILE_INVALID */
export async function plannerOf(learner: Learner, folder: string): Promise<Agent | undefined> {
  const model = [join(folder, 'model'), join(dirname(resolve(folder)), 'model')].find((path) => existsSync(path));
  const planning = learner as Partial<PlanningLearner>;
  if (planning.learnsFrom !== 'model' || model === undefined) return undefined;
  const world = await loadWorldModel(model);
  const policy = await closedOnFailure(world, () => planning.planner!(world));
  return { policy, close: () => world.close() };
}

/** Learners as they were on the way: `policies/REAL STEPS/`, each a learner checkpoint like any other. */
const POLICIES_FOLDER = 'policies';
/** Digits of a folder's name, so that names are in the order of steps. */
const DIGITS = 9;

/** The learner as it is now; a resumed run writes later ones again, the same bytes. @throws STORAGE_FULL, STORAGE_FAILED */
export async function keepPolicy(out: string, run: Training): Promise<void> {
  const folder = join(out, POLICIES_FOLDER);
  await ensureFolder(folder);
  const name = String(run.counters.realSteps).padStart(DIGITS, '0');
  await saveLearner(join(folder, name), run.parts.learner, run.learnedFrom());
}

/** Those of a run's folder, the earliest first; none for a folder that has none. */
export async function keptPolicies(run: string): Promise<{ realSteps: number; folder: string }[]> {
  const folder = join(run, POLICIES_FOLDER);
  const names = await readdir(folder).catch(() => []);
  const kept = names.filter((name) => /^\d+$/.test(name)).sort();
  return kept.map((name) => ({ realSteps: Number(name), folder: join(folder, name) }));
}
