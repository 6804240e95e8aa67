// SynthER: a learner lives in the real environment and replays what it lived, beside rows drawn
// from a diffusion of it that is fitted anew as rows come in (Lu et al. 2023, 2303.06614, algorithm 1).

import type { ReplayLearner } from '../rl/learner.js';
import type { GenerativeReplay } from './generative-replay.js';
import { ReplayUpdates } from './replay-updates.js';
import type { Training } from './training.js';

export async function synther(training: Training, learner: ReplayLearner, generator: GenerativeReplay): Promise<void> {
  const { updatesPerStep } = training.settings.train;
  const updates = new ReplayUpdates(training, learner);
  while (!training.isFinished()) {
    const rng = training.beginRound();
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else {
      const { batch } = await training.collect(learner.policy(), rng.split('live'));
      if (generator.isDue(training.parts.real)) await training.generate(generator, rng.split('generate'));
      await updates.learn(Math.round(batch.rows * updatesPerStep), generator.realRatio, rng.split('learn'));
    }
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate();
    await training.checkpoint();
  }
}
