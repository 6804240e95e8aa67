// The selector a scenario names, over a buffer.

import {
  PrioritizedSelector,
  RecencySelector,
  type ReplayBuffer,
  type Selector,
  UniformSelector,
} from '../../replay/index.js';
import type { ScenarioConfig } from '../scenario-schema.js';

export function makeSelector(config: ScenarioConfig['replay']['selector'], buffer: ReplayBuffer): Selector {
  switch (config.kind) {
    case 'uniform':
      return new UniformSelector(buffer);
    case 'prioritized':
      return new PrioritizedSelector(buffer, { alpha: config.alpha, beta: config.beta });
    case 'recency':
      return new RecencySelector(buffer, { halfLife: config.halfLife });
  }
}
