// What a filter of episodes is: it keeps a record, mends it, or says why it must go. Mending comes first, then dropping the
// end of a conversation, and only then dropping all of it: one bad call is no reason to lose what was learnt before it.

import type { ToolsDomain, ToolsTask } from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import type { Passage } from './report.js';

/** What exact rules have against an episode, and from which message on; null: nothing. */
export type ExactJudgement = { readonly fault: string; readonly because: string; readonly message?: number } | null;

export interface QualityContext {
  readonly domain: ToolsDomain;
  /** The task of that id, where it is known. */
  readonly taskOf: (id: string) => ToolsTask | undefined;
}

/** Why a turn of the agent is not to be learnt, or all turns from it on. */
export interface Fault {
  /** Its message, in the record that the filter was given. */
  readonly message: number;
  /** Counted by its text, so it names no value. */
  readonly kind: string;
  /** What the state, the tools or the rules say to it, with values. */
  readonly because: string;
}

/** Reasons and notes are counted by their text, so they name a kind of fault and never a value. `faults`: what to show of it. */
export type Judgement =
  | { readonly keep: true }
  | { readonly keep: false; readonly reason: string; readonly faults?: readonly Fault[] }
  | { readonly repaired: EpisodeRecord; readonly note: string; readonly faults?: readonly Fault[] };

export interface Filter {
  readonly name: string;
  /** Records come in the order of their rows: filters that remember earlier ones depend on it. */
  judge(record: EpisodeRecord, context: QualityContext, likeness?: Likeness): Judgement;
  /** Of a filter that remembers earlier records: what it holds a record against them by. Absent: it judges each alone. */
  liken?(record: EpisodeRecord): Likeness;
}

/** Made of a record alone, and structured-clonable, so that any thread can make it. */
export interface Likeness {
  readonly sketch: Float64Array;
  readonly keys: readonly number[];
}

/** What filters that judge each record alone found of one, structured-clonable. */
export interface Forejudged {
  /** Through each filter in turn, up to the one that dropped it. */
  readonly passages: readonly Passage[];
  /** The record as they mended it; absent where nothing was to be mended, or it was dropped. */
  readonly mended?: EpisodeRecord;
  /** What the first filter that remembers holds it against others by. */
  readonly likeness?: Likeness;
}

export const KEEP: Judgement = { keep: true };

export function drop(reason: string, faults?: readonly Fault[]): Judgement {
  return { keep: false, reason, ...(faults && { faults }) };
}
