// What the ranking of policies is measured on: the same policies, in the same episodes, for real and in the dream.

export type World = 'real' | 'dream';

/** What an episode came to. Plain JSON. */
export type EpisodeReturn = {
  /** Undiscounted sum of rewards. */
  readonly return: number;
  /** Steps lived. */
  readonly length: number;
  /** Sum of rewards discounted by the source's `gamma` a step. */
  readonly discounted: number;
  /** Largest absolute reward of a step. */
  readonly largestReward: number;
};

export interface RankSource {
  /** Names, each once. */
  readonly policies: readonly string[];
  /** Of each policy: episode i begins in the same state, with the same noise of the actions, in both worlds and for all policies. */
  readonly episodes: number;
  /** Discount of `EpisodeReturn.discounted`, in [0, 1). */
  readonly gamma: number;
  /**
   * What policy number `policy` comes to in each of `episodes`. null: the episode could not be judged, or the dream broke off.
   * A function of its arguments alone.
   */
  returnsOf(
    world: World,
    policy: number,
    episodes: readonly number[],
    signal?: AbortSignal,
  ): Promise<readonly (EpisodeReturn | null)[]>;
}

/** One episode of one policy. */
export type RankRow = {
  readonly policy: number;
  readonly episode: number;
  readonly real: EpisodeReturn | null;
  readonly dreamt: EpisodeReturn | null;
};

export interface RankOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** Episodes of a chunk, which a source may live side by side. */
  readonly chunkEpisodes?: number;
  /** What a reader must know of how both worlds were lived in. */
  readonly notes?: readonly string[];
}
