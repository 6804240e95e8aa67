// On-policy learning in the dream: as MBPO, but the learner (PPO) knows only what its policy of the moment does, so every
// dreamt rollout is one update's, and real rows teach the world model alone.

import type { RolloutLearner } from '../rl/index.js';
import { learnRollout } from './rollout-updates.js';
import { share, type Training } from './training.js';

export async function onPolicyDream(training: Training, learner: RolloutLearner): Promise<void> {
  const { cyclesPerRound } = training.settings.train;
  while (!training.isFinished()) {
    const rng = training.beginRound();
    // Random steps teach an on-policy learner nothing; a world model they do.
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else await training.collect(learner.policy(), rng.split('live'));

    await training.fit(rng.split('fit'));

    const phase = training.ports.phase('dream and learn', cyclesPerRound, 'rollouts');
    for (let cycle = 0; cycle < cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle);
      const branches = share(training.dreamPlan.starts, cycle, cyclesPerRound);
      const rollout = await training.dreamRollout(learner, branches, stream);
      await learnRollout(training, learner, rollout, stream.split('learn'));
      phase.advance(1);
    }
    phase.end();
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate();
    await training.checkpoint();
  }
}
