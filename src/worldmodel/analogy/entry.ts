// Analogies in the registry of backends.

import { isShownDomain } from '../../env/index.js';
import { recordedBackend } from '../from-records/entry.js';

export const analogyBackend = recordedBackend({
  name: 'analogy',
  summary:
    'Recorded steps of text games, carried over to what plays the same part at another moment or in another game.',
  about: 'Backend `analogy`: recorded steps of text games, carried over to other moments and games.',
  heldOut: { steps: 400, called: 'steps' },
  livesIn: isShownDomain,
  elsewhere: 'the states of this domain do not tell all that is shown, commands included',
  load: async () => {
    const { analogyFile, AnalogyModel } = await import('./analogy-model.js');
    const { fitAnalogy } = await import('./fit.js');
    return { file: analogyFile, open: (contents) => new AnalogyModel(contents), learn: fitAnalogy };
  },
});
