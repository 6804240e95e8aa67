// Learning from what the policy of the moment has just lived: each rollout, real or dreamt, is one update's.

import type { ActOptions, Policy, PolicyAction, PolicyMemory } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { RolloutLearner } from '../rl/learner.js';
import type { Rollout } from '../rl/rollout.js';
import type { Collected } from './collector.js';
import type { Training } from './training.js';

/** One update. @throws what the learner throws, and the reason of the run's signal */
export async function learnRollout(
  training: Training,
  learner: RolloutLearner,
  rollout: Rollout,
  rng: Rng,
): Promise<void> {
  const before = learner.gradientSteps;
  const metrics = await learner.update(rollout, rng);
  training.countUpdates(learner.gradientSteps - before);
  training.tell('update', { ...metrics });
  // The update blocks the event loop: let the bar move and Ctrl-C in.
  await new Promise((resolve) => setImmediate(resolve));
  training.ports.signal.throwIfAborted();
}

/** Acts as the learner does and keeps what it learns from: its actions before clipping, one row a call. */
export class RolloutRecorder implements Policy {
  private readonly kept: Float32Array[] = [];

  constructor(private readonly learner: RolloutLearner) {}

  get version(): string {
    return this.learner.policy().version;
  }

  get memory(): PolicyMemory | undefined {
    return this.learner.memory;
  }

  async act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Promise<PolicyAction> {
    const { action, logProb, raw, carry } = await this.learner.act(obs, rows, rng, options);
    this.kept.push(raw);
    return { action, logProb, carry };
  }

  /** The rows it lived, as one rollout. */
  rollout({ batch, provenance }: Collected): Rollout {
    const width = this.kept[0]?.length ?? 0;
    const raw = new Float32Array(this.kept.length * width);
    for (const [row, values] of this.kept.entries()) raw.set(values, row * width);
    return { steps: batch.rows, envs: 1, batch, raw, logProb: provenance.logProb ?? new Float32Array(0) };
  }
}
