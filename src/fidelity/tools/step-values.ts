// First answers to all questions, in the questions' order, as the values that metrics are made from.

import { flag, type Value } from './found-metric.js';
import { type ChangeGroup, changeGroup, type ToolsQuestion } from './question.js';
import type { StepRow } from './step-row.js';

export interface JudgedStep {
  readonly question: ToolsQuestion;
  readonly row: StepRow;
}

/** In the order of the questions; those of repeats are left out. */
export function firstAnswers(questions: readonly ToolsQuestion[], rows: readonly StepRow[]): JudgedStep[] {
  const first = new Map(rows.filter(({ attempt }) => attempt === 0).map((row) => [row.question, row]));
  return questions.flatMap((question, i) => {
    const row = first.get(i);
    return row === undefined ? [] : [{ question, row }];
  });
}

/** Whether everything that is known of an answer is right: observation, error, and the state where there is one. */
export function isRight({ answered, observation, error, state }: StepRow): boolean | null {
  return answered ? observation === true && error === true && state !== false : null;
}

/** Feedback that looks right while the state is wrong: what an agent, and a judge of conversations, cannot see. */
export function isSilentlyWrong({ observation, error, state }: StepRow): boolean | null {
  return state === null ? null : observation === true && error === true && !state;
}

/** The reverse: the state is right, and what is said is not. */
export function isOnlySaidWrong({ observation, error, state }: StepRow): boolean | null {
  return state === null ? null : state && !(observation === true && error === true);
}

export function valuesOf(steps: readonly JudgedStep[], of: (row: StepRow) => boolean | null): Value[] {
  return steps.map(({ row }) => flag(of(row)));
}

/** null for questions of other groups, so that places stay the questions'. */
export function inGroup(
  steps: readonly JudgedStep[],
  group: ChangeGroup,
  of: (row: StepRow) => boolean | null,
): Value[] {
  return steps.map(({ question, row }) => (changeGroup(question) === group ? flag(of(row)) : null));
}

export function byBackend(steps: readonly JudgedStep[]): Map<string, JudgedStep[]> {
  const groups = new Map<string, JudgedStep[]>();
  for (const step of steps) {
    const name = backendOf(step.row);
    groups.set(name, [...(groups.get(name) ?? []), step]);
  }
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Who answered; a call that was refused was answered by nobody. */
export function backendOf({ answered, refused, backend }: StepRow): string {
  if (!answered) return 'unanswered';
  return refused || backend === null ? 'refused' : backend;
}
