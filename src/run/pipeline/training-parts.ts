// Turns a scenario into what a loop of training is made of: its settings, and its parts at the beginning, from nothing or
// from the policy, the records and the model that the user gave.

import {
  Collector,
  type DreamSettings,
  DreamWorld,
  settleRounds,
  type TrainableLearner,
  Training,
  type TrainingParts,
  type TrainingPorts,
  type TrainingSettings,
} from '../../algorithms/index.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment, rowSize, type VectorEnvironment } from '../../env/index.js';
import type { ScenarioConfig } from '../../kinds/index.js';
import {
  PrioritizedSelector,
  RecencySelector,
  ReplayBuffer,
  type Selector,
  UniformSelector,
} from '../../replay/index.js';
import { type LearnedFrom, type LoadedLearner, learners, makeLearner } from '../../rl/index.js';
import type { JobContext } from '../job.js';
import { learnerFor, recordsOf, resolvedSpec, workFolder } from './given-parts.js';
import { broughtModel, findInput } from './inputs.js';

/** A run at its beginning. @throws what reading its inputs throws; FLAG_INVALID for a world model in a run that does not dream */
export async function newTraining(context: JobContext, ports: TrainingPorts<Training>): Promise<Training> {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const settings = trainingSettings(context, env);
  return new Training(settings, await firstParts(context, settings, env), ports);
}

/** The same run with buffers and learner as they were saved. */
export function continuedTraining(
  fresh: Training,
  { replay }: ScenarioConfig,
  saved: Pick<TrainingParts, 'learner' | 'real' | 'synthetic'>,
): Training {
  const { selectors, selectorOf } = selectorsOf(replay.selector, saved);
  return new Training(fresh.settings, { ...fresh.parts, ...saved, selectors, selectorOf }, fresh.ports);
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

function trainingSettings(context: JobContext, env: VectorEnvironment): TrainingSettings {
  const { scenario, seed, workers, device } = context;
  const { config } = scenario;
  const dream = config.train.mode === 'dream' ? dreamSettings(context) : undefined;
  if (dream === undefined) requireNoModel(context);
  const train = settleRounds(config.train, {
    ...{ obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) },
    learnsFrom: learners.get(config.rl.algorithm).learnsFrom === 'rollouts' ? 'rollouts' : 'replay',
  });
  return { scenario: config.name, seed, workers, device, train, eval: config.eval, dream };
}

function dreamSettings(context: JobContext): DreamSettings {
  const { scenario, inputs } = context;
  const { model, rollout, train, replay } = scenario.config;
  return {
    ...rollout,
    model,
    keepModels: replay.keepModels,
    refitEvery: train.refitEvery,
    modelFolder: findInput(inputs, 'model') ?? broughtModel(scenario),
    refit: train.refit,
    env: resolvedSpec(scenario),
    scratch: workFolder(context, 'prepared'),
  };
}

function requireNoModel({ inputs }: JobContext): void {
  const model = findInput(inputs, 'model');
  if (model === undefined) return;
  throw reverieError('FLAG_INVALID', { flag: '--model', value: model, expected: 'none, as train.mode is real' });
}

async function firstParts(
  context: JobContext,
  settings: TrainingSettings,
  env: VectorEnvironment,
): Promise<TrainingParts> {
  const { config, folder } = context.scenario;
  const evalEnv = await makeEnvironment(config.env, { folder });
  const root = Rng.fromSeed(context.seed);
  const dimensions = { obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) };
  const { learner, before } = await firstLearner(context, env, root.split('learner'));
  const real = await firstRecords(context, env, dimensions);
  let nextEpisode = 0;
  for (const { episode } of real.pieces(['episode']))
    nextEpisode = episode.reduce((next, lived) => Math.max(next, lived + 1), nextEpisode);
  const { syntheticCapacity: capacity, realRatio, selector } = config.replay;
  const synthetic = new ReplayBuffer({
    ...{ ...dimensions, capacity, source: 'synthetic' as const },
    folder: workFolder(context, 'synthetic'),
  });
  const realShare = settings.dream ? realRatio : 1;
  // Where every row of a batch is real, nothing is fitted or dreamt that nobody would learn from.
  const isDreaming = settings.dream !== undefined && (realShare !== 1 || learner.learnsFrom !== 'replay');
  return {
    env,
    evalEnv,
    learner,
    before,
    real,
    synthetic,
    ...selectorsOf(selector, { learner, real, synthetic }),
    realRatio: realShare,
    collector: new Collector(env, config.name, root.split('episodes'), context.seed, nextEpisode),
    world: isDreaming ? new DreamWorld(settings, settings.dream!, env) : undefined,
  };
}

/** An empty buffer, or the given records with room for what will be lived. @throws INPUT_UNFIT, CHECKPOINT_CORRUPT */
async function firstRecords(
  context: JobContext,
  env: VectorEnvironment,
  dimensions: { readonly obsDim: number; readonly actionDim: number },
): Promise<ReplayBuffer> {
  const { realCapacity: capacity } = context.scenario.config.replay;
  const data = findInput(context.inputs, 'data');
  const folder = workFolder(context, 'real');
  if (data === undefined) return new ReplayBuffer({ ...dimensions, capacity, source: 'real', folder });
  const given = await recordsOf(env, data, { capacity, onDisk: folder });
  if (given.source === 'real') return given;
  given.close();
  const sides = { what: 'source', theirs: given.source, ours: 'real' };
  throw reverieError('INPUT_UNFIT', { path: data, input: 'data', env: env.id, ...sides });
}

/** A learner that knows nothing, or the one the user named with what it has behind it. */
async function firstLearner(
  { inputs, scenario: { config } }: JobContext,
  env: VectorEnvironment,
  rng: Rng,
): Promise<{ learner: TrainableLearner; before: LearnedFrom | undefined }> {
  const checkpoint = findInput(inputs, 'checkpoint');
  if (checkpoint === undefined) {
    const { algorithm, ...settings } = config.rl;
    const learner = await makeLearner(algorithm, settings, env, rng);
    return { learner: learner as TrainableLearner, before: undefined };
  }
  const loaded = await learnerFor(env, checkpoint);
  const learner = await trainable(loaded, config, (theirs, ours) => {
    const sides = { what: 'algorithm', theirs, ours };
    return reverieError('INPUT_UNFIT', { path: checkpoint, input: 'checkpoint', env: env.id, ...sides });
  });
  return { learner, before: loaded.manifest.learnedFrom };
}

type SelectorConfig = ScenarioConfig['replay']['selector'];

/** The selectors a scenario names; none for a learner that draws nothing from buffers. */
function selectorsOf(
  config: SelectorConfig,
  { learner, real, synthetic }: Pick<TrainingParts, 'learner' | 'real' | 'synthetic'>,
): Pick<TrainingParts, 'selectors' | 'selectorOf'> {
  if (learner.learnsFrom !== 'replay') return { selectors: {} };
  const selectorOf = (buffer: ReplayBuffer) => makeSelector(config, buffer);
  return { selectors: { real: selectorOf(real), synthetic: selectorOf(synthetic) }, selectorOf };
}

function makeSelector(config: SelectorConfig, buffer: ReplayBuffer): Selector {
  switch (config.kind) {
    case 'uniform':
      return new UniformSelector(buffer);
    case 'prioritized':
      return new PrioritizedSelector(buffer, { alpha: config.alpha, beta: config.beta });
    case 'recency':
      return new RecencySelector(buffer, { halfLife: config.halfLife });
  }
}
