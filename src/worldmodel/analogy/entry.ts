// Analogies in the registry of backends.

import { resolve } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { isShownDomain } from '../../env/index.js';
import type { BackendEntry } from '../tools/backend-model.js';
import type { AnalogySettings } from './fit.js';

const share = z.number().min(0).max(1);

export const analogySection = z
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
        heldOutSteps: z.int().min(1).default(400).describe('Most recorded steps that it is asked about.'),
      })
      .prefault({})
      .describe('`reverie fit`: how it is judged and calibrated.'),
  })
  // Without a default: where nobody asks for it, a scenario says nothing of it.
  .describe('Backend `analogy`: recorded steps of text games, carried over to other moments and games.');

const asked = (settings: unknown) => settings as AnalogySettings;

export const analogyBackend: BackendEntry = {
  name: 'analogy',
  summary:
    'Recorded steps of text games, carried over to what plays the same part at another moment or in another game.',
  schema: analogySection,
  trust: 'proposal',
  minConfidence: (settings) => asked(settings).minConfidence,
  files: (settings) =>
    asked(settings).model === undefined ? [] : FILES.map((file) => `${asked(settings).model}/${file}`),
  make: async () => {
    const { loadAnalogy } = await import('./analogy-file.js');
    const { AnalogyModel } = await import('./analogy-model.js');
    return async ({ domain, folder = '.' }, settings) => {
      const { model, minExactness } = asked(settings);
      if (!isShownDomain(domain))
        return 'analogy: the states of this domain do not tell all that is shown, commands included';
      if (model === undefined) return 'analogy: model.analogy.model names no model';
      const path = resolve(folder, model);
      const contents = await loadAnalogy(path);
      if (contents.exactness < minExactness) {
        const exact = (contents.exactness * 100).toFixed(1);
        const problem = `it was exactly right in ${exact} % of what was kept from it, and the bar is ${minExactness * 100} %.`;
        const hint = 'Fit it to more records, or lower model.analogy.minExactness.';
        throw reverieError('MODEL_FOLDER_INVALID', { path, problem, hint });
      }
      return new AnalogyModel(contents);
    };
  },
  learns: isShownDomain,
  fit: async () => {
    const { fitAnalogy } = await import('./fit.js');
    const { saveAnalogy, versionOf } = await import('./analogy-file.js');
    return async ({ settings, out, ...request }) => {
      const { contents, report } = await fitAnalogy({ ...request, settings: asked(settings) });
      await saveAnalogy(out, contents);
      const { exactness } = contents;
      return { version: versionOf(contents), exactness, isReady: exactness >= asked(settings).minExactness, report };
    };
  },
};

/** Both places where the model may lie: only one of them is there. */
const FILES = ['analogy.json', 'model/analogy.json'];
