// DroQ (Hiraoka et al. 2022, 2110.02034) as a learner: REDQ with two critics in place of many, whose dropout and layer
// normalisation do what the large ensemble did.

import type { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import type { TrainingDevice } from '../../nn/trainer.js';
import { droqConfigSchema } from '../config.js';
import { parseConfig } from '../learner-state.js';
import { criticEnsemble, type Redq } from '../redq/redq.js';
import type { Spaces } from '../spaces.js';

/**
 * A fresh DroQ learner; its initial weights come from `rng`.
 * Throws SETTING_INVALID, SCENARIO_UNFIT unless actions are a Box with finite bounds, or DEVICE_UNAVAILABLE.
 */
export async function makeDroq(
  config: z.input<typeof droqConfigSchema>,
  spaces: Spaces,
  rng: Rng,
  device: TrainingDevice = 'cpu',
): Promise<Redq> {
  const settings = parseConfig('DroQ learner', droqConfigSchema, config);
  const design = { ...settings, critics: 2, drawn: 2, criticLayerNorm: true };
  return criticEnsemble('droq', settings, design, spaces, rng, device);
}
