// The backend `sequence`: what a scenario says of it, how it is made of a fitted model, and fitted.

import { recordedBackend } from '../from-records.js';
import type { SequenceContents } from './sequence-model.js';
import { type SequenceSettings, sequenceSection } from './settings.js';

export const sequenceBackend = recordedBackend<SequenceContents, SequenceSettings>({
  name: 'sequence',
  summary: 'A small language model that learned from records what calls do.',
  section: sequenceSection,
  file: 'sequence.json',
  learns: ({ rules }) => rules?.scene !== undefined,
  problem: ({ rules }) => (rules?.scene === undefined ? 'states here are no facts about objects' : undefined),
  load: async () => {
    const { loadSequence, saveSequence, SequenceModel, versionOf } = await import('./sequence-model.js');
    const { fitSequence } = await import('./fit.js');
    return {
      load: loadSequence,
      save: async (folder, contents) => {
        await saveSequence(folder, contents);
        await contents.decoder.sessions.release();
      },
      versionOf,
      exactnessOf: ({ report }) => report.stateExact,
      open: (contents) => new SequenceModel(contents),
      learn: async (request) => {
        const contents = await fitSequence(request);
        return { contents, report: contents.report };
      },
    };
  },
});
