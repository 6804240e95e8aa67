// Learners of text: fresh ones as a scenario has them, and those of checkpoints, with the network as it was trained.

import { Rng } from '../../../core/rng.js';
import type { ToolsScenarioConfig } from '../../../kinds/index.js';
import { groupEstimators, type TextLearner, textNetworks } from '../../../rl/index.js';
import { loadTextPolicy } from './policy-checkpoint.js';

type Learning = Pick<ToolsScenarioConfig, 'rl'>;

/** A fresh learner as the scenario has it. */
export async function makeTextLearner({ rl }: Learning, seed: number, network = rl.network): Promise<TextLearner> {
  const entry = textNetworks.get(network);
  const make = await entry.make();
  const settings = entry.schema.parse((rl as Readonly<Record<string, unknown>>)[network] ?? {});
  const valueCoefficient = groupEstimators.get(rl.algorithm).hasCritic ? (rl.valueCoefficient ?? 0.5) : 0;
  return make(settings as never, { ...rl, valueCoefficient }, Rng.fromSeed(seed).split('text-learner'));
}

/**
 * The learner of a run of train, or of a checkpoint's folder; the caller closes it.
 * @throws INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function openTextLearner({ rl }: Learning, seed: number, checkpoint: string): Promise<TextLearner> {
  const { manifest, state } = await loadTextPolicy(checkpoint);
  const { network, settings } = manifest;
  // As it was trained, whatever the scenario says of it now.
  const learner = await makeTextLearner({ rl: { ...rl, [network]: settings } as Learning['rl'] }, seed, network);
  try {
    learner.restore(state);
    return learner;
  } catch (error) {
    await learner.close();
    throw error;
  }
}
