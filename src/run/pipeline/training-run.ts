// One training run: rounds of living (real), dreaming and learning, and everything that must survive between rounds.
// Every random stream is named by (seed, purpose, round), so a run that goes on from a checkpoint repeats nothing and
// skips nothing. With `mode: real` the same loop is plain off-policy learning: the baseline, trained the same way.

import { makeEnvironment, type Policy, rowSize, type VectorEnvironment } from '../../env/index.js';
import { reverieError } from '../../errors.js';
import {
  allocateBatch,
  MixtureSampler,
  ReplayBuffer,
  type Selector,
  type TransitionBatch,
} from '../../replay/index.js';
import { evaluatePolicy, type LearnedFrom, loadLearner, makeSac, RandomPolicy, Sac } from '../../rl/index.js';
import { Rng } from '../../rng.js';
import type { JobContext, TrainEvaluation } from '../job.js';
import type { ScenarioConfig } from '../scenario-schema.js';
import { Collector, type EpisodeSummary } from './collector.js';
import { Dreamer } from './dreamer.js';
import { findInput } from './inputs.js';
import { makeSelector } from './selectors.js';
import { summariseReturns } from './summarise.js';

/** Gradient steps per ONNX Runtime call: short enough for the progress bar and Ctrl-C, long enough to hide the call. */
const UPDATES_PER_CALL = 50;

/** What a run has done so far. */
export interface Counters {
  round: number;
  realSteps: number;
  syntheticSteps: number;
  updates: number;
}

export interface RunParts {
  readonly env: VectorEnvironment;
  readonly evalEnv: VectorEnvironment;
  readonly learner: Sac;
  readonly real: ReplayBuffer;
  readonly synthetic: ReplayBuffer;
  readonly collector: Collector;
  readonly dreamer: Dreamer | undefined;
  /** What the learner had behind it when the run began; undefined for one that knows nothing. */
  readonly before: LearnedFrom | undefined;
}

export class TrainingRun {
  readonly counters: Counters = { round: 0, realSteps: 0, syntheticSteps: 0, updates: 0 };
  readonly evaluations: TrainEvaluation[] = [];
  readonly worldModelVersions: string[] = [];
  /** One a buffer: their state is part of a checkpoint. */
  readonly selectors: { readonly real: Selector; readonly synthetic: Selector };
  private readonly config: ScenarioConfig;
  private readonly root: Rng;
  private readonly sampler: MixtureSampler;
  private stacked: TransitionBatch | undefined;

  constructor(
    private readonly context: JobContext,
    readonly parts: RunParts,
  ) {
    this.config = context.scenario.config;
    this.root = Rng.fromSeed(context.seed);
    const { real, synthetic } = parts;
    const { selector, realRatio } = this.config.replay;
    this.selectors = { real: makeSelector(selector, real), synthetic: makeSelector(selector, synthetic) };
    this.sampler = new MixtureSampler({
      real: { buffer: real, selector: this.selectors.real },
      synthetic: { buffer: synthetic, selector: this.selectors.synthetic },
      realRatio: parts.dreamer ? realRatio : 1,
    });
  }

  /** No policy and no records were given: the first steps are random. */
  private get isUntaught(): boolean {
    return this.parts.before === undefined && this.parts.real.size === 0;
  }

  private get isPrioritized(): boolean {
    return this.config.replay.selector.kind === 'prioritized';
  }

  /** Live, dream, learn. */
  async round(): Promise<void> {
    const rng = this.root.split('round', this.counters.round);
    const fresh = this.counters.round === 0 && this.isUntaught;
    const lived = await this.live(fresh, rng.split('live'));
    if (this.parts.dreamer) await this.dreamAndLearn(this.parts.dreamer, rng);
    else if (!fresh) await this.learn(Math.round(lived * this.config.train.updatesPerStep), rng.split('learn'));
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

  private async live(fresh: boolean, rng: Rng): Promise<number> {
    const { train } = this.config;
    const policy: Policy = fresh ? new RandomPolicy(this.parts.env.actionSpace) : this.parts.learner.policy();
    const wanted = fresh ? Math.max(1, train.initialRandomSteps) : train.stepsPerRound;
    const steps = Math.min(wanted, train.realSteps - this.counters.realSteps);
    const { batch, provenance, episodes } = await this.parts.collector.collect(policy, steps, rng, this.context.signal);
    this.context.signal.throwIfAborted();
    this.parts.real.append(batch, provenance);
    this.counters.realSteps += batch.rows;
    for (const episode of episodes) this.tellEpisode(episode);
    return batch.rows;
  }

  private async dreamAndLearn(dreamer: Dreamer, rng: Rng): Promise<void> {
    const { train, rollout } = this.config;
    await this.refit(dreamer, rng.split('fit'));
    const phase = this.context.progress.phase('dream and learn', train.updatesPerRound, 'updates');
    for (let cycle = 0; cycle < train.cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle);
      const starts = share(rollout.startsPerRound, cycle, train.cyclesPerRound);
      await this.dream(dreamer, starts, stream);
      const updates = share(train.updatesPerRound, cycle, train.cyclesPerRound);
      await this.learn(updates, stream.split('learn'), (done) => phase.advance(done));
    }
    phase.end();
  }

