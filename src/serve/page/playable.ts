// What one must know to play an environment by hand.

import type { Space } from '../../env/index.js';
import type { Servable } from '../../run/index.js';
import type { PlayableView, RowSpace, WireJson } from './wire.js';

/** Tasks that are offered to choose from. */
const MOST_TASKS = 2_000;

export function playableView(served: Servable): PlayableView {
  const { name, family, source, description, tasks, tools, observationSpace, actionSpace, maxEpisodeSteps } = served;
  return {
    name,
    family,
    source,
    description,
    tasks: tasks.slice(0, MOST_TASKS).map(({ id, split }) => ({ id, split })),
    tools: tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters as WireJson,
    })),
    ...(family === 'vector' ? { actions: rowSpace(actionSpace), observations: rowSpace(observationSpace) } : {}),
    ...(maxEpisodeSteps === undefined ? {} : { maxEpisodeSteps }),
  };
}

function rowSpace(space: Space): RowSpace | undefined {
  if (space.type === 'box') return { low: space.low, high: space.high };
  if (space.type !== 'discrete') return undefined;
  const { n, start } = space;
  return { discrete: { n, start }, low: [start], high: [start + n - 1] };
}
