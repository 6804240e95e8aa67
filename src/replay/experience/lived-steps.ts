// The steps of an episode as they are remembered: one for each call that was answered.

import type { Operation } from '../../env/tools/prediction.js';
import type { EpisodeRecord, ExperienceStep } from './experience.js';
import { callText, MAX_HISTORY } from './tokens.js';

/** What is known of the state around a call. */
export interface CallState {
  /** Of the state it was made in. */
  readonly stateHash?: string;
  readonly operations?: readonly Operation[];
}

/**
 * Steps of a real or dreamt episode, in order. A dreamt one counts as verified if exact checks alone found it right.
 * @param states one for each answered call, where they are not to be read off the episode
 */
export function livedSteps(episode: EpisodeRecord, states: readonly CallState[] = statesOf(episode)): ExperienceStep[] {
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
