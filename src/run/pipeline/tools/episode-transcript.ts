// One episode as lines to read: what was said, which calls were made, who answered them, and what was found at the end.

import type { TranscriptLine } from '../../../core/report.js';
import type { Message } from '../../../env/tools/message.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';

const LONGEST = 1_500;

export interface EpisodeTranscript {
  readonly title: string;
  readonly lines: readonly TranscriptLine[];
}

export function episodeTranscript(record: EpisodeRecord, outcome: string): EpisodeTranscript {
  const answers = answersOf(record);
  const { lostStep, steps } = record;
  const lost = lostStep === undefined ? undefined : steps[lostStep]?.message;
  const lines = record.messages.flatMap((message, at) => {
    const told = message.role === 'system' ? [] : linesOf(message, answers);
    return at === lost ? told.map((line) => ({ ...line, note: 'the step that lost it' })) : told;
  });
  const checks = record.verdict.checks.map(({ name, passed, reason }) => `${mark(passed)} ${name}: ${reason}`);
  const verdict: TranscriptLine = {
    role: 'verdict',
    text: checks.join('\n') || 'nothing was checked',
    note: `reward ${record.return ?? 'none'}`,
  };
  return {
    title: [record.task, outcome, `${steps.length} turns`, `row ${record.row}`].join(' · '),
    lines: [...lines, verdict],
  };
}

/** Who answered each call, by its id. */
function answersOf({ steps, messages }: EpisodeRecord): Map<string, Prediction> {
  const answers = new Map<string, Prediction>();
  for (const { message, predictions } of steps) {
    const turn = messages[message];
    const calls = turn?.role === 'assistant' ? (turn.toolCalls ?? []) : [];
    for (const [i, { id }] of calls.entries()) if (predictions[i] !== undefined) answers.set(id, predictions[i]);
  }
  return answers;
}

export function linesOf(message: Message, answers: ReadonlyMap<string, Prediction>): TranscriptLine[] {
  if (message.role === 'tool') {
    const answer = answers.get(message.toolCallId);
    return [{ role: 'tool', text: shortened(message.content), note: answer && answerNote(answer) }];
  }
  if (message.role !== 'assistant') return [{ role: message.role, text: shortened(message.content) }];
  const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => `${name}(${JSON.stringify(given)})`);
  const text = [message.content ?? '', ...calls].filter((part) => part !== '').join('\n');
  return [{ role: 'assistant', text: shortened(text) }];
}

function answerNote({ backend, confidence, operations, refused, repaired }: Prediction): string {
  const changes = operations.length === 0 ? '' : `, ${operations.length} changes`;
  const fate = refused === undefined ? (repaired ? ', repaired' : '') : ', refused';
  return `${backend}, confidence ${confidence.toFixed(2)}${changes}${fate}`;
}

function mark(passed: boolean | null): string {
  if (passed === null) return '?';
  return passed ? '✓' : '✗';
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}
