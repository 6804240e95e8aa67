// Backends that are their records, carried over to other moments: what is the same of all of them in the registry of backends. Each says
// which worlds it lives in, what its file holds, how it answers from that and how it is made of episodes.

import { resolve } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { BackendEntry, BackendFitReport, BackendFitRequest, BackendModel } from '../tools/backend-model.js';
import { type ModelFile, placesOf, type RecordedContents } from './model-file.js';

export interface RecordedSettings {
  readonly model?: string;
  readonly minConfidence: number;
  readonly minExactness: number;
  readonly fit: { readonly heldOutSteps: number };
}

export type RecordedFitRequest = Pick<BackendFitRequest, 'domain' | 'episodes' | 'rng' | 'signal' | 'onProgress'> & {
  readonly settings: RecordedSettings;
};

export interface RecordedFit<C> {
  readonly contents: C;
  readonly report: BackendFitReport;
}

export interface RecordedBackend<C extends RecordedContents> extends Pick<BackendEntry, 'name' | 'summary'> {
  /** Of its section in a scenario. */
  readonly about: string;
  /** How many recorded steps it is judged by unless told, and what they are called. */
  readonly heldOut: { readonly steps: number; readonly called: string };
  /** Worlds that it lives in, and what is said of others. */
  readonly livesIn: (domain: ToolsDomain) => boolean;
  readonly elsewhere: string;
  readonly load: () => Promise<{
    readonly file: ModelFile<C>;
    readonly open: (contents: C) => BackendModel;
    /** The same request gives the same model. @throws the signal's reason */
    readonly learn: (request: RecordedFitRequest) => Promise<RecordedFit<C>>;
  }>;
}

const asked = (settings: unknown) => settings as RecordedSettings;

export function recordedBackend<C extends RecordedContents>(own: RecordedBackend<C>): BackendEntry {
  const { name, summary, livesIn, elsewhere, load } = own;
  return {
    ...{ name, summary, schema: sectionOf(own), trust: 'proposal', learns: livesIn },
    minConfidence: (settings) => asked(settings).minConfidence,
    files: (settings) => (asked(settings).model === undefined ? [] : placesOf(asked(settings).model!, `${name}.json`)),
    make: async () => {
      const { file, open } = await load();
      return async ({ domain, folder = '.' }, settings) => {
        const { model, minExactness } = asked(settings);
        if (!livesIn(domain)) return `${name}: ${elsewhere}`;
        if (model === undefined) return `${name}: model.${name}.model names no model`;
        const path = resolve(folder, model);
        const contents = await file.load(path);
        if (contents.exactness < minExactness) throw tooOftenWrong(name, path, contents.exactness, minExactness);
        return open(contents);
      };
    },
    fit: async () => {
      const { file, learn } = await load();
      return async ({ settings, out, ...request }) => {
        const { contents, report } = await learn({ ...request, settings: asked(settings) });
        await file.save(out, contents);
        const { exactness } = contents;
        const isReady = exactness >= asked(settings).minExactness;
        return { version: file.versionOf(contents), exactness, isReady, report };
      };
    },
  };
}

const share = z.number().min(0).max(1);

function sectionOf({ about, heldOut: { steps, called } }: Pick<RecordedBackend<never>, 'about' | 'heldOut'>) {
  return (
    z
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
            heldOutSteps: z.int().min(1).default(steps).describe(`Most recorded ${called} that it is asked about.`),
          })
          .prefault({})
          .describe('`reverie fit`: how it is judged and calibrated.'),
      })
      // Without a default: where nobody asks for it, a scenario says nothing of it.
      .describe(about)
  );
}

function tooOftenWrong(name: string, path: string, exactness: number, bar: number): Error {
  const exact = (exactness * 100).toFixed(1);
  const problem = `it was exactly right in ${exact} % of what was kept from it, and the bar is ${bar * 100} %.`;
  const hint = `Fit it to more records, or lower model.${name}.minExactness.`;
  return reverieError('MODEL_FILE_INVALID', { problem: `World model "${path}" cannot be loaded: ${problem}`, hint });
}
