// One training run: rounds of living (real), dreaming and learning, and everything that must survive between rounds.
// Every random stream is named by (seed, purpose, round), so a run that goes on from a checkpoint repeats nothing and
// skips nothing. With `mode: real` the same loop is plain learning: the baseline, trained the same way.

import { type Collected, Collector } from '../../algorithms/index.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment, rowSize, type VectorEnvironment } from '../../env/index.js';
import { ReplayBuffer } from '../../replay/index.js';
import { evaluatePolicy, type LearnedFrom, Ppo, RandomPolicy } from '../../rl/index.js';
import type { JobContext, TrainEvaluation } from '../job.js';
import type { ScenarioConfig } from '../scenario-schema.js';
import { Dreamer } from './dreamer.js';
import { findInput } from './inputs.js';
import { freshLearner, givenLearner, type RunLearner } from './learners.js';
import type { Counters, Learning, RunView } from './learning.js';
import { OffPolicy } from './off-policy.js';
import { OnPolicy } from './on-policy.js';
import { recordsOf } from './records.js';
import { summariseReturns } from './summarise.js';

export interface RunParts {
  readonly env: VectorEnvironment;
  readonly evalEnv: VectorEnvironment;
  readonly learner: RunLearner;
  readonly real: ReplayBuffer;
  readonly synthetic: ReplayBuffer;
  readonly collector: Collector;
  readonly dreamer: Dreamer | undefined;
  /** What the learner had behind it when the run began; undefined for one that knows nothing. */
  readonly before: LearnedFrom | undefined;
}

export class TrainingRun implements RunView {
  readonly counters: Counters = { round: 0, realSteps: 0, syntheticSteps: 0, updates: 0 };
  readonly evaluations: TrainEvaluation[] = [];
  readonly worldModelVersions: string[] = [];
  readonly learning: Learning;
  private readonly config: ScenarioConfig;
  private readonly root: Rng;

  constructor(
    readonly context: JobContext,
    readonly parts: RunParts,
  ) {
    this.config = context.scenario.config;
    this.root = Rng.fromSeed(context.seed);
    const { learner } = parts;
    this.learning = learner instanceof Ppo ? new OnPolicy(this, learner) : new OffPolicy(this, learner);
  }

  get buffers() {
    return this.parts;
  }

  /** Live, dream, learn. */
  async round(): Promise<void> {
    const { dreamer, real } = this.parts;
    const rng = this.root.split('round', this.counters.round);
    const isUntaught = this.parts.before === undefined && real.size === 0;
    const atRandom = this.counters.round === 0 && isUntaught && this.learning.startsAtRandom;
    const lived = await this.live(atRandom, rng.split('live'));
    if (dreamer) {
      await this.refit(dreamer, rng.split('fit'));
      await this.learning.learnInDream(dreamer, rng);
    } else if (!atRandom) await this.learning.learnFromReal(lived, rng.split('learn'));
    this.counters.round++;
  }

  /** Real episodes with the policy of the moment, not counted as training steps. */
  async evaluate(): Promise<TrainEvaluation> {
    const { eval: options, train } = this.config;
    const evaluation = await evaluatePolicy(this.parts.evalEnv, this.parts.learner.policy(), {
      episodes: train.evalEpisodes,
      seed: this.root.split('evaluate', this.counters.realSteps).uint32(),
      deterministic: options.deterministic,
      signal: this.context.signal,
    });
    const result = { realSteps: this.counters.realSteps, ...summariseReturns(evaluation.returns, evaluation.lengths) };
    this.evaluations.push(result);
    this.tell('eval', { return: result.meanReturn, std: result.stdReturn, length: result.meanLength });
    return result;
  }

  learnedFrom(): LearnedFrom {
    const { before } = this.parts;
    return {
      scenario: this.config.name,
      seed: this.context.seed,
      realSteps: (before?.realSteps ?? 0) + this.counters.realSteps,
      syntheticSteps: (before?.syntheticSteps ?? 0) + this.counters.syntheticSteps,
      worldModelVersions: [...(before?.worldModelVersions ?? []), ...this.worldModelVersions],
      gradientSteps: this.parts.learner.gradientSteps,
    };
  }

