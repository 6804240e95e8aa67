// A training run: its parts at the beginning, from nothing or from the policy, the records and the model that the user gave; and as
// a folder, written whole or not at all, what it takes to resume exactly, and what it learned from.
//
//   checkpoint.json  counters, evaluations, where the real environment is; scenario and seed; sealed
//   learner/      manifest.json (with `learnedFrom`), learner.safetensors, policy.onnx
//   real/, synthetic/    replay snapshots          model/    the world model, once there is one
//
// Nothing in it depends on the clock or the machine: the same run gives the same bytes.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/environments.js';
import { rowSize } from '../../env/space-values.js';
import type { ScenarioConfig } from '../../kinds/vector.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { PrioritizedSelector, type Selector, type SelectorState, UniformSelector } from '../../replay/selectors.js';
import type { Source } from '../../replay/transition.js';
import { type LearnedFrom, loadLearner, saveLearner } from '../../rl/checkpoint.js';
import { learners, makeLearner } from '../../rl/learners.js';
import { Collector, type CollectorState } from '../../training/collector.js';
import { resolveRounds, type TrainingPorts, type TrainingSettings } from '../../training/settings.js';
import {
  type Counters,
  type TrainableLearner,
  type TrainEvaluation,
  Training,
  type TrainingParts,
} from '../../training/training.js';
import { DreamWorld, GenerativeReplay, type GenerativeState, type WorldState } from '../../training/world.js';
import { fitWorkers, trainingDevice } from '../device.js';
import type { JobContext } from '../job.js';
import { readSealed } from '../run-folder.js';
import { broughtModel, findInput, learnerFor, modelFor, recordsOf, requireInput, resolvedSpec } from './inputs.js';

/** What the seal vouches for is taken as it was written. */
export const written = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null);

/** Arrays are float64, little-endian, base64. */
type SavedSelector = Omit<SelectorState, 'arrays'> & { readonly arrays: Readonly<Record<string, string>> };

const runSchema = z.strictObject({
  format: z.literal('reverie-run'),
  formatVersion: z.literal(1),
  scenario: z.string(),
  scenarioHash: z.string(),
  seed: z.int(),
  mode: z.enum(['real', 'dream', 'offline']),
  counters: written<Counters>(),
  evaluations: z.array(written<TrainEvaluation>()),
  worldModelVersions: z.array(z.string()),
  simulatedEpisodes: z.int(),
  /** What is known of the world model; absent before there is one. */
  world: written<WorldState>().optional(),
  /** Of rows drawn from a diffusion; absent where none are. */
  generative: written<GenerativeState>().optional(),
  collector: written<CollectorState>(),
  /** None for a learner that does not draw from the buffers. */
  selectors: z.strictObject({
    real: written<SavedSelector>().optional(),
    synthetic: written<SavedSelector>().optional(),
  }),
});
type RunManifest = z.infer<typeof runSchema>;

export async function saveRun(folder: string, run: Training, { scenario, seed }: JobContext): Promise<void> {
  const { learner, real, synthetic, world, generator, collector, selectors } = run.parts;
  const manifest: RunManifest = {
    ...{ format: 'reverie-run', formatVersion: 1, scenario: scenario.config.name, scenarioHash: scenario.hash, seed },
    ...{ mode: scenario.config.train.mode, counters: { ...run.counters }, evaluations: [...run.evaluations] },
    worldModelVersions: [...run.worldModelVersions],
    simulatedEpisodes: world?.episodes ?? 0,
    ...(world !== undefined && run.worldModelVersions.length > 0 && { world: world.state }),
    ...(generator && { generative: generator.state }),
    collector: await collector.state(),
    selectors: Object.fromEntries(Object.entries(selectors).map(([source, one]) => [source, encodeSelector(one)])),
  };
  await replaceFolderAtomic(folder, async (temporary) => {
    await saveLearner(join(temporary, 'learner'), learner, run.learnedFrom());
    await real.save(join(temporary, 'real'));
    if (synthetic.size > 0) await synthetic.save(join(temporary, 'synthetic'));
    await world?.save(join(temporary, 'model'));
    await writeFile(join(temporary, 'checkpoint.json'), sealedText(manifest));
  });
}

