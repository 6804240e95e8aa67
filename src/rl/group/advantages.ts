// How much better each choice was than what else was done from the same start: estimators that need no critic, only a group of
// episodes that began alike.

/** What an estimator sees of an episode. */
export interface GroupEpisode {
  /** Reward of each step. */
  readonly rewards: readonly number[];
  /** Name of the state that each step's choice was made in: equal where the same may follow. */
  readonly states: readonly string[];
  /** What was expected before each step, by a critic; absent without one. */
  readonly values?: readonly number[];
}

export interface GroupOptions {
  /** Divide by the group's standard deviation. Without it: Dr. GRPO (2503.20783), which does not favour nearly settled groups. */
  readonly normalise: boolean;
  /**
   * What counts alike: each episode, however long (GRPO), or each step (DAPO). With rewards at the end alone, steps make failures,
   * which are long, outweigh what they are compared with.
   */
  readonly average: 'episode' | 'step';
  /** GiGPO, PPO: discount of rewards one step later, in returns from a step on. */
  readonly gamma: number;
  /** GiGPO: weight of the advantage among equal states. */
  readonly stepWeight: number;
  /** PPO: how far advantages look past the next step (GAE's lambda); 1 unless given. */
  readonly gaeLambda?: number;
  /** Share of the groups that are kept, those whose returns differ most (RAGEN, 2504.20073); all unless given. */
  readonly keptGroups?: number;
}

/** Advantages of the steps of each episode of one group. */
export type Estimator = (group: readonly GroupEpisode[], options: GroupOptions) => number[][];

/** Keeps a division by the deviation of nearly equal returns in bounds; verl's value. */
const EPSILON = 1e-6;

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Return minus the group's mean, over its standard deviation (of a sample, as in verl), for every step alike (GRPO, 2402.03300). */
export const grpo: Estimator = (group, options) =>
  spread(
    group,
    relative(
      group.map(({ rewards }) => sum(rewards)),
      options.normalise,
    ),
  );

/** Return minus the mean of the others' (RLOO, 2402.14740). A group of one has nothing to be compared with. */
export const rloo: Estimator = (group) => {
  const returns = group.map(({ rewards }) => sum(rewards));
  const total = sum(returns);
  const others = group.length - 1;
  return spread(
    group,
    returns.map((own) => (others === 0 ? 0 : own - (total - own) / others)),
  );
};

/**
 * GRPO's advantage of the episode, and that of the step: its discounted return relative to those of all steps of the group that
 * were chosen in the same state (GiGPO, 2505.10978, eq. 6 to 8).
 */
export const gigpo: Estimator = (group, options) => {
  const episodes = grpo(group, options);
  const returns = group.map(({ rewards }) => discounted(rewards, options.gamma));
  const steps = returns.map((values) => values.map(() => 0));
  for (const places of anchors(group).values()) {
    const found = relative(
      places.map(([e, t]) => returns[e][t]),
      options.normalise,
    );
    places.forEach(([e, t], i) => {
      steps[e][t] = found[i];
    });
  }
  return episodes.map((values, e) => values.map((value, t) => value + options.stepWeight * steps[e][t]));
};

/**
 * Generalised advantages of a critic's values (PPO, 1707.06347; GAE, 1506.02438), whatever the rest of the group did. An episode cut
 * short by its clock counts as ended there: nothing comes after it.
 */
export const ppo: Estimator = (group, { gamma, gaeLambda = 1 }) =>
  group.map(({ rewards, values = rewards.map(() => 0) }) => {
    const advantages: number[] = [];
    let carried = 0;
    for (let t = rewards.length - 1; t >= 0; t--) {
      const next = t + 1 < rewards.length ? values[t + 1] : 0;
      carried = rewards[t] + gamma * next - values[t] + gamma * gaeLambda * carried;
      advantages[t] = carried;
    }
    return advantages;
  });

/** Steps, as [episode, step], by the state they were chosen in. */
function anchors(group: readonly GroupEpisode[]): Map<string, [number, number][]> {
  const found = new Map<string, [number, number][]>();
  group.forEach(({ states }, e) => {
    states.forEach((state, t) => {
      const list = found.get(state);
      if (list === undefined) found.set(state, [[e, t]]);
      else list.push([e, t]);
    });
  });
  return found;
}

function discounted(rewards: readonly number[], gamma: number): number[] {
  const returns = [...rewards];
  for (let t = returns.length - 2; t >= 0; t--) returns[t] += gamma * returns[t + 1];
  return returns;
}

/** Values minus their mean, over their sample's standard deviation; all 0 where there is one value, or all are equal. */
function relative(values: readonly number[], normalise: boolean): number[] {
  if (values.every((value) => value === values[0])) return values.map(() => 0);
  const mean = sum(values) / values.length;
  const centred = values.map((value) => value - mean);
  if (!normalise) return centred;
  const deviation = Math.sqrt(sum(centred.map((value) => value * value)) / (values.length - 1));
  return centred.map((value) => value / (deviation + EPSILON));
}

function spread(group: readonly GroupEpisode[], values: readonly number[]): number[][] {
  return group.map(({ rewards }, e) => rewards.map(() => values[e]));
}
