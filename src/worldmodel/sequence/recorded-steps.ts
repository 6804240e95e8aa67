// Recorded episodes as steps to learn from: what was asked, in which state, and what was answered.

import type { JsonObject } from '../../core/canonical-json.js';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { StepAnswer, StepQuestion, World } from './step-form.js';

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
  // A screen is drawn from its state: nothing is left to say.
  const isDrawn = isScreenDomain(domain);
  for (const { id, task: name, steps, terminated, return: reward } of episodes) {
    const task = tasks.get(name);
    if (task === undefined) continue;
    const calls = steps.flatMap(({ action, predictions }) =>
      (action.toolCalls ?? []).map((call, i) => ({ call, prediction: predictions[i] })),
    );
    let state: JsonObject | undefined = initialStateOf(domain, task);
    for (const [i, { call, prediction }] of calls.entries()) {
      if (prediction === undefined || state === undefined) break;
      const { isError, operations, observation } = prediction;
      const ends = i === calls.length - 1 && terminated ? { ends: reward ?? 0 } : {};
      yield {
        ...{ task: name, episode: id },
        question: { call, goal: goalOf(task), world: worldOf(domain, state) },
        answer: { isError, operations, observation: isDrawn && !isError ? '' : observation, ...ends },
      };
      try {
        state = applyOperations(state, operations);
      } catch {
        state = undefined;
      }
    }
  }
}

/** A state as a model sees it. */
export function worldOf({ rules }: ToolsDomain, state: JsonObject): World {
  return { values: state, ...(rules?.scene && { scene: rules.scene(state) }) };
}

/** Longer goals are a user's story, and no part of what a call does. */
const MAX_GOAL = 160;

export function goalOf({ user }: ToolsTask): string {
  return user.goal.length > MAX_GOAL ? '' : user.goal.toLowerCase();
}
