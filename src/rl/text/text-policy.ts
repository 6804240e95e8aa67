// What every policy of text offers, whatever network it is: it is told how an episode has gone and which commands would do
// something, chooses one with its log-probability, and learns from choices. Loops of training know no more of it.

import type { JsonObject } from '../../core/canonical-json.js';

/** One turn of an episode: the command that was said, and the text that followed. */
export interface TextTurn {
  readonly said: string;
  readonly seen: string;
}

/** All that a choice may be made by. */
export interface TextSituation {
  /** What is to be done, as the agent was told it. */
  readonly goal: string;
  /** What was seen last. */
  readonly text: string;
  /** What was seen before the first turn, where that is known. */
  readonly opening?: string;
  /** The episode until now, oldest first; `text` is what the last of them was answered with. */
  readonly turns: readonly TextTurn[];
  /** The commands to choose from: at least one. */
  readonly admissible: readonly string[];
  /** Each of them in words, where they are written in ids that mean nothing of themselves; absent: as they are written. */
  readonly readings?: readonly string[];
  /** What is seen as data, where the world has more than a text of it: of a screen, its tree (`ScreenView`). */
  readonly shown?: JsonObject;
}

export interface TextDecision {
  /** Index into `admissible`. */
  readonly choice: number;
  /** Log-probability of the choice under the policy, in nats; of a mode, too. */
  readonly logProb: number;
  /** Entropy of all that could have been chosen, in nats. */
  readonly entropy: number;
  /** Discounted rewards still to come, as a critic expects them before the choice; absent without a critic. */
  readonly value?: number;
}

export interface TextPolicy {
  /** Changes with the weights. */
  readonly version: string;
  /**
   * A choice for each situation, in order.
   * @param draws  a number in (0, 1) for each situation, by which its choice is drawn; the most probable command unless given
   * @throws DOMAIN_UNFIT
   */
  decide(situations: readonly TextSituation[], draws?: readonly number[]): Promise<TextDecision[]>;
}

export interface TextChoice {
  readonly situation: TextSituation;
  /** Index into its `admissible`. */
  readonly choice: number;
}

/** One choice to learn from. */
export interface TextLesson extends TextChoice {
  /** Log-probability under the policy that made the choice. Absent: somebody else's, to be imitated. */
  readonly logProb?: number;
  /** How much better than others it was; counts only beside `logProb`. */
  readonly advantage?: number;
  /** How much it counts beside others; 1 unless given. */
  readonly weight?: number;
  /** What a critic should have expected; counts only beside `logProb`. Absent: nothing for it to learn. */
  readonly target?: number;
}

/** The step of the policy gradient, alike for all estimators of advantages. */
export interface TextObjective {
  /** The ratio of probabilities counts down to 1 - this (PPO, 1707.06347). */
  readonly clipLow: number;
  /** ... and up to 1 + this: higher than `clipLow` keeps rare choices growing (clip-higher; DAPO, 2503.14476). */
  readonly clipHigh: number;
  /** Weight of KL(policy || reference), by the estimator k3. */
  readonly klCoefficient: number;
  /** Weight of the entropy that is rewarded. */
  readonly entropyCoefficient: number;
  /** Weight of a critic's squared error, halved; 0 or absent: there need be no critic. */
  readonly valueCoefficient?: number;
}

export interface TextUpdateOptions {
  /** Step size of Adam. */
  readonly lr: number;
  /** Order in which the lessons are taken; all of them in theirs unless given. */
  readonly order?: ArrayLike<number>;
}

/** Means over the lessons of an update, each taken before its own gradient step. */
export interface TextUpdateMetrics {
  readonly loss: number;
  readonly entropy: number;
  /** KL from the policy that chose to that of the moment (k3); 0 in the first gradient step after a rollout of the moment's policy. */
  readonly kl: number;
  /** Share of the lessons whose ratio was clipped. */
  readonly clipFraction: number;
  /** Mean squared error of a critic; absent without one. */
  readonly valueError?: number;
  readonly gradientSteps: number;
}

/** Exact state of a learner: JSON-safe `meta` and named float32 arrays (copies). */
export interface TextLearnerState {
  readonly meta: { readonly network: string; readonly settings: unknown; readonly gradientSteps: number };
  readonly arrays: Readonly<Record<string, Float32Array>>;
}

export interface TextLearner {
  /** Its name among the networks (networks.ts). */
  readonly network: string;
  readonly parameters: number;
  readonly gradientSteps: number;
  /** Acts with the weights of the moment. */
  readonly policy: TextPolicy;
  /** The weights of the moment. Not to be written to: an update puts others in their place, and leaves these as they are. */
  readonly weights: Float32Array;
  /** Acts with weights that this learner had, whatever it learns meanwhile and later. */
  policyOf(weights: Float32Array): TextPolicy;
  /** Log-probability of each choice under the weights of the moment, in nats, to the byte what their policy says of it. */
  logProbs(choices: readonly TextChoice[]): Promise<number[]>;
  /** One pass over the lessons. @throws NON_FINITE_VALUE, and the learner is as it was before */
  update(lessons: readonly TextLesson[], options: TextUpdateOptions): Promise<TextUpdateMetrics>;
  /** The weights of now become the reference of the KL penalty. Before the first call those it began with are. */
  anchor(): void;
  state(): TextLearnerState;
  /** Goes on from `state`. @throws CHECKPOINT_CORRUPT if it does not fit, and the learner is as it was before */
  restore(state: TextLearnerState): void;
  close(): Promise<void>;
}

/**
 * The index that `draw` in (0, 1) falls on among log-probabilities `from`, `from` + `count` - 1 of `logProbs`; the most probable
 * without. Sums in double precision, in order.
 */
export function chooseBy(logProbs: Float32Array, from: number, count: number, draw: number | undefined): number {
  let best = 0;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    if (logProbs[from + i] > logProbs[from + best]) best = i;
    sum += Math.exp(logProbs[from + i]);
  }
  if (draw === undefined) return best;
  let left = draw * sum;
  for (let i = 0; i < count; i++) {
    left -= Math.exp(logProbs[from + i]);
    if (left < 0) return i;
  }
  return best;
}
