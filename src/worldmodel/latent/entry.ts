// The recurrent latent model in the registry of dynamics.

import type { DynamicsEntry, DynamicsKind, FitRequest } from '../dynamics-kind.js';
import { LATENT_FORMAT, type LatentConfigInput, latentConfigSchema } from './config.js';

export const latentEntry: DynamicsEntry = {
  name: 'latent',
  summary: 'Recurrent networks with a latent memory, learned from episodes: for observations that hide something.',
  format: LATENT_FORMAT,
  schema: latentConfigSchema,
  make: async (): Promise<DynamicsKind> => {
    const { LatentModel } = await import('./latent-model.js');
    const { fitLatent } = await import('./fit.js');
    return {
      load: (folder) => LatentModel.load(folder),
      revive: (snapshot) => LatentModel.fromSnapshot(snapshot),
      fit: async ({ data, section, spaces, onProgress, ...options }: FitRequest) => {
        const { batchSize, window } = latentConfigSchema.parse(section);
        // Windows overlap by half, so a pass over the rows is about two windows for as many rows as one holds.
        const passes = (steps: number) => Math.ceil((steps * batchSize * window) / (2 * data.size));
        const tell = ({ gradientSteps, holdoutError }: { gradientSteps: number; holdoutError: number }) =>
          onProgress?.({ epochs: passes(gradientSteps), holdoutError });
        const { model, report } = await fitLatent(data, spaces, section as LatentConfigInput, {
          ...options,
          onProgress: tell,
        });
        const longest = Math.max(...report.members.map(({ gradientSteps }) => gradientSteps));
        return { model, report: { epochs: passes(longest), holdoutError: report.holdoutError } };
      },
    };
  },
};