/**
 * The run exactly as it was saved.
 * @throws CHECKPOINT_CORRUPT; STATE_MISMATCH for another scenario or seed
 */
export async function loadRun(folder: string, context: JobContext, ports: TrainingPorts<Training>): Promise<Training> {
  const manifest = await readRunManifest(folder);
  const { scenario, seed } = context;
  if (manifest.scenarioHash !== scenario.hash || manifest.seed !== seed) {
    const told = (name: string, hash: string, of: number) => `scenario ${name} (${hash.slice(0, 12)}), seed ${of}`;
    const theirs = told(manifest.scenario, manifest.scenarioHash, manifest.seed);
    const ours = told(scenario.config.name, scenario.hash, seed);
    throw reverieError('STATE_MISMATCH', {
      problem: `Checkpoint "${folder}" was made by ${theirs}; this run is ${ours}.`,
      hint: 'Resume with the scenario, overrides and seed of the checkpoint, or start anew from its policy with --checkpoint in another folder.',
    });
  }
  const fresh = await newTraining(context, ports);
  let learner: TrainableLearner | undefined;
  try {
    const loaded = await loadLearner(join(folder, 'learner'), trainingDevice(context.device));
    learner = loaded.learner as TrainableLearner;
    const isSimulated = existsSync(join(folder, 'synthetic'));
    const load = (source: Source) => ReplayBuffer.load(join(folder, source));
    const synthetic = isSimulated ? await load('synthetic') : fresh.parts.synthetic;
    const saved = { learner, real: await load('real'), synthetic };
    const selectors = selectorsOf(scenario.config.replay.selector, saved);
    const training = new Training(fresh.settings, { ...fresh.parts, ...saved, ...selectors }, fresh.ports);
    Object.assign(training.counters, manifest.counters);
    training.evaluations.push(...manifest.evaluations);
    training.worldModelVersions.push(...manifest.worldModelVersions);
    for (const [source, selector] of Object.entries(training.parts.selectors))
      selector.restore(decodeSelector(manifest.selectors[source as Source]!));
    if (manifest.generative) training.parts.generator?.resume(manifest.generative);
    await training.parts.collector.restore(manifest.collector);
    if (training.worldModelVersions.length > 0)
      await training.parts.world?.resume(join(folder, 'model'), manifest.simulatedEpisodes, manifest.world);
    await fresh.parts.learner.close();
    return training;
  } catch (error) {
    await learner?.close();
    await fresh.close();
    throw error;
  }
}

/** What a run's checkpoint says of itself, without loading it. @throws CHECKPOINT_CORRUPT */
export async function readRunManifest(folder: string): Promise<RunManifest> {
  await recoverFolder(folder);
  return readSealed(join(folder, 'checkpoint.json'), runSchema);
}

function encodeSelector(selector: Selector): SavedSelector {
  const { kind, scalars, arrays } = selector.state();
  const encoded = Object.entries(arrays).map(([name, array]) => {
    return [name, Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64')] as const;
  });
  return { kind, scalars, arrays: Object.fromEntries(encoded) };
}

function decodeSelector({ kind, scalars, arrays }: SavedSelector): SelectorState {
  const decoded = Object.entries(arrays).map(([name, text]) => {
    return [name, new Float64Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)] as const;
  });
  return { kind, scalars, arrays: Object.fromEntries(decoded) };
}

