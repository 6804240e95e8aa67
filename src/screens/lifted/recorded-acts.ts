// Recorded episodes as the model keeps them: the screens that tasks began with, and from there what was done and what changed.

import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import type { ScreenState } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { type LearnedEpisode, recordedSteps } from '../../worldmodel/sequence/recorded-steps.js';
import { Act } from './act.js';
import type { RecordedAct } from './transfer.js';

const plain = z.record(z.string(), z.json() as unknown as z.ZodType<Json>);

export const walksSchema = z.strictObject({
  /** By task. */
  openings: z.record(z.string(), plain),
  walks: z.array(
    z.strictObject({
      episode: z.string(),
      task: z.string(),
      family: z.string(),
      steps: z.array(
        z.strictObject({
          name: z.string(),
          arguments: plain,
          operations: z.array(plain),
          isError: z.boolean(),
          /** Of refusals. */
          observation: z.string(),
        }),
      ),
    }),
  ),
});

export type Walks = z.infer<typeof walksSchema>;
type Walk = Walks['walks'][number];

/** What episodes of a domain of screens come to; those that cannot be followed end early. */
export function walksOf(episodes: Iterable<LearnedEpisode>, domain: ToolsDomain): Walks {
  const openings: Record<string, Record<string, Json>> = {};
  const walks = new Map<string, Walk>();
  const families = new Map(domain.tasks.map(({ id, family }) => [id, family]));
  for (const { episode, task, question, answer } of recordedSteps(episodes, domain, { typed: true })) {
    openings[task] ??= question.world!.values as Record<string, Json>;
    const walk = walks.get(episode) ?? { episode, task, family: families.get(task)!, steps: [] };
    walks.set(episode, walk);
    const { isError, operations, observation } = answer;
    walk.steps.push({
      name: question.call.name,
      arguments: { ...question.call.arguments } as Record<string, Json>,
      operations: operations as unknown as Record<string, Json>[],
      isError,
      observation: isError ? observation : '',
    });
  }
  return { openings, walks: [...walks.values()] };
}

/** Every action of the walks, on its screen. */
export function recordedActs({ openings, walks }: Walks): RecordedAct[] {
  return walks.flatMap(({ task, steps, ...where }) => {
    const opening = openings[task] as unknown as ScreenState;
    let state = opening;
    let ids = lastId(opening);
    return steps.map(({ name, arguments: given, operations, isError, observation }) => {
      const call = { name, arguments: given } as CallSpec;
      const act = new Act({ state, call, opening, ids });
      state = applyOperations(state, operations as unknown as readonly Operation[]) as ScreenState;
      ids = Math.max(ids, lastId(state));
      return { act, after: state, isError, observation, task, ...where };
    });
  });
}

/** Largest number among the ids of a screen; ids are given out in order. */
export function lastId({ elements }: ScreenState): number {
  return Object.keys(elements).reduce((last, id) => Math.max(last, Number(id) || 0), 0);
}
