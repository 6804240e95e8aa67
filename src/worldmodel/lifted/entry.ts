// The lifted model in the registry of backends.

import { resolve } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { isScreenDomain } from '../../env/index.js';
import type { BackendEntry } from '../tools/backend-model.js';
import type { LiftedSettings } from './fit.js';

const share = z.number().min(0).max(1);

export const liftedSection = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Run of `reverie fit`, or the folder of the model, relative to the scenario; without one, what `reverie train` makes of its own records.',
      ),
    minConfidence: share
      .default(0)
      .describe(
        'Below this confidence the next backend is asked, and without one the call is refused: to be raised where one follows that knows better.',
      ),
    minExactness: share
      .default(0.3)
      .describe('A model that is right less often on what was kept from it is not used at all; 0 uses any.'),
    fit: z
      .strictObject({
        heldOutSteps: z.int().min(1).default(600).describe('Most recorded actions that it is asked about.'),
      })
      .prefault({})
      .describe('`reverie fit`: how it is judged and calibrated.'),
  })
  // Without a default: where nobody asks for it, a scenario says nothing of it.
  .describe('Backend `lifted`: recorded changes of screens, carried over to other screens.');

const asked = (settings: unknown) => settings as LiftedSettings;

export const liftedBackend: BackendEntry = {
  name: 'lifted',
  summary: 'Recorded changes of screens, carried over to the elements that play the same part on another screen.',
  schema: liftedSection,
  trust: 'proposal',
  minConfidence: (settings) => asked(settings).minConfidence,
  files: (settings) =>
    asked(settings).model === undefined ? [] : FILES.map((file) => `${asked(settings).model}/${file}`),
  make: async () => {
    const { loadLifted } = await import('./lifted-file.js');
    const { LiftedModel } = await import('./lifted-model.js');
    return async ({ domain, folder = '.' }, settings) => {
      const { model, minExactness } = asked(settings);
      if (!isScreenDomain(domain)) return 'lifted: the states of this domain are no screens';
      if (model === undefined) return 'lifted: model.lifted.model names no model';
      const path = resolve(folder, model);
      const contents = await loadLifted(path);
      if (contents.exactness < minExactness) {
        const exact = (contents.exactness * 100).toFixed(1);
        const problem = `it was exactly right in ${exact} % of what was kept from it, and the bar is ${minExactness * 100} %.`;
        const hint = 'Fit it to more records, or lower model.lifted.minExactness.';
        throw reverieError('MODEL_FOLDER_INVALID', { path, problem, hint });
      }
      return new LiftedModel(contents);
    };
  },
  learns: isScreenDomain,
  fit: async () => {
    const { fitLifted } = await import('./fit.js');
    const { saveLifted, versionOf } = await import('./lifted-file.js');
    return async ({ settings, out, ...request }) => {
      const { contents, report } = await fitLifted({ ...request, settings: asked(settings) });
      await saveLifted(out, contents);
      const { exactness } = contents;
      return { version: versionOf(contents), exactness, isReady: exactness >= asked(settings).minExactness, report };
    };
  },
};

/** Both places where the model may lie: only one of them is there. */
const FILES = ['lifted.json', 'model/lifted.json'];
