// How right the screens of a dream are, action by action, over walks that were recorded in the real ones.

import type { ScreenState } from '../src/env/screens/screen-state.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import type { Prediction } from '../src/env/tools/prediction.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { elementF1, elementScores } from '../src/screens/fidelity/elements.js';
import { mean } from './measure.js';

export interface StepScores {
  readonly family: string;
  readonly elements: number;
  readonly changes: number | null;
  readonly transition: boolean;
  readonly outcome: boolean;
  /** On the dream's own screens, counted from 1. */
  readonly step: number;
  readonly ownElements: number;
}

export type Summary = Readonly<Record<Key, number | null>> & {
  readonly actions: number;
  readonly elementF1ByStep: readonly (number | null)[];
};

/** Of each action of the walks. A dream that is none changes nothing. */
export async function scores(
  domain: ToolsDomain,
  dream: Responder | undefined,
  walks: readonly EpisodeRecord[],
): Promise<StepScores[]> {
  const found: StepScores[] = [];
  for (const { task: id, seed, steps, messages } of walks) {
    const task = domain.tasks.find((one) => one.id === id)!;
    let real = initialStateOf(domain, task);
    let own = real;
    for (const [i, { action, message, predictions }] of steps.entries()) {
      const [call] = action.toolCalls!;
      const [truth] = predictions;
      const asked = { domain, task, messages: messages.slice(0, message + 1), call, step: i, seed };
      const answer = (state: typeof real) => (dream === undefined ? NOTHING : dream.answer({ ...asked, state }));
      const [said, onOwn] = [await answer(real), await answer(own)];
      const after = applyOperations(real, truth.operations);
      own = applyOperations(own, onOwn.operations);
      const dreamt = applyOperations(real, said.operations);
      const [before, is, was] = [real, after, dreamt].map((state) => state as ScreenState);
      found.push({
        family: task.family,
        ...elementScores(before, is, was),
        outcome: said.isError === truth.isError,
        step: i + 1,
        ownElements: elementF1(is, own as ScreenState),
      });
      real = after;
    }
  }
  return found;
}

const NOTHING: Pick<Prediction, 'operations' | 'isError'> = { operations: [], isError: false };

/** By family of tasks, in their order. */
export function grouped(steps: readonly StepScores[]): StepScores[][] {
  const families = [...new Set(steps.map(({ family }) => family))];
  return families.map((name) => steps.filter(({ family }) => family === name));
}

export const KEYS = ['elements', 'changes', 'transition', 'outcome', 'ownElements'] as const;
export type Key = (typeof KEYS)[number];

function meanOf(steps: readonly StepScores[], key: Key): number | null {
  const values = steps.map((step) => step[key]).filter((value) => value !== null);
  return values.length === 0 ? null : mean(values.map(Number));
}

export function summary(steps: readonly StepScores[]): Summary {
  const means = KEYS.map((key) => [key, meanOf(steps, key)]);
  const elementF1ByStep = Array.from({ length: Math.max(0, ...steps.map(({ step }) => step)) }, (_, i) =>
    meanOf(
      steps.filter(({ step }) => step === i + 1),
      'ownElements',
    ),
  );
  return { actions: steps.length, ...(Object.fromEntries(means) as Record<Key, number | null>), elementF1ByStep };
}