/** A run at its beginning. @throws what reading its inputs throws; FLAG_INVALID for a world model in a run that does not simulate */
export async function newTraining(context: JobContext, ports: TrainingPorts<Training>): Promise<Training> {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const opened: Opened[] = [env];
  try {
    const settings = settingsOf(context, env);
    // Before the first real step is spent on a model that is of another body.
    const { modelFolder } = settings.dream ?? {};
    if (modelFolder !== undefined) await (await modelFor(env, modelFolder, config.model.kind)).close();
    return new Training(settings, await firstParts(context, settings, env, opened), ports);
  } catch (error) {
    for (const one of opened) await one.close();
    throw error;
  }
}

type Opened = Pick<VectorEnvironment, 'close'>;

function settingsOf(context: JobContext, env: VectorEnvironment): TrainingSettings {
  const { scenario, seed, workers, device, inputs } = context;
  const { config } = scenario;
  const { mode, refit, refitEvery, offlineUpdates } = config.train;
  const given = findInput(inputs, 'model');
  const replaysReal = learners.get(config.rl.algorithm).learnsFrom === 'replay' && config.replay.realRatio === 1;
  if (given !== undefined && (mode !== 'dream' || replaysReal)) {
    const expected = `none, as ${mode === 'dream' ? 'replay.realRatio is 1' : `train.mode is ${mode}`}`;
    throw reverieError('FLAG_INVALID', { flag: '--model', value: given, expected });
  }
  const modelFolder = given ?? broughtModel(scenario);
  const dream = { ...config.rollout, model: config.model, refit, refitEvery, modelFolder, env: resolvedSpec(scenario) };
  const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
  const train = resolveRounds(config.train, { obsDim, actionDim, ...learners.get(config.rl.algorithm) });
  return {
    ...{ scenario: config.name, seed, workers, fitWorkers: fitWorkers(context), device, train, eval: config.eval },
    dream: mode === 'dream' ? dream : undefined,
    keepModels: config.replay.keepModels,
    offlineUpdates: mode === 'offline' ? offlineUpdates : undefined,
  };
}

async function firstParts(
  context: JobContext,
  settings: TrainingSettings,
  env: VectorEnvironment,
  opened: Opened[],
): Promise<TrainingParts> {
  const { config, folder } = context.scenario;
  const evalEnv = await makeEnvironment(config.env, { folder });
  opened.push(evalEnv);
  const root = Rng.fromSeed(context.seed);
  const { learner, before } = await firstLearner(context, env, root.split('learner'));
  opened.push(learner);
  const { real, synthetic } = await firstRecords(context, env);
  let nextEpisode = 0;
  for (const episode of real.columns().episode) nextEpisode = Math.max(nextEpisode, episode + 1);
  const { realRatio, selector, generative } = config.replay;
  const realShare = settings.dream ? realRatio : 1;
  // Where every row of a batch is real, no model is fitted or simulated with that would not be learned from.
  const isDreaming = settings.dream !== undefined && (realShare !== 1 || learner.learnsFrom !== 'replay');
  return {
    ...{ env, evalEnv, learner, before, real, synthetic, realRatio: realShare },
    ...selectorsOf(selector, { learner, real, synthetic }),
    collector: new Collector(env, config.name, root.split('episodes'), context.seed, nextEpisode),
    world: isDreaming ? new DreamWorld(settings, settings.dream!, env) : undefined,
    generator: generative === null ? undefined : generatorOf(settings, generative),
  };
}

function generatorOf(settings: TrainingSettings, config: NonNullable<ScenarioConfig['replay']['generative']>) {
  const { updates, hidden, blocks, batchSize, lr, ...rest } = config;
  return new GenerativeReplay(settings, { ...rest, diffusion: { updates, hidden, blocks, batchSize, lr } });
}

/**
 * Empty buffers, or the given records with room for what will be collected. Where nothing is, they may be synthetic.
 * @throws INPUT_NEEDED, INPUT_UNFIT, SCENARIO_UNFIT, CHECKPOINT_CORRUPT
 */
