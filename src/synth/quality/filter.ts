// What a filter of episodes is: it keeps a record, mends it, or says why it must go. Mending comes first, then dropping the
// end of a conversation, and only then dropping all of it: one bad call is no reason to lose what was learnt before it.

import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../env/tools/message.js';
import type { EpisodeRecord, EpisodeStep } from '../../replay/experience/experience.js';
import type { DiversityReport } from './diversity.js';

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
  judge(record: EpisodeRecord, context: QualityContext): Judgement;
}

export const KEEP: Judgement = { keep: true };

export function drop(reason: string, faults?: readonly Fault[]): Judgement {
  return { keep: false, reason, ...(faults && { faults }) };
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
  /** In the order in which they were applied: first what episodes mark as not to be learnt (`recipe`), last what is not imitated. */
  readonly filters: readonly FilterReport[];
  readonly splits: Readonly<Record<'train' | 'validation' | 'test', number>>;
  readonly diversity: DiversityReport;
}

/** What one filter did, over episodes in the order of their rows. */
export class FilterTally {
  private readonly counts = { in: 0, out: 0, turnsIn: 0, turnsOut: 0 };
  private readonly repaired = new Map<string, number>();
  readonly dropped = new Map<string, number>();

  constructor(private readonly name: string) {}

  /** @param turnsOut undefined: the episode was dropped */
  add(turnsIn: number, turnsOut: number | undefined, reason?: string): void {
    this.counts.in++;
    this.counts.turnsIn += turnsIn;
    this.counts.turnsOut += turnsOut ?? 0;
    if (turnsOut !== undefined) this.counts.out++;
    if (reason === undefined) return;
    const reasons = turnsOut === undefined ? this.dropped : this.repaired;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }

  report(): FilterReport {
    return { name: this.name, ...this.counts, repaired: sorted(this.repaired), dropped: sorted(this.dropped) };
  }
}

export function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The messages of the agent, with their places. */
export function agentTurns(record: EpisodeRecord): { readonly index: number; readonly message: AssistantMessage }[] {
  return record.messages.flatMap((message, index) => (message.role === 'assistant' ? [{ index, message }] : []));
}

export function isMasked(record: EpisodeRecord, index: number): boolean {
  return record.masked?.includes(index) ?? false;
}

/** The tool message that answers a call; ids are unique within an episode. */
export function answerOf(record: EpisodeRecord, call: ToolCall): ToolMessage | undefined {
  return record.messages.find((message) => message.role === 'tool' && message.toolCallId === call.id) as
    | ToolMessage
    | undefined;
}

/** The episode up to message `index` (exclusive), cut off there: not judged, not ended. */
export function cutBefore(record: EpisodeRecord, index: number): EpisodeRecord {
  const { lostStep, lostBy, ...kept } = record;
  const steps = record.steps.filter((step) => step.message < index);
  const isThere = lostStep !== undefined && lostStep < steps.length;
  return {
    ...kept,
    messages: record.messages.slice(0, index),
    steps,
    ...(isThere && { lostStep, ...(lostBy !== undefined && { lostBy }) }),
    ...(record.masked && { masked: record.masked.filter((at) => at < index) }),
    verdict: { reward: null, checks: [] },
    return: null,
    terminated: false,
    truncated: true,
  };
}

/**
 * `cutBefore` as a judgement: refused where nothing of the agent would be left to learn from.
 * @param others turns before it that are kept from learning
 */
export function cutOrDrop(
  record: EpisodeRecord,
  index: number,
  { kind, because }: Omit<Fault, 'message'>,
  others: readonly Fault[] = [],
): Judgement {
  const cut = cutBefore(record, index);
  const isLeft = agentTurns(cut).some((turn) => !isMasked(cut, turn.index));
  const faults = [...others, { message: index, kind, because }];
  return isLeft ? { repaired: cut, note: `cut before ${kind}`, faults } : drop(`begins with ${kind}`, faults);
}

/** The episode with these messages of the agent kept from learning. */
export function withMasked(record: EpisodeRecord, indices: readonly number[]): EpisodeRecord {
  const masked = [...new Set([...(record.masked ?? []), ...indices])].sort((a, b) => a - b);
  return { ...record, masked };
}

/** The episode without some messages; those that stay keep their order, and what points at them follows. */
export function withoutMessages(record: EpisodeRecord, gone: ReadonlySet<number>): EpisodeRecord {
  const places = new Map<number, number>();
  const messages = record.messages.filter((_, index) => {
    if (gone.has(index)) return false;
    places.set(index, places.size);
    return true;
  });
  const steps = record.steps.flatMap((step): EpisodeStep[] => {
    const message = places.get(step.message);
    return message === undefined ? [] : [{ ...step, message }];
  });
  const masked = record.masked?.flatMap((index) => places.get(index) ?? []);
  const { lostStep, ...kept } = record;
  const lost = lostStep === undefined ? undefined : placeOfStep(record, lostStep, places);
  const found = { ...(masked && { masked }), ...(lost !== undefined && { lostStep: lost }) };
  return { ...kept, messages, steps, ...found };
}

/** Where a step is once only messages of these places are left; undefined if it went with the others. */
function placeOfStep({ steps }: EpisodeRecord, step: number, places: ReadonlyMap<number, number>): number | undefined {
  const isThere = ({ message }: EpisodeStep) => places.has(message);
  const isGone = step < steps.length && !isThere(steps[step]);
  return isGone ? undefined : steps.slice(0, step).filter(isThere).length;
}

/** The episode with calls replaced, by id, in its messages and steps. */
export function withCalls(record: EpisodeRecord, calls: ReadonlyMap<string, ToolCall>): EpisodeRecord {
  const replaced = <T extends { readonly toolCalls?: readonly ToolCall[] }>(turn: T): T =>
    turn.toolCalls?.some((call) => calls.has(call.id))
      ? { ...turn, toolCalls: turn.toolCalls.map((call) => calls.get(call.id) ?? call) }
      : turn;
  const messages = record.messages.map(
    (message): Message => (message.role === 'assistant' ? replaced(message) : message),
  );
  const steps = record.steps.map((step) => ({ ...step, action: replaced(step.action) }));
  return { ...record, messages, steps };
}
