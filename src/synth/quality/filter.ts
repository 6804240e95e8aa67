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
  /** What exact rules were found to have against a record, where that was looked at before; undefined: it was not. */
  readonly exact?: (record: EpisodeRecord) => ExactJudgement | undefined;
}

/** Reasons and notes are counted by their text, so they name a kind of fault and never a value. */
export type Judgement =
  | { readonly keep: true }
  | { readonly keep: false; readonly reason: string }
  | { readonly repaired: EpisodeRecord; readonly note: string };

export interface Filter {
  readonly name: string;
  /** Records come in the order of their rows: filters that remember earlier ones depend on it. */
  judge(record: EpisodeRecord, context: QualityContext): Judgement;
}

export const KEEP: Judgement = { keep: true };

export function drop(reason: string): Judgement {
  return { keep: false, reason };
}
