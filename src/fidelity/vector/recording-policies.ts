// Who acts while the truth is recorded: a mixture, so that a model is judged where policies of every kind lead.

import { createHash } from 'node:crypto';
import type { VectorEnvironment } from '../../core/environment.js';
import type { Policy, PolicyAction } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/space-values.js';
import { RandomPolicy } from '../../rl/policies.js';
import type { VectorHost } from './setup.js';

export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
}

export interface PolicyMixture {
  readonly policies: readonly NamedPolicy[];
  /** The one that acts in dreams whose actions are then done for real. */
  readonly replayed: NamedPolicy;
  close(): Promise<void>;
}

/** Shares of random actions that a trained policy acts with. */
const NOISE = [0, 0.1, 0.3, 0.6];
const CONTROLLERS = 3;

/** @throws CHECKPOINT_CORRUPT, or INPUT_UNFIT for a checkpoint that acts in other spaces */
export async function policyMixture(
  env: VectorEnvironment,
  checkpoint: string | undefined,
  host: Pick<VectorHost, 'learner'>,
): Promise<PolicyMixture> {
  const random = new RandomPolicy(env.actionSpace);
  const controllers = Array.from({ length: CONTROLLERS }, (_, i) => linearController(env, i));
  const untrained = [{ name: 'random', policy: random }, ...controllers];
  if (checkpoint === undefined) return { policies: untrained, replayed: controllers[0], close: async () => {} };
  const { learner } = await host.learner(env, checkpoint);
  const trained = NOISE.map((share) => {
    const name = share === 0 ? 'trained' : `trained, ${100 * share} % random`;
    return { name, policy: noisy(learner.policy(), random, share) };
  });
  return { policies: [...untrained, ...trained], replayed: trained[0], close: () => learner.close() };
}

/** Acts by the mode of `policy`, and in a `share` of the steps at random. */
export function noisy(policy: Policy, random: Policy, share: number): Policy {
  return {
    version: `${policy.version}+random-${share}`,
    memory: policy.memory,
    async act(obs, rows, rng, { carry: before } = {}): Promise<PolicyAction> {
      const { action, carry } = await policy.act(obs, rows, rng, { deterministic: true, carry: before });
      if (share === 0) return { action, carry };
      const mixed = action.slice();
      const width = action.length / rows;
      const { action: drawn } = await random.act(obs, rows, rng);
      for (let r = 0; r < rows; r++) {
        if (rng.uniform() < share) mixed.set(drawn.subarray(r * width, (r + 1) * width), r * width);
      }
      return { action: mixed, carry };
    },
  };
}

/**
 * A random linear function of the observation, squashed into the action space: it reacts to what it sees, which a random
 * policy does not (random linear policies: Mania et al. 2018, 1803.07055).
 */
function linearController(env: VectorEnvironment, index: number): NamedPolicy {
  const { actionSpace, observationSpace } = env;
  const obsDim = rowSize(observationSpace);
  const outputs = actionSpace.type === 'discrete' ? actionSpace.n : rowSize(actionSpace);
  const weights = Rng.fromSeed(index)
    .split('linear controller')
    .fillNormal(new Float64Array(outputs * obsDim));
  const output = (obs: Float32Array, row: number, k: number) => {
    let sum = 0;
    for (let j = 0; j < obsDim; j++) sum += weights[k * obsDim + j] * obs[row * obsDim + j];
    return sum;
  };
  const act = (obs: Float32Array, rows: number): PolicyAction => {
    if (actionSpace.type === 'discrete') {
      const best = (row: number) => argmax(outputs, (k) => output(obs, row, k));
      return { action: Float32Array.from({ length: rows }, (_, row) => actionSpace.start + best(row)) };
    }
    const { low, high } = actionSpace;
    const action = Float32Array.from({ length: rows * outputs }, (_, i) => {
      const k = i % outputs;
      const [least, most] = [low[k] ?? -1, high[k] ?? 1];
      return (least + most) / 2 + ((most - least) / 2) * Math.tanh(output(obs, Math.floor(i / outputs), k));
    });
    return { action };
  };
  const version = createHash('sha256').update(weights).digest('hex').slice(0, 8);
  return { name: `linear controller ${index + 1}`, policy: { version: `linear-${version}`, act } };
}

function argmax(count: number, value: (index: number) => number): number {
  let best = 0;
  for (let k = 1; k < count; k++) if (value(k) > value(best)) best = k;
  return best;
}
