// What loops of training know of a policy of text: it is given how an episode has gone and which commands would do something, chooses one
// with its log-probability, and learns from choices.

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
  /** The episode until now, oldest first; `text` is what the last of them was answered with. */
  readonly turns: readonly TextTurn[];
  /** The commands to choose from: at least one. */
  readonly admissible: readonly string[];
  /** Each of them in words, where they are written in ids that mean nothing of themselves; absent: as they are written. */
  readonly readings?: readonly string[];
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

/** One choice to learn from. */
export interface TextLesson {
  readonly situation: TextSituation;
  /** Index into its `admissible`. */
  readonly choice: number;
  /** Log-probability under the policy that made the choice. Absent: somebody else's, to be imitated. */
  readonly logProb?: number;
  /** How much better than others it was; counts only beside `logProb`. */
  readonly advantage?: number;
  /** How much it counts beside others; 1 unless given. */
  readonly weight?: number;
  /** What a critic should have expected; counts only beside `logProb`. Absent: nothing for it to learn. */
  readonly target?: number;
}
