// The pendulum as a world model that is right but for what is put in.

import { reverieError } from '../../../src/core/errors.js';
import { boxSpace } from '../../../src/env/space-values.js';
import { MemorylessDynamics, type StepQuestion, type VectorPrediction } from '../../../src/worldmodel/memoryless.js';

export interface PendulumErrors {
  /** What a torque is multiplied by. */
  readonly torque?: number;
  /** What a reward has too much. */
  readonly bonus?: number;
  /** Speed above which the model answers with no number. */
  readonly breaksAbove?: number;
}

export function pendulumModel(errors: PendulumErrors = {}): PendulumModel {
  return new PendulumModel(errors);
}

export class PendulumModel extends MemorylessDynamics {
  constructor(private readonly errors: PendulumErrors) {
    const { torque = 1, bonus = 0 } = errors;
    super('exact', JSON.stringify([torque, bonus]), {
      observationSpace: boxSpace([-1, -1, -8], [1, 1, 8]),
      actionSpace: boxSpace([-2], [2]),
    });
  }

  snapshot() {
    return { backend: 'exact', modelVersion: '', payload: null };
  }

  async save(): Promise<void> {}

  async close(): Promise<void> {}

  protected async haveExactRows(): Promise<boolean> {
    return true;
  }

  protected async predict({ obs, action, rows }: StepQuestion): Promise<VectorPrediction> {
    const { torque = 1, bonus = 0, breaksAbove = Infinity } = this.errors;
    const nextObs = new Float32Array(obs.length);
    const reward = new Float32Array(rows);
    for (let i = 0; i < rows; i++) {
      const [cos, sin, speed] = obs.subarray(3 * i, 3 * i + 3);
      const angle = Math.atan2(sin, cos);
      const force = torque * action[i];
      reward[i] = bonus - (angle ** 2 + 0.1 * speed ** 2 + 0.001 * action[i] ** 2);
      const next = Math.min(Math.max(speed + (15 * Math.sin(angle) + 3 * force) * 0.05, -8), 8);
      if (Math.abs(next) > breaksAbove) {
        throw reverieError('NON_FINITE_VALUE', { what: 'reward', value: Number.NaN, where: 'row', hint: '' });
      }
      nextObs.set([Math.cos(angle + 0.05 * next), Math.sin(angle + 0.05 * next), next], 3 * i);
    }
    return { nextObs, reward, terminated: new Uint8Array(rows) };
  }
}
