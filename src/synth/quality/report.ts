// What became of a dataset's rows: counts in and out of each filter, with reasons and examples, and how diverse the rest is.

import type { Message } from '../../env/index.js';
import type { DiversityReport } from './diversity.js';

export interface FilterReport {
  readonly name: string;
  /** Episodes before and after it. */
  readonly in: number;
  readonly out: number;
  /** Turns of the agent that are to be learnt, before and after it. */
  readonly turnsIn: number;
  readonly turnsOut: number;
  /** Note of the repair to number of episodes. */
  readonly repaired: Readonly<Record<string, number>>;
  /** Reason to number of episodes. */
  readonly dropped: Readonly<Record<string, number>>;
  /** Kind of what is no longer learnt. */
  readonly removed: Readonly<Record<string, RemovedKind>>;
}

export interface RemovedKind {
  /** That lost something of this kind. */
  readonly episodes: number;
  /** That went. */
  readonly turns: number;
  /** The first of them, one an episode. */
  readonly examples: readonly RemovedExample[];
}

/** Something that is no longer learnt, to look at. */
export interface RemovedExample {
  readonly kind: string;
  readonly episode: string;
  readonly row: number;
  readonly task: string;
  /** What the state, the tools or the rules say to it. */
  readonly because: string;
  /** Messages around it, the user's first before them. */
  readonly messages: readonly Message[];
  /** Place in `messages` of the turn that is at fault. */
  readonly turn: number;
  /** Messages left out after the user's first. */
  readonly omitted: number;
}

/** What one filter took from one episode; structured-clonable. */
export interface Removal {
  readonly kind: string;
  /** Turns that were learnt before it, and are not after it. */
  readonly turns: number;
  readonly example: RemovedExample;
}

/** One episode on its way through one filter; structured-clonable. */
export interface Passage {
  /** How it was mended; null where it was not. */
  readonly note: string | null;
  /** Why it was dropped; absent: it was not. */
  readonly dropped?: string;
  /** Turns of the agent that are learnt, before and after. */
  readonly turnsIn: number;
  readonly turnsOut: number;
  readonly removed: readonly Removal[];
}

export interface DatasetReport {
  readonly in: number;
  readonly out: number;
  /** Of these, episodes good enough to be imitated. */
  readonly imitated: number;
  /** In the order in which they were applied. */
  readonly filters: readonly FilterReport[];
  /** What the recipe of the episodes marked as not to be learnt, before any filter. */
  readonly recipe: FilterReport;
  /** What is not written to be imitated, after all filters. */
  readonly imitation: FilterReport;
  readonly splits: Readonly<Record<'train' | 'validation' | 'test', number>>;
  readonly diversity: DiversityReport;
}

/** All that stands between what was lived and what is imitated, in order. */
export function stagesOf({ recipe, filters, imitation }: DatasetReport): readonly FilterReport[] {
  return [recipe, ...filters, imitation];
}
