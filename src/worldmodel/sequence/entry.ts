// The backend `sequence`: what a scenario says of it, how it is made of a fitted model, and fitted.

import { reverieError } from '../../core/errors.js';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import { recordedBackend } from '../from-records.js';
import type { SequenceContents } from './sequence-model.js';
import { type SequenceSettings, sequenceSection } from './settings.js';

export const sequenceBackend = recordedBackend<SequenceContents, SequenceSettings>({
  name: 'sequence',
  summary: 'A small language model that learned from records what calls do.',
  section: sequenceSection,
  file: 'sequence.json',
  learns: (domain) => !isScreenDomain(domain),
  load: async () => {
    const { loadSequence, saveSequence, SequenceModel, versionOf } = await import('./sequence-model.js');
    const { worldKindOf } = await import('./recorded-steps.js');
    const { fitSequence } = await import('./fit.js');
    return {
      load: loadSequence,
      save: async (folder, contents) => {
        await saveSequence(folder, contents);
        await contents.decoder.sessions.release();
      },
      versionOf,
      exactnessOf: ({ report }) => report.stateExact,
      open: (contents, path, domain) => {
        const [fitted, here] = [contents.form.world, worldKindOf(domain)];
        if (fitted === here) return new SequenceModel(contents);
        const problem = `it was fitted to a state of the form "${fitted}", which is "${here}" here.`;
        const hint = 'Fit a model of this domain.';
        throw reverieError('MODEL_FILE_INVALID', {
          problem: `World model "${path}" cannot be loaded: ${problem}`,
          hint,
        });
      },
      learn: async (request) => {
        const contents = await fitSequence(request);
        return { contents, report: contents.report };
      },
    };
  },
});
