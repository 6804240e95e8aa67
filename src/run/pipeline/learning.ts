// What differs between ways of learning, as a training run sees it: who acts, and what a round is learned from.
// off-policy.ts learns from the replay buffers, on-policy.ts from what the policy of the moment has just lived.

import type { Collected } from '../../algorithms/index.js';
import type { Rng } from '../../core/rng.js';
import type { Policy } from '../../env/index.js';
import type { ReplayBuffer, Selector, Source } from '../../replay/index.js';
import type { JobContext } from '../job.js';
import type { Dreamer } from './dreamer.js';

/** What a run has done so far. */
export interface Counters {
  round: number;
  realSteps: number;
  syntheticSteps: number;
  /** Gradient steps. */
  updates: number;
}

/** What a way of learning sees of the run it is part of. */
export interface RunView {
  readonly context: JobContext;
  readonly counters: Counters;
  readonly buffers: { readonly real: ReplayBuffer; readonly synthetic: ReplayBuffer };
  /** Writes an event to the metrics journal. */
  tell(kind: string, values: Record<string, unknown>): void;
}

/** Keeps nothing between rounds but the learner and the selectors, so that a checkpoint of these is all of it. */
export interface Learning {
  /** Whether a learner that knows nothing lives its first steps at random. */
  readonly startsAtRandom: boolean;
  /** How rows are chosen, by the buffer they are chosen from. */
  readonly selectors: Readonly<Partial<Record<Source, Selector>>>;
  /** Who acts in the real environment for a round. */
  actor(): Policy;
  /** Real mode: learns, after `actor()` lived `lived` and it was put into the real buffer. */
  learnFromReal(lived: Collected, rng: Rng): Promise<void>;
  /** Dream mode: lets `dreamer` dream from the real buffer into the synthetic one, and learns. */
  learnInDream(dreamer: Dreamer, rng: Rng): Promise<void>;
}

/** The i-th of `parts` shares of `total`, whole numbers that add up. */
export function share(total: number, i: number, parts: number): number {
  return Math.floor(((i + 1) * total) / parts) - Math.floor((i * total) / parts);
}
