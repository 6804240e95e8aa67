// The lifted model in the registry of backends.

import { isScreenDomain } from '../../env/screens/screen-state.js';
import { recordedBackend } from '../../worldmodel/from-records.js';

export const liftedBackend = recordedBackend({
  name: 'lifted',
  summary: 'Recorded changes of screens, carried over to the elements that play the same part on another screen.',
  about: 'Backend `lifted`: recorded changes of screens, carried over to other screens.',
  heldOut: { steps: 600, called: 'actions' },
  livesIn: isScreenDomain,
  elsewhere: 'the states of this domain are no screens',
  load: async () => {
    const { liftedFile, LiftedModel } = await import('./lifted-model.js');
    const { fitLifted } = await import('./fit.js');
    return { file: liftedFile, open: (contents) => new LiftedModel(contents), learn: fitLifted };
  },
});
