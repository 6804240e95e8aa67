// Learning from records alone: nothing is lived but evaluations. The rows are those that were given, or rows drawn from a diffusion
// of them, or both (SynthER's offline half, Lu et al. 2023, 2303.06614, section 4.1).

import type { ReplayLearner } from '../rl/learner.js';
import { ReplayUpdates } from './replay-updates.js';
import type { Training } from './training.js';

export async function offline(training: Training, learner: ReplayLearner, budget: number): Promise<void> {
  const { updatesPerRound } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  const { generator, synthetic } = training.parts;
  while (!training.isFinished()) {
    const rng = training.beginRound();
    if (generator?.state.drawn === 0) await training.generate(generator, rng.split('generate'));
    const givenRatio = synthetic.size === 0 ? 1 : 0;
    const count = Math.min(updatesPerRound, budget - training.counters.updates);

    const phase = training.ports.phase('learn', count, 'updates');
    await updates.learn(count, generator?.realRatio ?? givenRatio, rng.split('learn'), (n) => phase.advance(n));
    phase.end();
    training.endRound();

    await training.evaluate();
    await training.checkpoint();
  }
}
