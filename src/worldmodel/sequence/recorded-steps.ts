// Recorded episodes as steps to learn from: what was asked, in which state, and what was answered.

import type { JsonObject } from '../../core/canonical-json.js';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { StepAnswer, StepQuestion } from './step-form.js';
import type { World, WorldKind } from './worlds.js';

export interface RecordedStep {
  readonly task: string;
  readonly episode: string;
  readonly question: StepQuestion;
  readonly answer: StepAnswer;
}

/** An episode as jobs keep it, as far as steps are made of it. */
export type LearnedEpisode = Pick<EpisodeRecord, 'id' | 'task' | 'steps' | 'return' | 'terminated'>;

/**
 * The calls of episodes, in order, one by one, as their states take much room. An episode ends early for learning where operations were
 * recorded that its state does not take.
 */
export function* recordedSteps(episodes: Iterable<LearnedEpisode>, domain: ToolsDomain): Generator<RecordedStep> {
  const tasks = new Map(domain.tasks.map((task) => [task.id, task]));
  for (const episode of episodes) {
    const task = tasks.get(episode.task);
    if (task !== undefined) yield* stepsOf(episode, task, domain);
  }
}

function* stepsOf(
  { id, steps, terminated, return: reward }: LearnedEpisode,
  task: ToolsTask,
  domain: ToolsDomain,
): Generator<RecordedStep> {
  const goal = goalOf(task);
  // A screen is drawn from its state: nothing is left to say.
  const isDrawn = isScreenDomain(domain);
  const calls = steps.flatMap(({ action, predictions }) =>
    (action.toolCalls ?? []).map((call, i) => ({ call, prediction: predictions[i] })),
  );
  let state: JsonObject = initialStateOf(domain, task);
  for (const [i, { call, prediction }] of calls.entries()) {
    if (prediction === undefined) return;
    const { isError, operations, observation } = prediction;
    const ends = i === calls.length - 1 && terminated ? { ends: reward ?? 0 } : {};
    yield {
      ...{ task: task.id, episode: id },
      question: { call, goal, world: worldOf(domain, state) },
      answer: { isError, operations, observation: isDrawn && !isError ? '' : observation, ...ends },
    };
    try {
      state = applyOperations(state, operations);
    } catch {
      return;
    }
  }
}

/** A state as a model sees it. */
export function worldOf({ rules }: ToolsDomain, state: JsonObject): World {
  return { values: state, ...(rules?.scene && { scene: rules.scene(state) }) };
}

export function worldKindOf({ rules }: ToolsDomain): WorldKind {
  return rules?.scene === undefined ? 'values' : 'facts';
}

/** Longer goals are a user's story, and no part of what a call does. */
const MAX_GOAL = 160;

export function goalOf({ user }: ToolsTask): string {
  return user.goal.length > MAX_GOAL ? '' : user.goal.toLowerCase();
}
