// How a run learns, by what its learner learns from and whether there is a world model: one loop each, over rounds that are all alike.

import { reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicyAction } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { allocateBatch, pickRows } from '../replay/columns.js';
import { MixtureSampler } from '../replay/mixture.js';
import type { TransitionBatch } from '../replay/transition.js';
import type { Demonstrations } from '../rl/bc.js';
import { PLANNED } from '../rl/icem.js';
import type { PlanningLearner, ReplayLearner, Rollout, RolloutLearner } from '../rl/learner.js';
import type { Collected } from './collector.js';
import { share, type Training } from './training.js';

/** Gradient steps per ONNX Runtime call: short enough for the progress bar and Ctrl-C, long enough to hide the call. */
const UPDATES_PER_CALL = 50;

/**
 * Trains until the budget is spent or the threshold reached.
 * @throws what environment, model and learner throw, the reason of the run's signal, and what ends a run at a checkpoint
 */
export function train(training: Training): Promise<void> {
  const { learner, world, generator } = training.parts;
  const { offlineUpdates, dream } = training.settings;
  if (learner.learnsFrom === 'model') return byPlanning(training, learner);
  if (learner.learnsFrom === 'rollouts') return byRollouts(training, learner);
  if (offlineUpdates !== undefined) return fromRecords(training, learner, offlineUpdates);
  return !generator && (world || dream) ? byDreaming(training, learner) : byReplay(training, learner);
}

/** Rounds until the run is finished; what was learned is evaluated and kept between them. */
async function rounds(
  training: Training,
  round: (rng: Rng) => Promise<void>,
  { isAlwaysJudged = false, judged }: { readonly isAlwaysJudged?: boolean; judged?(rng: Rng): Promise<Policy> } = {},
): Promise<void> {
  while (!training.isFinished()) {
    const rng = training.beginRound();
    await round(rng);
    training.endRound();
    if (isAlwaysJudged || training.isEvaluationDue()) await training.evaluate(await judged?.(rng));
    await training.checkpoint();
  }
}

/**
 * A learner that replays rows, in the real environment alone: so many gradient steps for each real step, once the first, random ones are
 * there. With a generator, beside rows drawn from a diffusion of them that is fitted anew as rows come in (SynthER, Lu et al. 2023,
 * 2303.06614, algorithm 1).
 */
function byReplay(training: Training, learner: ReplayLearner): Promise<void> {
  const { updatesPerStep } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  const { generator } = training.parts;
  return rounds(training, async (rng) => {
    if (training.knowsNothing()) {
      await training.collectAtRandom(rng.split('live'));
      return;
    }
    const { batch } = await training.collect(learner.policy(), rng.split('live'));
    if (generator?.isDue(training.parts.real)) await training.generate(generator, rng.split('generate'));
    // Whole updates, of which a fraction a step loses none.
    const { realSteps } = training.counters;
    const count = Math.floor(realSteps * updatesPerStep) - Math.floor((realSteps - batch.rows) * updatesPerStep);
    await updates.learn(count, generator?.realRatio ?? 1, rng.split('learn'));
  });
}

/**
 * MBPO (Janner et al. 2019, 1906.08253, algorithm 2): a little is collected for real, the model is fitted to all of it, many short branches
 * are simulated from real states, and the learner takes many gradient steps on a mixture of both. Without a world, as `replay.realRatio`
 * is 1, as many steps at the same moments on real rows alone: what is left of a dream's gain against that is the dream's own.
 */
