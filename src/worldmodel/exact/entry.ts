// Exact tables in the registry of dynamics. They are made by code, so no scenario has a section for them.

import type { DynamicsEntry, DynamicsKind } from '../dynamics-kind.js';
import { TABULAR_FORMAT } from './tabular-folder.js';
import type { TabularPayload } from './tabular-model.js';

export const tabularEntry: DynamicsEntry = {
  name: 'exact',
  summary: 'A finite world whose tables are known.',
  format: TABULAR_FORMAT,
  make: async (): Promise<DynamicsKind> => {
    const { TabularModel } = await import('./tabular-model.js');
    return {
      load: (folder) => TabularModel.load(folder),
      revive: async ({ payload }) => new TabularModel((payload as TabularPayload).dynamics),
    };
  },
};
