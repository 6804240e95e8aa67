// MBPO: a learner that replays rows, warm-started in a learned world (Janner et al. 2019, 1906.08253, algorithm 2). A little
// is lived for real, the model is fitted to all of it, many short branches are dreamt from real states, and the learner
// takes many gradient steps on a mixture of both.

import type { ReplayLearner } from '../rl/learner.js';
import { ReplayUpdates } from './replay-updates.js';
import { share, type Training } from './training.js';

export async function mbpo(training: Training, learner: ReplayLearner): Promise<void> {
  const { cyclesPerRound, updatesPerRound } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  while (!training.isFinished()) {
    const rng = training.beginRound();
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else await training.collect(learner.policy(), rng.split('live'));

    await training.fit(rng.split('fit'));
    // A model without skill is not dreamt in: the learner takes as many steps on what was really lived.
    const { isOpen, starts, realRatio } = training.dreamPlan;

    const phase = training.ports.phase(isOpen ? 'dream and learn' : 'learn', updatesPerRound, 'updates');
    for (let cycle = 0; cycle < cyclesPerRound; cycle++) {
      const stream = rng.split('cycle', cycle);
      if (isOpen) await training.dream(learner.policySnapshot(), share(starts, cycle, cyclesPerRound), stream);
      const count = share(updatesPerRound, cycle, cyclesPerRound);
      // Where every branch was cut at its first step there is nothing dreamt to learn from.
      const isDreamt = isOpen && training.parts.synthetic.size > 0;
      await updates.learn(count, isDreamt ? realRatio : 1, stream.split('learn'), (n) => phase.advance(n));
    }
    phase.end();
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate();
    await training.checkpoint();
  }
}
