// Generalised advantage estimation as a plain function over time-major rows.

export interface GaeInput {
  /** Time steps T and parallel environments N; every array is [T, N], time-major. */
  readonly steps: number;
  readonly envs: number;
  readonly reward: Float32Array;
  /** V(obs) */
  readonly value: Float32Array;
  /** V(nextObs), where nextObs is the successor itself, never the first observation after a reset. */
  readonly nextValue: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly gamma: number;
  readonly gaeLambda: number;
}

export interface GaeOutput {
  readonly advantage: Float32Array;
  /** Targets of the value function: advantage + value (TD(lambda) returns). */
  readonly returns: Float32Array;
}

/**
 * GAE (Schulman et al., 1506.02438, eq. 16). `terminated` cuts both the bootstrap and the sum; `truncated` cuts
 * the sum only, and its step still bootstraps from the value of its final observation.
 */
export function generalisedAdvantage(input: GaeInput): GaeOutput {
  const { steps, envs, reward, value, nextValue, terminated, truncated, gamma, gaeLambda } = input;
  const advantage = new Float32Array(steps * envs);
  const returns = new Float32Array(steps * envs);
  for (let env = 0; env < envs; env++) {
    let carried = 0;
    for (let t = steps - 1; t >= 0; t--) {
      const i = t * envs + env;
      const bootstrap = terminated[i] ? 0 : gamma * nextValue[i];
      const delta = reward[i] + bootstrap - value[i];
      carried = delta + (terminated[i] || truncated[i] ? 0 : gamma * gaeLambda * carried);
      advantage[i] = carried;
      returns[i] = carried + value[i];
    }
  }
  return { advantage, returns };
}
