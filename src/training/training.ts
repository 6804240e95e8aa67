// A training run as its loop sees it: the parts it is made of, what it has done so far, and the steps that all loops share.
// Every random stream is named by (seed, purpose, round), so a run that resumes from a checkpoint repeats nothing and skips
// nothing.

import type { VectorEnvironment } from '../core/environment.js';
import type { Policy, PolicySnapshot } from '../core/policy.js';
import { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { type Selector, stateOfNewest } from '../replay/selectors.js';
import type { Source } from '../replay/transition.js';
import type { LearnedFrom } from '../rl/checkpoint.js';
import { evaluatePolicy, type ReturnSummary, summariseReturns } from '../rl/evaluate.js';
import type { PlanningLearner, ReplayLearner, RolloutLearner } from '../rl/learner.js';
import { RandomPolicy } from '../rl/policy-net.js';
import type { StoredDynamics } from '../worldmodel/dynamics.js';
import type { Collected, Collector } from './collector.js';
import type { DreamPlan, TrainingPorts, TrainingSettings } from './settings.js';
import type { DreamWorld, GenerativeReplay } from './world.js';

/** What a run has done so far. */
export interface Counters {
  round: number;
  realSteps: number;
  syntheticSteps: number;
  /** Gradient steps. */
  updates: number;
}

/** Real episodes of the policy as it was after so many real steps. */
export interface TrainEvaluation extends ReturnSummary {
  readonly realSteps: number;
  /** Gradient steps by then, where these are what a run is measured by. */
  readonly updates?: number;
}

export type TrainableLearner = ReplayLearner | RolloutLearner | PlanningLearner;

export interface TrainingParts {
  readonly env: VectorEnvironment;
  readonly evalEnv: VectorEnvironment;
  readonly learner: TrainableLearner;
  readonly real: ReplayBuffer;
  readonly synthetic: ReplayBuffer;
  /** How rows are chosen, by the buffer they are chosen from; none for a learner of rollouts. */
  readonly selectors: Readonly<Partial<Record<Source, Selector>>>;
  /** A selector of rows of a buffer, as those above; none for a learner of rollouts. */
  readonly selectorOf?: (buffer: ReplayBuffer) => Selector;
  /** Share of real rows in a replayed batch; `auto`: by what the model is worth. */
  readonly realRatio: number | 'auto';
  readonly collector: Collector;
  /** Where the loop dreams. */
  readonly world: DreamWorld | undefined;
  /** Draws rows like the real ones. */
  readonly generator?: GenerativeReplay;
  /** What the learner had behind it when the run began; undefined for one that knows nothing. */
  readonly before: LearnedFrom | undefined;
}

/** Everything that must survive between rounds, and so all that a checkpoint holds, is in here. */
export class Training {
  readonly counters: Counters = { round: 0, realSteps: 0, syntheticSteps: 0, updates: 0 };
  readonly evaluations: TrainEvaluation[] = [];
  readonly worldModelVersions: string[] = [];
  private readonly root: Rng;
  private made: TrainingParts;
  private stepsBeforeRound = 0;

  constructor(
    readonly settings: TrainingSettings,
    parts: TrainingParts,
    readonly ports: TrainingPorts<Training>,
  ) {
    this.root = Rng.fromSeed(settings.seed);
    this.made = parts;
  }

  get parts(): TrainingParts {
    return this.made;
  }

  /** Whether the budget is spent, or the threshold reached where that ends the run. */
  isFinished(): boolean {
    const { train, offlineUpdates } = this.settings;
    const { realSteps, updates } = this.counters;
    const isSpent = offlineUpdates === undefined ? realSteps >= train.realSteps : updates >= offlineUpdates;
    return isSpent || (train.stopAtThreshold && this.stepsToThreshold() !== null);
  }

  /** Real steps at the first evaluation that reached the threshold; null if none did. */
  stepsToThreshold(): number | null {
    const { threshold } = this.settings.train;
    if (threshold === null) return null;
    return this.evaluations.find(({ meanReturn }) => meanReturn >= threshold)?.realSteps ?? null;
  }

  /** Whether nothing was learned or recorded yet, so that no policy is better than a random one. */
  knowsNothing(): boolean {
    return this.parts.before === undefined && this.parts.real.size === 0;
  }

  /** Begins a round; answers its stream. */
  beginRound(): Rng {
    this.stepsBeforeRound = this.counters.realSteps;
    return this.root.split('round', this.counters.round);
  }

  /** Real steps of `policy` into the real buffer, as many as a round has and the budget leaves. */
  collect(policy: Policy, rng: Rng): Promise<Collected> {
    return this.live(policy, this.settings.train.stepsPerRound, rng);
  }

  /** The first real steps, of a uniformly random policy: one at least, and two for a model to be fitted to. */
  collectAtRandom(rng: Rng): Promise<Collected> {
    const steps = Math.max(this.parts.world ? 2 : 1, this.settings.train.initialRandomSteps);
    return this.live(new RandomPolicy(this.parts.env.actionSpace), steps, rng);
  }

  /** Brings the world model up to date with the real rows. */
  async fit(rng: Rng): Promise<void> {
    const { real } = this.parts;
    const fit = await this.world.fit(real, rng, this.ports);
    const version = this.world.modelVersion;
    if (version && this.worldModelVersions.at(-1) !== version) this.worldModelVersions.push(version);
    if (fit) {
      this.forgetOldDreams();
      this.tell('fit', { ...fit });
    }
  }

  /** How a round is simulated in the model of the moment, and whether at all. */
  planDream(): DreamPlan {
    const { realRatio, real } = this.parts;
    const plan = this.world.plan(realRatio, real.inserted);
    this.tell('plan', { ...plan, trial: this.world.state.evidence.trial });
    return plan;
  }

  /** Fits `generator` to the real rows and draws from it into the synthetic buffer. */
  async generate(generator: GenerativeReplay, rng: Rng): Promise<void> {
    const generation = await generator.renew(this.parts, rng, this.ports);
    this.worldModelVersions.push(generation.modelVersion);
    this.forgetOldDreams();
    this.counters.syntheticSteps += generation.rows;
    this.tell('generate', { ...generation });
  }

  /** Synthetic rows of models that were replaced several times are learned from no more. */
  private forgetOldDreams(): void {
    const { keepModels } = this.settings;
    if (keepModels === null) return;
    const kept = this.worldModelVersions.slice(-keepModels);
    const { synthetic, selectors, selectorOf } = this.parts;
    const origins = synthetic.originList();
    const isOld = origins.map(({ modelVersion }) => !kept.includes(modelVersion));
    const { origin } = synthetic.slice(0, synthetic.size);
    const old = origin.findLastIndex((number) => isOld[number]) + 1;
    if (old === 0) return;
    const rest = synthetic.newest(synthetic.size - old);
    // On-policy learners draw nothing from replay.
    const chosen = selectorOf && { ...selectors, synthetic: selectorOf(rest) };
    chosen?.synthetic.restore(stateOfNewest(selectors.synthetic!.state(), synthetic, rest.size));
    this.made = { ...this.parts, synthetic: rest, selectors: chosen ?? selectors };
  }

  /** The world model of the moment; fitted first where there is none yet, as in a run that goes on with given records. */
  async model(rng: Rng): Promise<StoredDynamics> {
    if (this.world.modelVersion === undefined) await this.fit(rng);
    return this.world.dynamics;
  }

  /** Dreams branches of `policy` from `starts` real states into the synthetic buffer. */
  async dream(policy: PolicySnapshot, starts: number, rng: Rng, plan: DreamPlan): Promise<void> {
    const dreamed = this.world.dream(policy, this.parts, starts, rng, plan, this.ports.signal);
    const { counts, horizon, seconds } = await dreamed;
    this.counters.syntheticSteps += counts.rows;
    this.tell('dream', { ...counts, horizon, seconds });
  }

  /** Counts gradient steps. */
  countUpdates(steps: number): void {
    this.counters.updates += steps;
  }

  endRound(): void {
    this.counters.round++;
  }

  isEvaluationDue(): boolean {
    const { evalEvery, realSteps } = this.settings.train;
    return this.isDue(evalEvery) || this.counters.realSteps >= realSteps;
  }

  /** Real episodes with the policy of the moment, not counted as training steps. */
  async evaluate(policy: Policy = this.parts.learner.policy()): Promise<void> {
    const { train, eval: options } = this.settings;
    const { realSteps, updates } = this.counters;
    const by = this.settings.offlineUpdates === undefined ? { realSteps } : { realSteps, updates };
    const { returns, lengths } = await evaluatePolicy(this.parts.evalEnv, policy, {
      episodes: train.evalEpisodes,
      seed: this.root.split('evaluate', ...Object.values(by)).uint32(),
      deterministic: options.deterministic,
      signal: this.ports.signal,
    });
    const result = { ...by, ...summariseReturns(returns, lengths) };
    this.evaluations.push(result);
    this.tell('eval', { return: result.meanReturn, std: result.stdReturn, length: result.meanLength });
  }

  /** The run keeps what is due. @throws what ends a run that was asked to stop */
  async checkpoint(): Promise<void> {
    const { keepPolicyEvery } = this.settings.train;
    await this.ports.checkpoint(this, { policy: keepPolicyEvery !== null && this.isDue(keepPolicyEvery) });
  }

  learnedFrom(): LearnedFrom {
    const { before, learner } = this.parts;
    return {
      scenario: this.settings.scenario,
      seed: this.settings.seed,
      realSteps: (before?.realSteps ?? 0) + this.counters.realSteps,
      syntheticSteps: (before?.syntheticSteps ?? 0) + this.counters.syntheticSteps,
      worldModelVersions: [...(before?.worldModelVersions ?? []), ...this.worldModelVersions],
      gradientSteps: learner.gradientSteps,
    };
  }

  async close(): Promise<void> {
    const { env, evalEnv, learner, world } = this.parts;
    await world?.close();
    await learner.close();
    await env.close();
    await evalEnv.close();
  }

  /** An event for the journal, with the counters as they are. */
  tell(kind: string, values: Record<string, unknown>): void {
    this.ports.tell({ kind, ...this.counters, ...values });
  }

  private get world(): DreamWorld {
    const { world } = this.parts;
    if (world === undefined) throw new Error('Dreaming without a world model: a defect of the run.');
    return world;
  }

  private isDue(every: number): boolean {
    return Math.floor(this.counters.realSteps / every) > Math.floor(this.stepsBeforeRound / every);
  }

  private async live(policy: Policy, wanted: number, rng: Rng): Promise<Collected> {
    const { collector, real } = this.parts;
    const { signal } = this.ports;
    const steps = Math.min(wanted, this.settings.train.realSteps - this.counters.realSteps);
    const collected = await collector.collect(policy, steps, rng, signal);
    signal.throwIfAborted();
    if (collected.failure !== undefined) throw collected.failure;
    real.append(collected.batch, collected.provenance);
    this.counters.realSteps += collected.batch.rows;
    for (const { episode, return: total, length } of collected.episodes)
      this.tell('episode', { episode, return: total, length });
    return collected;
  }
}

/** The i-th of `parts` shares of `total`, whole numbers that add up. */
export function share(total: number, i: number, parts: number): number {
  return Math.floor(((i + 1) * total) / parts) - Math.floor((i * total) / parts);
}
