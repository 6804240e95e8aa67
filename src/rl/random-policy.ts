// The policy that knows nothing: uniform over the action space. The baseline, and the explorer of the first steps.

import { sha256 } from '../core/canonical-json.js';
import type { VectorSpace } from '../core/environment.js';
import type { ActOptions, Policy, PolicyAction, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { compiledUrl } from '../core/threads.js';
import { type Actions, actionsOf } from './spaces.js';

export interface RandomPayload {
  readonly kind: 'random';
  readonly space: VectorSpace;
}

export class RandomPolicy implements Policy {
  readonly version: string;
  private readonly actions: Actions;
  private readonly space: VectorSpace;

  /** @param space a Discrete, or a Box with finite bounds */
  constructor(space: VectorSpace) {
    this.space = space;
    this.actions = actionsOf(space);
    this.version = `random-${sha256(JSON.stringify(space)).slice(0, 8)}`;
  }

  /** A random policy has no mode: `deterministic` answers the middle of the Box, or the first action. */
  act(_obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): PolicyAction {
    const { actions } = this;
    const action = new Float32Array(rows * actions.dim);
    const logProb = new Float32Array(rows);
    if (actions.type === 'discrete') {
      for (let i = 0; i < rows; i++) action[i] = actions.start + (options.deterministic ? 0 : rng.int(actions.n));
      return { action, logProb: logProb.fill(-Math.log(actions.n)) };
    }
    const { dim, scale, bias } = actions;
    if (!options.deterministic) rng.fillUniform(action, -1, 1);
    for (let i = 0; i < action.length; i++) action[i] = bias[i % dim] + scale[i % dim] * action[i];
    return { action, logProb: logProb.fill(-scale.reduce((sum, s) => sum + Math.log(2 * s), 0)) };
  }

  snapshot(): PolicySnapshot {
    const payload: RandomPayload = { kind: 'random', space: this.space };
    return { version: this.version, loader: compiledUrl(import.meta.url, './load-policy.js'), payload };
  }
}
