// What a filter of episodes is: it keeps a record, repairs it, or says why it must go. Repairing comes first, then dropping the
// end of a conversation, and only then dropping all of it: one bad call is no reason to lose what was learnt before it.

import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { AssistantMessage, ToolCall, ToolMessage } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';

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
  judge(record: EpisodeRecord, context: QualityContext): Judgement;
}

export const KEEP: Judgement = { keep: true };

export function drop(reason: string): Judgement {
  return { keep: false, reason };
}

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
}

export interface DatasetReport {
  readonly in: number;
  readonly out: number;
  /** Of these, episodes good enough to be imitated. */
  readonly imitated: number;
  /** In the order in which they were applied: first turns that were cut off (`cut-off`), last what is not imitated. */
  readonly filters: readonly FilterReport[];
  readonly splits: Readonly<Record<'train' | 'validation' | 'test', number>>;
}

/** The messages of the agent, with their places. */
export function agentTurns(record: EpisodeRecord): { readonly index: number; readonly message: AssistantMessage }[] {
  return record.messages.flatMap((message, index) => (message.role === 'assistant' ? [{ index, message }] : []));
}

/** Turns of the agent that are to be learnt. */
export function learntTurns(record: EpisodeRecord): number {
  return agentTurns(record).filter(({ index }) => !isMasked(record, index)).length;
}

export function isMasked(record: EpisodeRecord, index: number): boolean {
  return record.masked?.includes(index) ?? false;
}

/** The tool message that answers a call; ids are unique within an episode. */
export function answerOf(record: EpisodeRecord, call: ToolCall): ToolMessage | undefined {
  return record.messages.find(
    (message): message is ToolMessage => message.role === 'tool' && message.toolCallId === call.id,
  );
}

/** The episode up to message `index` (exclusive): it has not ended, and the outcome does not belong to it. */
function cutBefore(record: EpisodeRecord, index: number, kind: string): EpisodeRecord {
  const { lostStep, lostBy, ...kept } = record;
  const steps = record.steps.filter((step) => step.message < index);
  const isThere = lostStep !== undefined && lostStep < steps.length;
  return {
    ...kept,
    messages: record.messages.slice(0, index),
    steps,
    ...(isThere && { lostStep, ...(lostBy !== undefined && { lostBy }) }),
    ...(record.masked && { masked: record.masked.filter((at) => at < index) }),
    verdict: { reward: null, checks: [{ name: 'reward', passed: null, reason: `the episode was cut before ${kind}` }] },
    outcome: { ...record.outcome, cause: `the episode was cut before ${kind}` },
    return: null,
    terminated: false,
    truncated: true,
  };
}

/** `cutBefore` as a judgement: refused where nothing of the agent would be left to learn from. */
export function cutOrDrop(record: EpisodeRecord, index: number, kind: string): Judgement {
  const cut = cutBefore(record, index, kind);
  return learntTurns(cut) > 0 ? { repaired: cut, note: `cut before ${kind}` } : drop(`begins with ${kind}`);
}

/** The episode with these messages of the agent kept from learning. */
export function withMasked(record: EpisodeRecord, indices: readonly number[]): EpisodeRecord {
  if (indices.length === 0) return record;
  const masked = [...new Set([...(record.masked ?? []), ...indices])].sort((a, b) => a - b);
  return { ...record, masked };
}
