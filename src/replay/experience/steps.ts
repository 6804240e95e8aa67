// The steps of an episode as they are remembered, one for each call that was answered, and what is checked before they are kept:
// nothing synthetic without a model version, nothing that cannot be found again.

import { reverieError } from '../../core/errors.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { EpisodeRecord, ExperienceStep } from './experience.js';
import { callText, MAX_HISTORY } from './terms.js';

/** What is known of the state around a call. */
export interface CallState {
  /** Of the state it was made in. */
  readonly stateHash?: string;
  readonly operations?: readonly Operation[];
}

/**
 * Steps of a real or simulated episode, in order. A simulated one counts as verified if exact checks alone found it right.
 * @param states one for each answered call, where they are not to be read off the episode
 */
export function episodeSteps(
  episode: EpisodeRecord,
  states: readonly CallState[] = statesOf(episode),
): ExperienceStep[] {
  const { verdict, source, scenario, task, row } = episode;
  const verified = source === 'real' || (verdict.reward === 1 && verdict.judge === undefined);
  const answered = episode.steps.flatMap(({ action, predictions }) =>
    predictions.map((prediction, i) => ({ prediction, call: (action.toolCalls ?? [])[i] })),
  );
  const history = answered.map(({ call }) => callText(call));
  return answered.map(({ prediction, call }, step) => ({
    source,
    backend: prediction.backend,
    modelVersion: prediction.modelVersion,
    scenario,
    task,
    episode: episode.id,
    step,
    row,
    call: { name: call.name, arguments: call.arguments },
    history: history.slice(Math.max(0, step - MAX_HISTORY), step),
    observation: prediction.observation,
    isError: prediction.isError,
    ...states[step],
    reward: prediction.reward,
    terminated: prediction.terminated,
    confidence: prediction.confidence,
    verified,
  }));
}

/**
 * Between calls of one action the hash is known only as long as nothing changed the state.
 * @param begins hash of the state that the episode began in; without it that of the first call is not known
 */
export function statesOf({ steps }: EpisodeRecord, begins?: string): CallState[] {
  let hash = begins;
  return steps.flatMap(({ predictions, stateHash }) => {
    const states = predictions.map(({ operations }) => {
      const state = { operations, ...(hash === undefined ? {} : { stateHash: hash }) };
      if (operations.length > 0) hash = undefined;
      return state;
    });
    hash = stateHash;
    return states;
  });
}

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
      problem: `Provenance of the batch is not acceptable: ${what} ${problem}`,
      hint,
    });
  }
  const fault = shapeProblem(step);
  if (fault !== undefined) throw experienceInvalid(`${what} ${fault}`);
}

/** The error SETTING_INVALID for a step that cannot be kept, or a query that cannot be answered. */
export function experienceInvalid(problem: string): Error {
  return reverieError('SETTING_INVALID', {
    problem: `Experience: ${problem}.`,
    hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
  });
}

function provenanceProblem({ source, backend, modelVersion, row, scenario, task, episode }: ExperienceStep) {
  if (source !== 'real' && source !== 'synthetic') return `has the source "${source}"`;
  if (![scenario, task, episode].every((name) => typeof name === 'string')) return 'names no scenario, task or episode';
  if (source === 'real') return row === -1 && modelVersion === '' ? undefined : `is real, but from row ${row}`;
  if (!Number.isSafeInteger(row) || row < 0 || row > 2 ** 31 - 1) return `is synthetic, but from row ${row}`;
  if (typeof backend !== 'string' || backend === '' || backend === 'real')
    return `was simulated by backend "${backend}"`;
  return typeof modelVersion === 'string' && modelVersion !== '' ? undefined : 'was simulated by no model version';
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
