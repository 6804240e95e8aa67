// A finite world whose dynamics are known exactly, as tables: the reference for algorithms.

/** Tables of a finite Markov decision process, row-major. */
export interface TabularDynamics {
  readonly states: number;
  readonly actions: number;
  /** P[s, a, s'], [states, actions, states]; terminal states stay where they are. */
  readonly transition: Float64Array;
  /** Reward of entering s' from s by a, [states, actions, states]. */
  readonly reward: Float64Array;
  /** 1 where the episode has ended, [states]. */
  readonly terminal: Uint8Array;
  /** Probability of starting in each state, [states]. */
  readonly start: Float64Array;
}

export interface TabularSolution {
  /** Optimal value of each state, [states]; 0 for terminal ones. */
  readonly values: Float64Array;
  /** Optimal value of each action, [states, actions]. */
  readonly actionValues: Float64Array;
  /** A best action of each state, the first among equals, [states]. */
  readonly policy: Uint32Array;
  readonly sweeps: number;
}

/**
 * Value iteration (Sutton & Barto 2018, section 4.4) until no value changes by more than `tolerance`.
 * @param gamma discount in [0, 1); 1 is allowed where every policy ends
 */
export function valueIteration(dynamics: TabularDynamics, gamma: number, tolerance = 1e-12): TabularSolution {
  const { states, actions, terminal } = dynamics;
  const values = new Float64Array(states);
  const actionValues = new Float64Array(states * actions);
  let sweeps = 0;
  for (let change = Number.POSITIVE_INFINITY; change > tolerance && sweeps < MAX_SWEEPS; sweeps++) {
    change = 0;
    for (let state = 0; state < states; state++) {
      if (terminal[state]) continue;
      for (let action = 0; action < actions; action++) {
        actionValues[state * actions + action] = actionValue(dynamics, values, state, action, gamma);
      }
      const best = Math.max(...actionValues.subarray(state * actions, (state + 1) * actions));
      change = Math.max(change, Math.abs(best - values[state]));
      values[state] = best;
    }
  }
  const policy = Uint32Array.from({ length: states }, (_, state) => bestAction(actionValues, state, actions));
  return { values, actionValues, policy, sweeps };
}

const MAX_SWEEPS = 1_000_000;

function actionValue(
  { states, actions, transition, reward, terminal }: TabularDynamics,
  values: Float64Array,
  state: number,
  action: number,
  gamma: number,
): number {
  const row = (state * actions + action) * states;
  let total = 0;
  for (let next = 0; next < states; next++) {
    const probability = transition[row + next];
    if (probability > 0) total += probability * (reward[row + next] + (terminal[next] ? 0 : gamma * values[next]));
  }
  return total;
}

function bestAction(actionValues: Float64Array, state: number, actions: number): number {
  const row = actionValues.subarray(state * actions, (state + 1) * actions);
  return row.indexOf(Math.max(...row));
}

/** The state in whose share of [0, 1) `chance` falls. */
export function stateAt(probabilities: Float64Array, chance: number): number {
  let rest = chance;
  let last = 0;
  for (let i = 0; i < probabilities.length; i++) {
    if (probabilities[i] === 0) continue;
    last = i;
    rest -= probabilities[i];
    if (rest < 0) break;
  }
  return last;
}
