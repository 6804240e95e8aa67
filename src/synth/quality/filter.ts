// What a filter of episodes is: it keeps a record, mends it, or says why it must go. Mending comes first, then dropping the
// end of a conversation, and only then dropping all of it: one bad call is no reason to lose what was learnt before it.

import type { ToolsDomain, ToolsTask } from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';

/** What exact rules have against an episode, and from which message on; null: nothing. */
export type ExactJudgement = { readonly fault: string; readonly message?: number } | null;

export interface QualityContext {
  readonly domain: ToolsDomain;
  /** The task of that id, where it is known. */
  readonly taskOf: (id: string) => ToolsTask | undefined;
}

/** Reasons and notes are counted by their text, so they name a kind of fault and never a value. */
export type Judgement =
  | { readonly keep: true }
  | { readonly keep: false; readonly reason: string }
  | { readonly repaired: EpisodeRecord; readonly note: string };

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
  /** Of each filter in turn that let the record pass: how it mended it, or null where it kept it as it was. */
  readonly notes: readonly (string | null)[];
  /** Why the filter after these dropped it; absent: none did. */
  readonly dropped?: string;
  /** The record as they mended it; absent where nothing was to be mended, or it was dropped. */
  readonly mended?: EpisodeRecord;
  /** What the first filter that remembers holds it against others by. */
  readonly likeness?: Likeness;
}

export const KEEP: Judgement = { keep: true };

export function drop(reason: string): Judgement {
  return { keep: false, reason };
}