  private async refit(dreamer: Dreamer, rng: Rng): Promise<void> {
    const fit = await dreamer.refit(this.parts.real, rng);
    const version = dreamer.modelVersion;
    if (version && this.worldModelVersions.at(-1) !== version) this.worldModelVersions.push(version);
    if (fit) this.tell('fit', { ...fit });
  }

  private async dream(dreamer: Dreamer, starts: number, rng: Rng): Promise<void> {
    if (starts === 0) return;
    const { learner, real, synthetic } = this.parts;
    const { counts, horizon, seconds } = await dreamer.dream(learner.policySnapshot(), real, synthetic, starts, rng);
    this.counters.syntheticSteps += counts.rows;
    this.tell('dream', { ...counts, horizon, seconds });
  }

  private async learn(updates: number, rng: Rng, onDone: (updates: number) => void = () => {}): Promise<void> {
    const { learner } = this.parts;
    const { batchSize } = learner.config;
    for (let done = 0, call = 0; done < updates; call++) {
      const steps = Math.min(UPDATES_PER_CALL, updates - done);
      const stream = rng.split('call', call);
      const batch = this.sampler.sampleSteps(
        steps,
        batchSize,
        stream.split('rows'),
        this.stackedBatch(steps * batchSize),
      );
      const metrics = await learner.update(batch, steps, stream.split('noise'), this.sampler.lastDraw().weights);
      if (this.isPrioritized) this.sampler.updatePriorities(await learner.tdErrors(batch, stream.split('td')));
      done += steps;
      this.counters.updates += steps;
      onDone(steps);
      if (done === updates) this.tell('update', { ...metrics });
      // The update blocks the event loop: let the bar move and Ctrl-C in.
      await new Promise((resolve) => setImmediate(resolve));
      this.context.signal.throwIfAborted();
    }
  }

  /** A batch of exactly `rows` rows, kept between calls of the same size. */
  private stackedBatch(rows: number): TransitionBatch {
    if (this.stacked?.rows !== rows) {
      const { obsDim, actionDim } = this.parts.real;
      this.stacked = allocateBatch(rows, obsDim, actionDim);
    }
    return this.stacked;
  }

  private tellEpisode(episode: EpisodeSummary): void {
    this.tell('episode', { episode: episode.episode, return: episode.return, length: episode.length });
  }

  private tell(kind: string, values: Record<string, unknown>): void {
    this.context.metrics.write({ kind, ...this.counters, ...values });
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
  const data = findInput(context.inputs, 'data');
  const real = new ReplayBuffer({ ...dimensions, capacity: config.replay.realCapacity, source: 'real' });
  return new TrainingRun(context, {
    env,
    evalEnv,
    learner,
    before,
    real: data === undefined ? real : await ReplayBuffer.load(data),
    synthetic: new ReplayBuffer({ ...dimensions, capacity: config.replay.syntheticCapacity, source: 'synthetic' }),
    collector: new Collector(env, config.name, root.split('episodes'), context.seed),
    dreamer: config.train.mode === 'dream' ? new Dreamer(context, env) : undefined,
  });
}

async function firstLearner(context: JobContext, env: VectorEnvironment, rng: Rng) {
  const { algorithm: _, ...settings } = context.scenario.config.rl;
  const checkpoint = findInput(context.inputs, 'checkpoint');
  if (checkpoint === undefined) return { learner: await makeSac(settings, env, rng), before: undefined };
  const { learner, manifest } = await loadLearner(checkpoint);
  if (!(learner instanceof Sac)) {
    throw reverieError('CHECKPOINT_CORRUPT', {
      path: checkpoint,
      problem: `it holds a ${learner.kind} learner where sac is wanted`,
    });
  }
  return { learner, before: manifest.learnedFrom };
}

/** The i-th of `parts` shares of `total`, whole numbers that add up. */
function share(total: number, i: number, parts: number): number {
  return Math.floor(((i + 1) * total) / parts) - Math.floor((i * total) / parts);
}
