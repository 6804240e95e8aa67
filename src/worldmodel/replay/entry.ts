// Exact replay, in the registry of backends.

import type { BackendEntry } from '../tools/backend-model.js';

export const replayBackend: BackendEntry = {
  name: 'replay',
  summary: 'A recorded transition of the same call in the same state.',
  trust: 'exact',
  needs: ['records'],
  make: async () => {
    const { ReplayModel } = await import('./replay-model.js');
    return ({ index, hasStates = true }) =>
      index && hasStates ? new ReplayModel(index) : 'replay: there are no records whose state is known';
  },
};
