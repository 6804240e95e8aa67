// What is kept of one dream.

/** One drawn transition of a dream: observation, action, change of the observation; null where the dream was lost before. */
export type DistributionRow = { readonly transition: readonly number[] | null };