function byDreaming(training: Training, learner: ReplayLearner): Promise<void> {
  const { cyclesPerRound, updatesPerRound } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  return rounds(training, async (rng) => {
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else await training.collect(learner.policy(), rng.split('live'));

    const { world } = training.parts;
    if (world) await training.fit(rng.split('fit'));
    const planned = world && training.planDream();
    // In a model without skill nothing is simulated: the learner takes as many steps on real rows.
    const plan = planned?.isOpen ? planned : undefined;
    const phase = training.ports.phase(plan ? 'dream and learn' : 'learn', updatesPerRound, 'updates');
    for (let cycle = 0; cycle < cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle);
      const starts = plan ? share(plan.starts, cycle, cyclesPerRound) : 0;
      if (plan && starts > 0) await training.dream(learner.policySnapshot(), starts, stream, plan);
      // Where every branch was cut at its first step there is nothing simulated to learn from.
      const realRatio = plan && training.parts.synthetic.size > 0 ? plan.realRatio : 1;
      const count = share(updatesPerRound, cycle, cyclesPerRound);
      await updates.learn(count, realRatio, stream.split('learn'), (n) => phase.advance(n));
    }
    phase.end();
  });
}

/**
 * From records alone: nothing is collected but evaluations. The rows are those that were given, or rows drawn from a diffusion of them,
 * or both (SynthER's offline half, Lu et al. 2023, 2303.06614, section 4.1).
 */
function fromRecords(training: Training, learner: ReplayLearner, budget: number): Promise<void> {
  const { updatesPerRound } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  const { generator, synthetic } = training.parts;
  const round = async (rng: Rng) => {
    if (generator?.state.drawn === 0) await training.generate(generator, rng.split('generate'));
    const realRatio = generator?.realRatio ?? (synthetic.size === 0 ? 1 : 0);
    const count = Math.min(updatesPerRound, budget - training.counters.updates);
    const phase = training.ports.phase('learn', count, 'updates');
    await updates.learn(count, realRatio, rng.split('learn'), (n) => phase.advance(n));
    phase.end();
  };
  return rounds(training, round, { isAlwaysJudged: true });
}

/** A learner of rollouts (PPO), in the real environment: what a round collected is one update's. */
function byRollouts(training: Training, learner: RolloutLearner): Promise<void> {
  // The budget may leave the last round too few steps to fill a batch.
  const least = Math.min(training.settings.train.stepsPerRound, learner.config.batchSize);
  return rounds(training, async (rng) => {
    const recorder = new RolloutRecorder(learner);
    const collected = await training.collect(recorder, rng.split('live'));
    if (collected.batch.rows < least) return;
    const before = learner.gradientSteps;
    const metrics = await learner.update(recorder.rollout(collected), rng.split('learn'));
    training.countUpdates(learner.gradientSteps - before);
    training.tell('update', { ...metrics });
    // The update blocks the event loop: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
    training.ports.signal.throwIfAborted();
  });
}

/**
 * PETS (Chua et al. 2018, 1805.12114, algorithm 1): a little is collected at random, the model is fitted to all of it, the agent plans in
 * the model at every real step, the model is fitted again. A policy is taught what the agent did on the way (Levine & Koltun 2013), for
 * use where there is no time to plan.
 */
async function byPlanning(training: Training, learner: PlanningLearner): Promise<void> {
  const round = async (rng: Rng) => {
    // A policy that was given knows the way, but not the world that a planner plans in.
    if (training.parts.real.size === 0) await training.collectAtRandom(rng.split('live'));
    else await training.collect(learner.planner(await training.model(rng.split('first fit'))), rng.split('live'));

    await training.fit(rng.split('fit'));

    const planned = plannedRows(training.parts.real);
    const { distilUpdates } = learner.config;
    if (planned.rows === 0 || distilUpdates === 0) return;
    const metrics = await learner.update(planned, distilUpdates, rng.split('teach'));
    training.countUpdates(distilUpdates);
    training.tell('update', { ...metrics });
  };
  await rounds(training, round, { judged: async (rng) => learner.planner(await training.model(rng)) });
  // Where the first model already reaches the threshold, the policy is still to be taught.
  const { counters, settings } = training;
  if (learner.gradientSteps > 0 || learner.config.distilUpdates === 0 || counters.realSteps >= settings.train.realSteps)
    return;
  await round(training.beginRound());
  training.endRound();
}

