// The lifted model in the registry of backends.

import { z } from 'zod';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import { type RecordedSettings, recordedBackend, recordedSection } from '../../worldmodel/from-records.js';
import type { LiftedContents } from './lifted-model.js';

const fit = z
  .strictObject({
    heldOutSteps: z.int().min(1).default(600).describe('Most recorded actions that it is asked about.'),
  })
  .prefault({})
  .describe('`reverie fit`: how it is judged and calibrated.');

export const liftedBackend = recordedBackend<LiftedContents, RecordedSettings>({
  name: 'lifted',
  summary: 'Recorded changes of screens, transferred to the elements that play the same part on another screen.',
  // Without a default: where it is not asked for, a scenario says nothing of it.
  section: recordedSection({ minConfidence: 0, minExactness: 0.3 }, fit).describe(
    'Backend `lifted`: recorded changes of screens, transferred to other screens.',
  ),
  file: 'lifted.json',
  learns: isScreenDomain,
  problem: (domain) => (isScreenDomain(domain) ? undefined : 'the states of this domain are no screens'),
  load: async () => {
    const { fitLifted, LiftedModel, loadLifted, saveLifted, versionOf } = await import('./lifted-model.js');
    return {
      load: loadLifted,
      save: saveLifted,
      versionOf,
      exactnessOf: ({ exactness }) => exactness,
      open: (contents) => new LiftedModel(contents),
      learn: fitLifted,
    };
  },
});
