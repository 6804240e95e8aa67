// Learners of text: fresh ones as a scenario has them, and those of checkpoints, with the network as it was trained.

import { Rng } from '../../../core/rng.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { OpenSession } from '../../../nn/trainer.js';
import { groupEstimators } from '../../../rl/group-estimators.js';
import { textNetworks } from '../../../rl/text/networks.js';
import type { TextLearner } from '../../../rl/text/text-policy.js';
import { loadTextPolicy } from './policy-checkpoint.js';

/** Of a scenario: what is asked of its learner. */
interface Learning {
  readonly config: Pick<ToolsScenarioConfig, 'rl'>;
}

/**
 * A fresh learner as the scenario has it.
 * @param open runs its gradient steps; in the calling thread unless given
 */
export async function makeTextLearner(learning: Learning, seed: number, open?: OpenSession): Promise<TextLearner> {
  const { rl } = learning.config;
  const given = (rl as Readonly<Record<string, unknown>>)[rl.network] ?? {};
  return madeWith(textNetworks.get(rl.network).schema.parse(given), learning, seed, rl.network, open);
}

async function madeWith(
  settings: unknown,
  { config: { rl } }: Learning,
  seed: number,
  network: string,
  open?: OpenSession,
): Promise<TextLearner> {
  const make = await textNetworks.get(network).make();
  const valueCoefficient = groupEstimators.get(rl.algorithm).hasCritic ? (rl.valueCoefficient ?? 0.5) : 0;
  const rng = Rng.fromSeed(seed).split('text-learner');
  return make(settings as never, { ...rl, valueCoefficient }, rng, open);
}

/**
 * The learner of a run of train, or of a checkpoint's folder; the caller closes it.
 * @throws INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function openTextLearner(learning: Learning, seed: number, checkpoint: string): Promise<TextLearner> {
  const { manifest, state } = await loadTextPolicy(checkpoint);
  const { network, settings } = manifest;
  // As it was trained, whatever the scenario says of it now.
  const learner = await madeWith(textNetworks.get(network).schema.parse(settings), learning, seed, network);
  try {
    learner.restore(state);
    return learner;
  } catch (error) {
    await learner.close();
    throw error;
  }
}
