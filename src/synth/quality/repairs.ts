// Ways to mend an episode without touching what is right in it. What a verdict was made from must stay whole: an episode
// that lost its end has no verdict any more.

import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../env/index.js';
import type { EpisodeRecord, EpisodeStep } from '../../replay/index.js';
import { drop, type Fault, type Judgement } from './filter.js';

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
