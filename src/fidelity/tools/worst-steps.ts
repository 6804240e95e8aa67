// The answers that were most wrong, in full.

import type { Json, JsonObject } from '../../json.js';
import type { WorstTransition } from '../report/fidelity-report.js';
import { isSilentlyWrong, type JudgedStep } from './step-values.js';

const SHOWN = 12;
/** Of the conversation before a call. */
const SHOWN_MESSAGES = 4;
const SHOWN_CHARS = 2_000;

/** A state that is wrong behind feedback that is right counts most: nothing else would show it. */
export function worstSteps(steps: readonly JudgedStep[]): WorstTransition[] {
  return steps
    .filter(({ row }) => row.wrong !== null)
    .map((step) => ({ step, badness: badnessOf(step) }))
    .sort((a, b) => b.badness - a.badness)
    .slice(0, SHOWN)
    .map(({ step, badness }) => worstOf(step, badness));
}

function badnessOf({ row }: JudgedStep): number {
  const { stateDistance, observationDistance, error } = row;
  const silent = isSilentlyWrong(row) ? 1 : 0;
  return 2 * (stateDistance ?? 0) + (observationDistance ?? 0) + (error === false ? 1 : 0) + silent;
}

function worstOf({ question, row }: JudgedStep, badness: number): WorstTransition {
  const { query, truth, id } = question;
  const { observation, isError, operations, differences } = row.wrong!;
  return {
    title: `${query.call.name} in ${query.task.id} (${id})`,
    badness,
    context: contextOf(question),
    action: { name: query.call.name, arguments: query.call.arguments },
    real: { observation: truth.observation, isError: truth.isError, operations: (truth.operations ?? null) as Json },
    dreamt: { observation, isError, operations },
    differences: [...saidDifferences(row, truth.observation, observation), ...differences],
    ...(row.backend === null ? {} : { backend: row.backend }),
    ...(row.confidence === null ? {} : { confidence: row.confidence }),
  };
}

function saidDifferences({ observation }: JudgedStep['row'], real: string, dreamt: string) {
  return observation === false ? [{ path: 'observation', real, dreamt }] : [];
}

function contextOf({ query }: JudgedStep['question']): JsonObject {
  const said = query.messages.slice(1, -1).slice(-SHOWN_MESSAGES);
  return {
    task: query.task.id,
    step: query.step,
    conversation: said.map(({ role, content }) => ({ role, content: (content ?? '').slice(0, SHOWN_CHARS) })),
  };
}