  async close(): Promise<void> {
    const { env, evalEnv, learner, dreamer } = this.parts;
    await dreamer?.close();
    await learner.close();
    await env.close();
    await evalEnv.close();
  }

  tell(kind: string, values: Record<string, unknown>): void {
    this.context.metrics.write({ kind, ...this.counters, ...values });
  }

  private async live(atRandom: boolean, rng: Rng): Promise<Collected> {
    const { train } = this.config;
    const { env, collector, real } = this.parts;
    const policy = atRandom ? new RandomPolicy(env.actionSpace) : this.learning.actor();
    const wanted = atRandom ? Math.max(1, train.initialRandomSteps) : train.stepsPerRound;
    const steps = Math.min(wanted, train.realSteps - this.counters.realSteps);
    const lived = await collector.collect(policy, steps, rng, this.context.signal);
    this.context.signal.throwIfAborted();
    real.append(lived.batch, lived.provenance);
    this.counters.realSteps += lived.batch.rows;
    for (const { episode, return: total, length } of lived.episodes)
      this.tell('episode', { episode, return: total, length });
    return lived;
  }

  private async refit(dreamer: Dreamer, rng: Rng): Promise<void> {
    const fit = await dreamer.refit(this.parts.real, rng);
    const version = dreamer.modelVersion;
    if (version && this.worldModelVersions.at(-1) !== version) this.worldModelVersions.push(version);
    if (fit) this.tell('fit', { ...fit });
  }
}

/** A run at its beginning: from nothing, or from the policy and the records the user gave. */
export async function makeTrainingRun(context: JobContext): Promise<TrainingRun> {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const evalEnv = await makeEnvironment(config.env, { folder });
  const root = Rng.fromSeed(context.seed);
  const dimensions = { obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) };
  const { learner, before } = await firstLearner(context, env, root.split('learner'));
  const real = await firstRecords(context, env, dimensions);
  const nextEpisode = real.columns().episode.reduce((next, episode) => Math.max(next, episode + 1), 0);
  return new TrainingRun(context, {
    env,
    evalEnv,
    learner,
    before,
    real,
    synthetic: new ReplayBuffer({ ...dimensions, capacity: config.replay.syntheticCapacity, source: 'synthetic' }),
    collector: new Collector(env, config.name, root.split('episodes'), context.seed, nextEpisode),
    dreamer: firstDreamer(context, env),
  });
}

/** An empty buffer, or the given records with room for what will be lived. @throws INPUT_UNFIT, CHECKPOINT_CORRUPT */
async function firstRecords(
  { inputs, scenario }: JobContext,
  env: VectorEnvironment,
  dimensions: { readonly obsDim: number; readonly actionDim: number },
): Promise<ReplayBuffer> {
  const { realCapacity: capacity } = scenario.config.replay;
  const data = findInput(inputs, 'data');
  if (data === undefined) return new ReplayBuffer({ ...dimensions, capacity, source: 'real' });
  const given = await recordsOf(env, data, capacity);
  if (given.source === 'real') return given;
  const sides = { what: 'source', theirs: given.source, ours: 'real' };
  throw reverieError('INPUT_UNFIT', { path: data, input: 'data', env: env.id, ...sides });
}

/** @throws FLAG_INVALID for a world model in a run that does not dream */
function firstDreamer(context: JobContext, env: VectorEnvironment): Dreamer | undefined {
  const model = findInput(context.inputs, 'model');
  if (context.scenario.config.train.mode === 'real') {
    if (model === undefined) return undefined;
    throw reverieError('FLAG_INVALID', { flag: '--model', value: model, expected: 'none, as train.mode is real' });
  }
  return new Dreamer(context, env);
}

async function firstLearner(context: JobContext, env: VectorEnvironment, rng: Rng) {
  const { config } = context.scenario;
  const checkpoint = findInput(context.inputs, 'checkpoint');
  if (checkpoint === undefined) return { learner: await freshLearner(config, env, rng), before: undefined };
  return givenLearner(checkpoint, config, env);
}
