// Learning from the real environment alone: the baseline of every warm start, collected, evaluated and kept in the same way.

import type { ReplayLearner, RolloutLearner } from '../rl/learner.js';
import { ReplayUpdates } from './replay-updates.js';
import { learnRollout, RolloutRecorder } from './rollout-updates.js';
import { share, type Training } from './training.js';

/** A learner that replays rows (SAC): so many gradient steps for each real step, once the first, random ones are lived. */
export async function replayedOnly(training: Training, learner: ReplayLearner): Promise<void> {
  const { updatesPerStep } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  while (!training.isFinished()) {
    const rng = training.beginRound();
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else {
      const { batch } = await training.collect(learner.policy(), rng.split('live'));
      await updates.learn(Math.round(batch.rows * updatesPerStep), 1, rng.split('learn'));
    }
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate();
    await training.checkpoint();
  }
}

/**
 * The rounds of a dream with nothing dreamt, as `replay.realRatio` is 1: as many gradient steps, at the same moments, on real
 * rows alone. What is left of a dream's gain against this arm is the dream's own.
 */
export async function replayedInRounds(training: Training, learner: ReplayLearner): Promise<void> {
  const { cyclesPerRound, updatesPerRound } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  while (!training.isFinished()) {
    const rng = training.beginRound();
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else await training.collect(learner.policy(), rng.split('live'));

    const phase = training.ports.phase('learn', updatesPerRound, 'updates');
    for (let cycle = 0; cycle < cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle).split('learn');
      await updates.learn(share(updatesPerRound, cycle, cyclesPerRound), 1, stream, (n) => phase.advance(n));
    }
    phase.end();
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate();
    await training.checkpoint();
  }
}

/** A learner of rollouts (PPO): what a round lived is one update's. */
export async function onPolicyOnly(training: Training, learner: RolloutLearner): Promise<void> {
  // The budget may leave the last round too few steps to fill a batch.
  const least = Math.min(training.settings.train.stepsPerRound, learner.config.batchSize);
  while (!training.isFinished()) {
    const rng = training.beginRound();
    const recorder = new RolloutRecorder(learner);
    const lived = await training.collect(recorder, rng.split('live'));
    if (lived.batch.rows >= least) {
      await learnRollout(training, learner, recorder.rollout(lived), rng.split('learn'));
    }
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate();
    await training.checkpoint();
  }
}
