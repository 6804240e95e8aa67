// The backend `sequence`: how it is made of a fitted model, and fitted.

import { resolve } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { placesOf } from '../from-records.js';
import type { BackendEntry } from '../tools/backend-model.js';
import { type SequenceSettings, sequenceSection } from './settings.js';

const NO_MODEL = 'sequence: model.sequence.model names no model';

const asked = (settings: unknown) => settings as SequenceSettings;

export const sequenceBackend: BackendEntry = {
  name: 'sequence',
  summary: 'A small language model that learned from records what calls do.',
  schema: sequenceSection,
  trust: (settings) => (asked(settings).typed ? 'proposal' : 'text'),
  minConfidence: (settings) => asked(settings).minConfidence,
  files: (settings) => (asked(settings).model === undefined ? [] : placesOf(asked(settings).model!, 'sequence.json')),
  make: async () => {
    const { loadSequence } = await import('./sequence-model.js');
    const { SequenceModel } = await import('./sequence-model.js');
    const { worldKindOf } = await import('./recorded-steps.js');
    return async ({ domain, folder = '.' }, settings) => {
      const { model, typed, minExactness } = asked(settings);
      if (model === undefined) return NO_MODEL;
      const path = resolve(folder, model);
      const contents = await loadSequence(path);
      const world = typed ? worldKindOf(domain) : 'unseen';
      if (contents.form.world !== world) {
        const problem = `it was fitted to a state of the form "${contents.form.world}", which is "${world}" here.`;
        const hint = 'Set model.sequence.typed as it was in the fit, or fit a model of this domain.';
        throw reverieError('MODEL_FILE_INVALID', {
          problem: `World model "${path}" cannot be loaded: ${problem}`,
          hint,
        });
      }
      requireReady(path, contents.report, typed, minExactness);
      return new SequenceModel(contents);
    };
  },
  fit: async () => {
    const { fitSequence } = await import('./fit.js');
    const { saveSequence, versionOf } = await import('./sequence-model.js');
    return async ({ settings, out, ...request }) => {
      const contents = await fitSequence({ ...request, settings: asked(settings) });
      await saveSequence(out, contents);
      await contents.decoder.sessions.release();
      const { report } = contents;
      const exactness = exactnessOf(report, contents.form.world !== 'unseen');
      return { version: versionOf(contents), exactness, isReady: exactness >= asked(settings).minExactness, report };
    };
  },
};

function exactnessOf(report: { readonly stateExact: number; readonly textExact: number }, typed: boolean): number {
  return typed ? report.stateExact : report.textExact;
}

/** @throws SCENARIO_UNFIT */
function requireReady(
  path: string,
  report: { readonly stateExact: number; readonly textExact: number; readonly steps: number },
  typed: boolean,
  bar: number,
): void {
  const exactness = exactnessOf(report, typed);
  if (exactness >= bar) return;
  const exact = (exactness * 100).toFixed(1);
  throw reverieError('SCENARIO_UNFIT', {
    problem: `Sequence model "${path}" got ${exact} % of ${report.steps} held-out steps exactly right, which is below the bar of ${bar * 100} %.`,
    hint: 'Fit it for more steps or to more records; model.sequence.minExactness is the bar, and 0 uses the model as it is.',
  });
}
