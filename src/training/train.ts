// Which loop a run goes through: by whether it lives or dreams, and by what its learner learns from.

import { mbpo } from './mbpo.js';
import { offline } from './offline.js';
import { pets } from './pets.js';
import { onPolicyOnly, replayedInRounds, replayedOnly } from './real-only.js';
import { synther } from './synther.js';
import type { Training } from './training.js';

/**
 * Trains until the budget is spent or the threshold reached.
 * @throws what environment, model and learner throw, the reason of the run's signal, and what ends a run at a checkpoint
 */
export function train(training: Training): Promise<void> {
  const { learner, world, generator } = training.parts;
  const { offlineUpdates } = training.settings;
  if (learner.learnsFrom === 'replay') {
    if (offlineUpdates !== undefined) return offline(training, learner, offlineUpdates);
    if (generator) return synther(training, learner, generator);
    if (world) return mbpo(training, learner);
    return training.settings.dream ? replayedInRounds(training, learner) : replayedOnly(training, learner);
  }
  if (learner.learnsFrom === 'model') return pets(training, learner);
  return onPolicyOnly(training, learner);
}
