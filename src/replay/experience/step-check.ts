// Checks of steps before they are kept: nothing synthetic without who dreamt it, nothing that cannot be found again.

import { reverieError } from '../../core/errors.js';
import type { ExperienceStep } from './experience.js';
import { MAX_HISTORY } from './tokens.js';

/** Levels of lists and objects in arguments. */
export const MAX_ARGUMENT_DEPTH = 100;
const MAX_OBSERVATION = 1_000_000;

/** Throws DATA_MISMATCH or SETTING_INVALID, naming the step. */
export function checkStep(step: ExperienceStep): void {
  const what = `step ${step.step} of episode "${step.episode}"`;
  const problem = provenanceProblem(step);
  if (problem !== undefined) {
    const hint =
      'A real step has row -1 and no model version; a synthetic one names its backend, model version and row.';
    throw reverieError('DATA_MISMATCH', {
      problem: `Provenance of the batch is not acceptable: ${`${what} ${problem}`}`,
      hint,
    });
  }
  const fault = shapeProblem(step);
  if (fault !== undefined)
    throw reverieError('SETTING_INVALID', {
      problem: `Experience: ${what} ${fault}.`,
      hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
    });
}

function provenanceProblem({ source, backend, modelVersion, row, scenario, task, episode }: ExperienceStep) {
  if (source !== 'real' && source !== 'synthetic') return `has the source "${source}"`;
  if (![scenario, task, episode].every((name) => typeof name === 'string')) return 'names no scenario, task or episode';
  if (source === 'real') return row === -1 && modelVersion === '' ? undefined : `is real, but from row ${row}`;
  if (!Number.isSafeInteger(row) || row < 0 || row > 2 ** 31 - 1) return `is synthetic, but from row ${row}`;
  if (typeof backend !== 'string' || backend === '' || backend === 'real') return `was dreamt by backend "${backend}"`;
  return typeof modelVersion === 'string' && modelVersion !== '' ? undefined : 'was dreamt by no model version';
}

function shapeProblem({ call, history, observation, confidence, step }: ExperienceStep): string | undefined {
  if (!Number.isSafeInteger(step) || step < 0) return `has the number ${step}`;
  if (typeof call?.name !== 'string' || call.name === '') return 'calls no tool';
  if (!isObject(call.arguments)) return 'has arguments that are no object';
  if (isTooDeep(call.arguments)) return `has arguments nested deeper than ${MAX_ARGUMENT_DEPTH}`;
  if (typeof observation !== 'string') return 'has an observation that is no text';
  if (observation.length > MAX_OBSERVATION) return `has an observation of more than ${MAX_OBSERVATION} characters`;
  if (!Array.isArray(history) || history.length > MAX_HISTORY)
    return `has a history of ${history?.length} calls; at most ${MAX_HISTORY} are remembered`;
  return confidence >= 0 && confidence <= 1 ? undefined : `has confidence ${confidence}`;
}

export function isTooDeep(value: unknown, left = MAX_ARGUMENT_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((part) => isTooDeep(part, left - 1));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
