// The ensemble in the registry of dynamics.

import type { DynamicsEntry, DynamicsKind, FitRequest } from '../dynamics.js';
import { ENSEMBLE_FORMAT, type EnsembleConfigInput, ensembleSectionSchema } from './config.js';
import type { EnsembleModel } from './ensemble-model.js';

export const ensembleEntry: DynamicsEntry = {
  name: 'ensemble',
  summary: 'Bootstrapped networks with Gaussian heads, learned from transitions; without a memory.',
  format: ENSEMBLE_FORMAT,
  schema: ensembleSectionSchema,
  fitsNatively: true,
  make: async (): Promise<DynamicsKind> => {
    const { EnsembleModel: Ensemble, reviveEnsemble } = await import('./ensemble-model.js');
    const { fitEnsemble } = await import('./fit.js');
    const { ensembleDevices } = await import('./device-propagation.js');
    return {
      load: (folder, place) => Ensemble.load(folder, place),
      revive: reviveEnsemble,
      fit: ({ data, section, spaces, previous, ...options }: FitRequest) => {
        // Of this kind, as the request demands.
        const ensemble = previous as EnsembleModel | undefined;
        return fitEnsemble(data, spaces, section as EnsembleConfigInput, { ...options, previous: ensemble });
      },
      devices: ensembleDevices,
    };
  },
};
