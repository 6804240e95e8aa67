// Recorded episodes as the model keeps them: the state that each task begins with, and from there what was said and what came of it.

import { z } from 'zod';
import type { Json, JsonObject } from '../../core/json.js';
import { applyOperations, type Operation, type ShownState, type ToolsDomain } from '../../env/index.js';
import { type LearnedEpisode, recordedSteps } from '../sequence/recorded-steps.js';
import type { Moment } from './act.js';

const plain = z.record(z.string(), z.json() as unknown as z.ZodType<Json>);

export const walksSchema = z.strictObject({
  /** By task: the state that it begins with, what is told first, and what is to be done. */
  tasks: z.record(z.string(), z.strictObject({ state: plain, opening: z.string(), goal: z.string() })),
  walks: z.array(
    z.strictObject({
      episode: z.string(),
      task: z.string(),
      steps: z.array(
        z.strictObject({ said: z.string(), operations: z.array(plain), isError: z.boolean(), observation: z.string() }),
      ),
    }),
  ),
});

export type Walks = z.infer<typeof walksSchema>;
type Walk = Walks['walks'][number];

/** What episodes come to; those that cannot be followed end early. */
export function walksOf(episodes: Iterable<LearnedEpisode>, domain: ToolsDomain): Walks {
  const known = new Map(domain.tasks.map((task) => [task.id, task]));
  const tasks: Walks['tasks'] = {};
  const walks = new Map<string, Walk>();
  for (const { episode, task, question, answer } of recordedSteps(episodes, domain, { typed: true })) {
    const { opening = '', goal } = known.get(task)!.user;
    tasks[task] ??= { state: question.world!.values as Record<string, Json>, opening, goal };
    const walk = walks.get(episode) ?? { episode, task, steps: [] };
    walks.set(episode, walk);
    walk.steps.push({
      said: String(question.call.arguments.text),
      operations: answer.operations as unknown as Record<string, Json>[],
      isError: answer.isError,
      observation: answer.observation,
    });
  }
  return { tasks, walks: [...walks.values()] };
}

export interface RecordedStep {
  readonly before: Moment;
  readonly text: string;
  readonly after: ShownState;
  readonly observation: string;
  readonly isError: boolean;
  readonly task: string;
  readonly episode: string;
}

/** Every step of the walks, in order. */
export function stepsOf({ tasks, walks }: Walks): RecordedStep[] {
  return walks.flatMap(({ episode, task, steps }) => {
    const { state: begun, opening, goal } = tasks[task];
    let state = begun as JsonObject;
    let heard = opening;
    return steps.map(({ said: text, operations, isError, observation }): RecordedStep => {
      const before = momentOf(state, { task, goal, said: heard });
      state = applyOperations(state, operations as unknown as readonly Operation[]);
      heard = observation;
      return { before, text, after: state as unknown as ShownState, observation, isError, task, episode };
    });
  });
}

export function momentOf(state: JsonObject, about: Pick<Moment, 'task' | 'goal' | 'said'>): Moment {
  const shown = state as unknown as ShownState;
  return { ...shown, admissible: shown.admissible ?? [], ...about };
}
