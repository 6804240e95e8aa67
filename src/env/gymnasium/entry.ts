// `env: { gymnasium: Humanoid-v5 }`: any environment of Python's Gymnasium, in a Python process that we start.

import { z } from 'zod';
import type { EnvironmentEntry } from '../environment-entry.js';

export const gymnasiumKeys = z.strictObject({
  gymnasium: z.string().min(1).describe("gymnasium: an id of Python's Gymnasium, e.g. Humanoid-v5"),
  kwargs: z.record(z.string(), z.json()).optional().describe('gymnasium: keyword arguments of `gymnasium.make`'),
  import: z.string().min(1).optional().describe('gymnasium: a Python module that registers environments when imported'),
  timeoutSeconds: z
    .number()
    .positive()
    .optional()
    .describe('gymnasium, openenv: longest time for one answer before who is asked counts as hung; 120, and 60'),
});

export const gymnasium: EnvironmentEntry = {
  name: 'gymnasium',
  namedBy: 'gymnasium',
  summary: "An environment of Python's Gymnasium, in a process of its own.",
  schema: gymnasiumKeys,
  make: async () => {
    const { openGymnasium } = await import('./gymnasium-environment.js');
    return async (settings) => {
      const { gymnasium: id, kwargs = {}, timeoutSeconds = 120, ...rest } = gymnasiumKeys.strip().parse(settings);
      const clock = settings.maxEpisodeSteps === undefined ? {} : { maxEpisodeSteps: settings.maxEpisodeSteps };
      return openGymnasium({ id, kwargs, timeoutSeconds, ...rest, ...clock });
    };
  },
};
