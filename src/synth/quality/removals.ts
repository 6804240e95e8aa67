// What each filter takes from what is learnt: episodes and turns of the agent before and after it, by kind, and the first few of
// each kind to look at.

import type { Message } from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import type { Fault, Judgement } from './filter.js';
import { agentTurns, isMasked } from './repairs.js';
import type { FilterReport, Passage, Removal, RemovedExample } from './report.js';

/** Examples kept of each kind. */
const MOST_EXAMPLES = 10;
/** Characters of a message that an example shows. */
const LONGEST_MESSAGE = 1_500;
/** Messages shown before the turn in question. */
const MESSAGES_BEFORE = 2;

export function passageOf(record: EpisodeRecord, judgement: Judgement): Passage {
  const turnsIn = learntTurns(record);
  if ('keep' in judgement && judgement.keep) return { note: null, turnsIn, turnsOut: turnsIn, removed: [] };
  const mended = 'repaired' in judgement ? judgement.repaired : undefined;
  const turnsOut = mended === undefined ? 0 : learntTurns(mended);
  const why = 'repaired' in judgement ? judgement.note : judgement.reason;
  const faults = judgement.faults?.length ? judgement.faults : [unexplained(record, mended, why)];
  const isLess = mended === undefined || turnsOut < turnsIn;
  const removed = isLess ? removals(record, faults, turnsIn - turnsOut) : [];
  const counts = { turnsIn, turnsOut, removed };
  return mended === undefined ? { note: null, dropped: why, ...counts } : { note: why, ...counts };
}

/** Each fault stands for a turn; what else went (the rest of a conversation that was cut) is the last one's. */
function removals(record: EpisodeRecord, faults: readonly Fault[], turns: number): Removal[] {
  const byKind = new Map<string, { turns: number; readonly first: Fault }>();
  for (const fault of faults) {
    const known = byKind.get(fault.kind) ?? { turns: 0, first: fault };
    known.turns++;
    byKind.set(fault.kind, known);
  }
  const last = byKind.get(faults.at(-1)!.kind)!;
  last.turns = Math.max(0, last.turns + turns - faults.length);
  return [...byKind].map(([kind, { turns, first }]) => ({ kind, turns, example: exampleOf(record, first) }));
}

/** What a filter does not explain: the first turn that is no longer there, or the last one. */
function unexplained(record: EpisodeRecord, mended: EpisodeRecord | undefined, kind: string): Fault {
  const left = new Set(mended?.messages);
  const turns = agentTurns(record);
  const first = mended === undefined ? turns.at(-1) : turns.find(({ message }) => !left.has(message));
  return { message: first?.index ?? turns.at(-1)?.index ?? 0, kind, because: kind };
}

function learntTurns(record: EpisodeRecord): number {
  return agentTurns(record).filter(({ index }) => !isMasked(record, index)).length;
}

/** What an episode was not given to be learnt in the first place: mistakes made on purpose, turns that were cut off. */
export function recipePassage(record: EpisodeRecord): Passage {
  const turnsIn = agentTurns(record).length;
  const masked = record.masked ?? [];
  const cut = new Set(record.steps.filter((step) => step.cut === true).map(({ message }) => message));
  const faults = masked.map((message) =>
    cut.has(message)
      ? {
          message,
          kind: 'a turn that was cut off',
          because: 'its reply ended at the most tokens it may have (maxTokens)',
        }
      : { message, kind: 'a mistake made on purpose', because: answerAfter(record, message) },
  );
  const removed = faults.length === 0 ? [] : removals(record, faults, masked.length);
  return { note: null, turnsIn, turnsOut: turnsIn - masked.length, removed };
}

function answerAfter({ messages }: EpisodeRecord, message: number): string {
  const next = messages[message + 1];
  return next?.role === 'tool' ? next.content : 'it was made to be put right';
}

/** @param why it is not to be imitated; undefined where it is */
export function imitationPassage(record: EpisodeRecord, why: string | undefined): Passage {
  const turnsIn = learntTurns(record);
  if (why === undefined) return { note: null, turnsIn, turnsOut: turnsIn, removed: [] };
  const { lostStep, steps, verdict } = record;
  const lost = lostStep === undefined ? undefined : steps[lostStep]?.message;
  const failed = verdict.checks.filter(({ passed }) => passed !== true);
  const reasons = failed.map(
    ({ name, passed, reason }) => `${name} ${passed === null ? 'is open' : 'failed'}: ${reason}`,
  );
  const step = lost === undefined ? [] : ['the episode was lost here'];
  const because = [...step, ...reasons].join('; ') || 'nothing was checked';
  const message = lost ?? agentTurns(record).at(-1)?.index ?? 0;
  const removed = removals(record, [{ message, kind: why, because }], turnsIn);
  return { note: null, dropped: why, turnsIn, turnsOut: 0, removed };
}

/** The user's wish, what came just before the turn, the turn, and what its calls were answered. */
function exampleOf(record: EpisodeRecord, { message, kind, because }: Fault): RemovedExample {
  const { messages, id, row, task } = record;
  const answers = messages.slice(message + 1).findIndex(({ role }) => role !== 'tool');
  const end = answers < 0 ? messages.length : message + 1 + answers;
  const wish = messages.slice(0, message).findIndex(({ role }) => role === 'user');
  const from = Math.max(wish + 1, message - MESSAGES_BEFORE, 0);
  const places = [...(wish >= 0 && wish < from ? [wish] : []), ...range(from, end)];
  const shown = places.filter((place) => messages[place].role !== 'system');
  return {
    ...{ kind, episode: id, row, task, because: shortened(because) },
    messages: shown.map((place) => shortMessage(messages[place])),
    turn: shown.indexOf(message),
    omitted: wish >= 0 && wish < from ? from - wish - 1 : 0,
  };
}

function range(from: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, i) => from + i);
}

function shortMessage(message: Message): Message {
  return message.content === null ? message : { ...message, content: shortened(message.content) };
}

function shortened(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)} …` : text;
}

/** Counts of one filter, over episodes in the order of their rows. */
export class StageTally {
  private in = 0;
  private out = 0;
  private turnsIn = 0;
  private turnsOut = 0;
  private readonly repaired = new Map<string, number>();
  private readonly removed = new Map<string, { episodes: number; turns: number; examples: RemovedExample[] }>();
  /** Reasons to episodes. */
  readonly dropped = new Map<string, number>();

  constructor(private readonly name: string) {}

  add({ note, dropped, turnsIn, turnsOut, removed }: Passage): void {
    this.in++;
    this.turnsIn += turnsIn;
    this.turnsOut += turnsOut;
    if (note !== null) count(this.repaired, note);
    if (dropped === undefined) this.out++;
    else count(this.dropped, dropped);
    for (const { kind, turns, example } of removed) {
      const known = this.removed.get(kind) ?? { episodes: 0, turns: 0, examples: [] };
      known.episodes++;
      known.turns += turns;
      if (known.examples.length < MOST_EXAMPLES) known.examples.push(example);
      this.removed.set(kind, known);
    }
  }

  report(): FilterReport {
    const { name, in: before, out, turnsIn, turnsOut } = this;
    const [repaired, dropped, removed] = [sorted(this.repaired), sorted(this.dropped), sorted(this.removed)];
    return { name, in: before, out, turnsIn, turnsOut, repaired, dropped, removed };
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function sorted<T>(counts: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