async function firstRecords(
  { inputs, scenario }: JobContext,
  env: VectorEnvironment,
): Promise<Pick<TrainingParts, 'real' | 'synthetic'>> {
  const { replay, train } = scenario.config;
  const isOffline = train.mode === 'offline';
  const data = isOffline ? requireInput(inputs, 'data') : findInput(inputs, 'data');
  const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
  const empty = (source: Source) => {
    const capacity = source === 'real' ? replay.realCapacity : replay.syntheticCapacity;
    return new ReplayBuffer({ obsDim, actionDim, capacity, source });
  };
  if (data === undefined) return { real: empty('real'), synthetic: empty('synthetic') };
  const { algorithm } = scenario.config.rl;
  if (learners.get(algorithm).learnsFrom === 'rollouts')
    throw reverieError('SCENARIO_UNFIT', {
      problem: `"${algorithm}" learns from rollouts of its own policy, and --data "${data}" holds records.`,
      hint: 'Leave --data out, or choose a learner that replays rows: rl.algorithm sac, redq, droq, simba or td3-bc.',
    });
  const records = await recordsOf(env, data);
  const { size } = records;
  if (size > replay.realCapacity)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `--data "${data}" holds ${size} rows, and replay.realCapacity has room for ${replay.realCapacity}.`,
      hint: `Set replay.realCapacity=${size}, or more to keep rows that are collected beside them.`,
    });
  const given = records.newest(size, replay.realCapacity);
  if (given.source === 'real') return { real: given, synthetic: empty('synthetic') };
  if (isOffline && replay.generative === null) return { real: empty('real'), synthetic: given };
  const sides = { what: 'source', theirs: given.source, ours: 'real' };
  throw reverieError('INPUT_UNFIT', { path: data, input: 'data', env: env.id, ...sides });
}

/** A learner that knows nothing, or the one the user named with what it has behind it. */
async function firstLearner(
  { inputs, device, log, scenario: { config } }: JobContext,
  env: VectorEnvironment,
  rng: Rng,
): Promise<{ learner: TrainableLearner; before: LearnedFrom | undefined }> {
  const checkpoint = findInput(inputs, 'checkpoint');
  if (checkpoint === undefined) {
    const { algorithm, ...settings } = config.rl;
    const learner = await makeLearner(algorithm, settings, env, rng, trainingDevice(device));
    return { learner: learner as TrainableLearner, before: undefined };
  }
  const { learner, manifest } = await learnerFor(env, checkpoint, trainingDevice(device));
  if (learner.kind === config.rl.algorithm) {
    const kept = Object.entries(config.rl).flatMap(([key, asked]) => {
      const [own, other] = [manifest.config[key], asked].map((value) => JSON.stringify(value));
      return asked === 'auto' || own === undefined || own === other ? [] : [`rl.${key} ${own} (not ${other})`];
    });
    if (kept.length > 0) log(`The checkpoint keeps its own settings: ${kept.join(', ')}.`);
    return { learner: learner as TrainableLearner, before: manifest.learnedFrom };
  }
  await learner.close();
  const sides = { what: 'algorithm', theirs: learner.kind, ours: config.rl.algorithm };
  throw reverieError('INPUT_UNFIT', { path: checkpoint, input: 'checkpoint', env: env.id, ...sides });
}

/** The selectors a scenario names; none for a learner that draws nothing from buffers. */
function selectorsOf(
  config: ScenarioConfig['replay']['selector'],
  { learner, real, synthetic }: Pick<TrainingParts, 'learner' | 'real' | 'synthetic'>,
): Pick<TrainingParts, 'selectors' | 'selectorOf'> {
  if (learner.learnsFrom !== 'replay') return { selectors: {} };
  const selectorOf = (buffer: ReplayBuffer) =>
    config.kind === 'uniform' ? new UniformSelector(buffer) : new PrioritizedSelector(buffer, config);
  return { selectors: { real: selectorOf(real), synthetic: selectorOf(synthetic) }, selectorOf };
}
