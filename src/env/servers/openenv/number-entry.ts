// `env: { openenv: URL }`: an environment of numbers on a server of OpenEnv.

import { z } from 'zod';
import type { EnvironmentEntry } from '../../environment-entry.js';

export const openEnvKeys = z.strictObject({
  openenv: z.string().min(1).describe('openenv: address of a server whose actions and observations are numbers'),
  timeoutSeconds: z.number().positive().optional().describe('openenv: longest time for one answer; 60'),
  patienceSeconds: z
    .number()
    .min(0)
    .optional()
    .describe('openenv: how long a server that is gone is asked again before the run stops; 30'),
});

export const openEnvNumbers: EnvironmentEntry = {
  name: 'openenv',
  namedBy: 'openenv',
  summary: 'An environment of numbers on a server of OpenEnv.',
  schema: openEnvKeys,
  make: async () => {
    const { openNumbers } = await import('../openenv-numbers.js');
    return async (settings) => {
      const { openenv: url, timeoutSeconds = 60, patienceSeconds = 30 } = openEnvKeys.strip().parse(settings);
      return openNumbers({ url, timeoutSeconds, patienceSeconds, maxEpisodeSteps: settings.maxEpisodeSteps });
    };
  },
};
