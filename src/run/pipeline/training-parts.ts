// Turns a scenario into what a loop of training is made of: its settings, and its parts at the beginning, from nothing or
// from the policy, the records and the model that the user gave.

import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { rowSize } from '../../env/space-values.js';
import type { ScenarioConfig } from '../../kinds/vector.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { PrioritizedSelector, UniformSelector } from '../../replay/selectors.js';
import type { Source } from '../../replay/transition.js';
import type { LearnedFrom, LoadedLearner } from '../../rl/checkpoint.js';
import { learners, makeLearner } from '../../rl/learners.js';
import { Collector } from '../../training/collector.js';
import { resolveRounds, type TrainingPorts, type TrainingSettings } from '../../training/settings.js';
import { type TrainableLearner, Training, type TrainingParts } from '../../training/training.js';
import { DreamWorld, GenerativeReplay } from '../../training/world.js';
import { fitWorkers, trainingDevice } from '../device.js';
import type { JobContext } from '../job.js';
import { broughtModel, findInput, learnerFor, recordsOf, requireInput, resolvedSpec } from './inputs.js';

/** A run at its beginning. @throws what reading its inputs throws; FLAG_INVALID for a world model in a run that does not simulate */
export async function newTraining(context: JobContext, ports: TrainingPorts<Training>): Promise<Training> {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const settings = settingsOf(context, env);
  return new Training(settings, await firstParts(context, settings, env), ports);
}

/** The same run with buffers and learner as they were saved. */
export function continuedTraining(
  fresh: Training,
  { replay }: ScenarioConfig,
  saved: Pick<TrainingParts, 'learner' | 'real' | 'synthetic'>,
): Training {
  const selectors = selectorsOf(replay.selector, saved);
  return new Training(fresh.settings, { ...fresh.parts, ...saved, ...selectors }, fresh.ports);
}

/** The learner as training wants it, or else closed. Throws what `refuse` makes of another kind's. */
export async function trainable(
  { learner }: LoadedLearner,
  { rl }: ScenarioConfig,
  refuse: (kind: string, wanted: string) => Error,
): Promise<TrainableLearner> {
  if (learner.kind === rl.algorithm) return learner as TrainableLearner;
  await learner.close();
  throw refuse(learner.kind, rl.algorithm);
}

function settingsOf(context: JobContext, env: VectorEnvironment): TrainingSettings {
  const { scenario, seed, workers, device, inputs } = context;
  const { config } = scenario;
  const { mode, refit, refitEvery, offlineUpdates } = config.train;
  const given = findInput(inputs, 'model');
  if (given !== undefined && mode !== 'dream') {
    const expected = `none, as train.mode is ${mode}`;
    throw reverieError('FLAG_INVALID', { flag: '--model', value: given, expected });
  }
  const modelFolder = given ?? broughtModel(scenario);
  const dream = { ...config.rollout, model: config.model, refit, refitEvery, modelFolder, env: resolvedSpec(scenario) };
  const train = resolveRounds(config.train, {
    ...{ obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) },
    learnsFrom: learners.get(config.rl.algorithm).learnsFrom === 'rollouts' ? 'rollouts' : 'replay',
  });
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
): Promise<TrainingParts> {
  const { config, folder } = context.scenario;
  const evalEnv = await makeEnvironment(config.env, { folder });
  const root = Rng.fromSeed(context.seed);
  const { learner, before } = await firstLearner(context, env, root.split('learner'));
  const { real, synthetic } = await firstRecords(context, env);
  let nextEpisode = 0;
  for (const episode of real.columns().episode) nextEpisode = Math.max(nextEpisode, episode + 1);
  const { realRatio, selector, generative } = config.replay;
  const realShare = settings.dream ? realRatio : 1;
  // Where every row of a batch is real, no model is fitted or simulated with that nobody would learn from.
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
 * @throws INPUT_NEEDED, INPUT_UNFIT, CHECKPOINT_CORRUPT
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
  const given = await recordsOf(env, data, replay.realCapacity);
  if (given.source === 'real') return { real: given, synthetic: empty('synthetic') };
  if (isOffline && replay.generative === null) return { real: empty('real'), synthetic: given };
  const sides = { what: 'source', theirs: given.source, ours: 'real' };
  throw reverieError('INPUT_UNFIT', { path: data, input: 'data', env: env.id, ...sides });
}

/** A learner that knows nothing, or the one the user named with what it has behind it. */
async function firstLearner(
  { inputs, device, scenario: { config } }: JobContext,
  env: VectorEnvironment,
  rng: Rng,
): Promise<{ learner: TrainableLearner; before: LearnedFrom | undefined }> {
  const checkpoint = findInput(inputs, 'checkpoint');
  if (checkpoint === undefined) {
    const { algorithm, ...settings } = config.rl;
    const learner = await makeLearner(algorithm, settings, env, rng, trainingDevice(device));
    return { learner: learner as TrainableLearner, before: undefined };
  }
  const loaded = await learnerFor(env, checkpoint, trainingDevice(device));
  const learner = await trainable(loaded, config, (theirs, ours) => {
    const sides = { what: 'algorithm', theirs, ours };
    return reverieError('INPUT_UNFIT', { path: checkpoint, input: 'checkpoint', env: env.id, ...sides });
  });
  return { learner, before: loaded.manifest.learnedFrom };
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
