// PETS (Chua et al. 2018, 1805.12114) as a learner: an agent that plans in the world model at every step, and a policy that is
// taught what the agent did. The agent needs the model with it; the taught policy is a network as any other's.

import type { z } from 'zod';
import type { Carry } from '../core/dynamics.js';
import type { Policy, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { type Bc, type BcMetrics, type Demonstrations, makeBc } from './bc.js';
import { type PetsConfig, petsConfigSchema } from './config.js';
import { type NumericDynamics, PlannerPolicy } from './icem.js';
import { type LearnerState, type PlanningLearner, parseConfig } from './learner.js';
import { boxActions, type Spaces } from './spaces.js';

/**
 * A fresh agent; its taught policy's initial weights come from `rng`.
 * Throws SETTING_INVALID, or SCENARIO_UNFIT unless actions are a Box with finite bounds.
 */
export async function makePets(config: z.input<typeof petsConfigSchema>, spaces: Spaces, rng: Rng): Promise<Pets> {
  const settings = parseConfig('PETS learner', petsConfigSchema, config);
  boxActions(spaces.actionSpace, 'PETS learner');
  const { hidden, activation, lr, batchSize } = settings;
  return new Pets(settings, await makeBc({ hidden, activation, lr, batchSize, loss: 'nll' }, spaces, rng));
}

/** Use `makePets`. */
export class Pets implements PlanningLearner {
  readonly kind = 'pets';
  readonly learnsFrom = 'model';

  constructor(
    readonly config: PetsConfig,
    private readonly student: Bc,
  ) {}

  get spaces(): Spaces {
    return this.student.spaces;
  }

  get gradientSteps(): number {
    return this.student.gradientSteps;
  }

  planner<C extends Carry>(model: NumericDynamics<C>): Policy {
    const { horizon, candidates, elites, rounds, gamma } = this.config;
    return new PlannerPolicy(model, { horizon, candidates, elites, rounds, gamma });
  }

  /** What was taught, without planning. */
  policy(): Policy {
    return this.student.policy();
  }

  policySnapshot(): PolicySnapshot {
    return this.student.policySnapshot();
  }

  policyModel(): Uint8Array {
    return this.student.policyModel();
  }

  update(planned: Demonstrations, steps: number, rng: Rng): Promise<BcMetrics> {
    return this.student.update(planned, steps, rng);
  }

  state(): LearnerState {
    const { meta, arrays } = this.student.state();
    return { meta: { ...meta, kind: this.kind, config: this.config }, arrays };
  }

  restore({ meta, arrays }: LearnerState): void {
    // Another learner's state keeps its own name, and is refused.
    const kind = meta.kind === this.kind ? this.student.kind : meta.kind;
    this.student.restore({ meta: { ...meta, kind }, arrays });
  }

  close(): Promise<void> {
    return this.student.close();
  }
}
