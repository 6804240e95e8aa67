// The real environment as proxy, in the registry of backends.

import type { BackendEntry } from '../tools/backend-model.js';

export const realBackend: BackendEntry = {
  name: 'real',
  summary: 'The real environment, asked where nobody else could answer.',
  trust: 'exact',
  isReal: true,
  make: async () => {
    const { RealModel } = await import('./real-model.js');
    return ({ real }) => (real ? new RealModel(real) : 'real: there is no real environment');
  },
};