/** The real rows that a planner collected: what a policy can be taught. */
function plannedRows(real: ReplayBuffer): Demonstrations {
  const { obs, action, origin } = real.columns();
  const isPlanned = real.originList().map(({ policyVersion }) => policyVersion.startsWith(PLANNED));
  const rows = Uint32Array.from({ length: real.size }, (_, row) => row).filter((row) => isPlanned[origin[row]]);
  return { rows: rows.length, obs: pickRows(obs, real.obsDim, rows), action: pickRows(action, real.actionDim, rows) };
}

/** Gradient steps on batches drawn from all rows so far, with an exact share of real ones. */
class ReplayUpdates {
  private stacked: TransitionBatch | undefined;

  constructor(
    private readonly training: Training,
    private readonly learner: ReplayLearner,
  ) {
    if (!this.isPrioritized || learner.tdErrors !== undefined) return;
    const problem = `The learner "${learner.kind}" gives rows no errors that replay.selector "prioritized" could go by.`;
    throw reverieError('SCENARIO_UNFIT', {
      problem,
      hint: 'Set replay.selector.kind=uniform, or learn by sac, redq, droq or simba.',
    });
  }

  /** `updates` gradient steps on batches with this share of real rows. @throws what the learner throws, and the reason of the run's signal */
  async learn(
    updates: number,
    realRatio: number,
    rng: Rng,
    onDone: (updates: number) => void = () => {},
  ): Promise<void> {
    const { learner, training } = this;
    const { real, synthetic, selectors } = training.parts;
    const sampler = new MixtureSampler({
      real: { buffer: real, selector: selectors.real! },
      synthetic: { buffer: synthetic, selector: selectors.synthetic! },
      realRatio,
    });
    learner.standardise?.((realRatio > 0 ? real : synthetic).rows().obs);
    const { batchSize } = learner.config;
    for (let done = 0, call = 0; done < updates; call++) {
      const steps = Math.min(UPDATES_PER_CALL, updates - done);
      const stream = rng.split('call', call);
      const batch = sampler.sampleSteps(steps, batchSize, stream.split('rows'), this.stackedBatch(steps * batchSize));
      const metrics = await learner.update(batch, steps, stream.split('noise'), sampler.lastDraw().weights);
      if (this.isPrioritized) sampler.updatePriorities(await learner.tdErrors!(batch, stream.split('td')));
      done += steps;
      training.countUpdates(steps);
      onDone(steps);
      if (done === updates) training.tell('update', { ...metrics });
      // The update blocks the event loop: let the bar move and Ctrl-C in.
      await new Promise((resolve) => setImmediate(resolve));
      training.ports.signal.throwIfAborted();
    }
  }

  /** Whether the selectors go by errors. */
  private get isPrioritized(): boolean {
    return this.training.parts.selectors.real?.update !== undefined;
  }

  /** A batch of exactly `rows` rows, kept between calls of the same size. */
  private stackedBatch(rows: number): TransitionBatch {
    if (this.stacked?.rows !== rows) {
      const { obsDim, actionDim } = this.training.parts.real;
      this.stacked = allocateBatch(rows, obsDim, actionDim);
    }
    return this.stacked;
  }
}

/** Acts as the learner does and keeps what it learns from: its actions before clipping, one row a call. */
class RolloutRecorder implements Policy {
  private readonly kept: Float32Array[] = [];

  constructor(private readonly learner: RolloutLearner) {}

  get version(): string {
    return this.learner.policy().version;
  }

  async act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Promise<PolicyAction> {
    const { action, logProb, raw } = await this.learner.act(obs, rows, rng, options);
    this.kept.push(raw);
    return { action, logProb };
  }

  /** The rows it collected, as one rollout. */
  rollout({ batch, provenance }: Collected): Rollout {
    const width = this.kept[0]?.length ?? 0;
    const raw = new Float32Array(this.kept.length * width);
    for (const [row, values] of this.kept.entries()) raw.set(values, row * width);
    return { steps: batch.rows, envs: 1, batch, raw, logProb: provenance.logProb ?? new Float32Array(0) };
  }
}
