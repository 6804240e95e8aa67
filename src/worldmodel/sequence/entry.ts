// The backend `sequence`: what a scenario says of it, how it is made of a fitted model, and fitted.

import { resolve } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import { placesOf } from '../from-records.js';
import type { BackendEntry, BackendFitReport } from '../tools/backend-model.js';

const size = z.int().min(1);
const share = z.number().min(0).max(1);

const fitSchema = z
  .strictObject({
    steps: size.default(3000).describe('Gradient steps.'),
    rows: size.default(8).describe('Rows of a gradient step.'),
    length: z.int().min(32).default(384).describe('Tokens a row: the longest question with its answer.'),
    learningRate: z.number().positive().default(2e-3).describe('At its peak; it falls to a tenth in a half cosine.'),
    hidden: size.default(128).describe('Width of the network.'),
    layers: size.default(4).describe('Its layers.'),
    heads: size.default(4).describe('Its heads, each of hidden/heads numbers.'),
    kvHeads: size.default(2).describe('Heads of keys and values; `heads` is a multiple of it.'),
    vocabulary: z.int().min(400).default(1024).describe('Most tokens.'),
    auxiliary: share.default(0.1).describe('Weight of the tokens of questions in the loss; those of answers weigh 1.'),
    heldOut: share.default(0.1).describe('Share of the tasks that are kept to calibrate on and to judge by.'),
    heldOutSteps: size.default(600).describe('Most steps of these that are asked.'),
    checkpointSeconds: z.number().min(0).default(30).describe('Seconds between checkpoints. Never changes results.'),
  })
  .prefault({})
  .describe('`reverie fit`: how it is trained.');

export type SequenceFitSettings = z.output<typeof fitSchema>;

export const sequenceSection = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .optional()
      .describe('Run of `reverie fit`, or the folder of the model, relative to the scenario; needed to answer.'),
    minConfidence: share
      .default(0.8)
      .describe('Below this confidence the next backend is asked; without one the call is refused.'),
    minExactness: share
      .default(0.9)
      .describe('A model that is right less often on held-out steps is not used at all; 0 uses any.'),
    fit: fitSchema,
  })
  .prefault({})
  .describe('Backend `sequence`: a small language model that learned from records what calls do.');

export type SequenceSettings = z.output<typeof sequenceSection>;

const NO_MODEL = 'sequence: model.sequence.model names no model';

const asked = (settings: unknown) => settings as SequenceSettings;

export const sequenceBackend: BackendEntry = {
  name: 'sequence',
  summary: 'A small language model that learned from records what calls do.',
  schema: sequenceSection,
  trust: 'proposal',
  learns: (domain) => !isScreenDomain(domain),
  minConfidence: (settings) => asked(settings).minConfidence,
  files: (settings) => (asked(settings).model === undefined ? [] : placesOf(asked(settings).model!, 'sequence.json')),
  make: async () => {
    const { loadSequence, SequenceModel } = await import('./sequence-model.js');
    const { worldKindOf } = await import('./recorded-steps.js');
    return async ({ domain, folder = '.' }, settings) => {
      const { model, minExactness } = asked(settings);
      if (model === undefined) return NO_MODEL;
      const path = resolve(folder, model);
      const contents = await loadSequence(path);
      const world = worldKindOf(domain);
      if (contents.form.world !== world) {
        const problem = `it was fitted to a state of the form "${contents.form.world}", which is "${world}" here.`;
        const hint = 'Fit a model of this domain.';
        throw reverieError('MODEL_FILE_INVALID', {
          problem: `World model "${path}" cannot be loaded: ${problem}`,
          hint,
        });
      }
      requireReady(path, contents.report, minExactness);
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
      const exactness = report.stateExact;
      return { version: versionOf(contents), exactness, isReady: exactness >= asked(settings).minExactness, report };
    };
  },
};

/** @throws SCENARIO_UNFIT */
function requireReady(path: string, { stateExact, steps }: BackendFitReport, bar: number): void {
  if (stateExact >= bar) return;
  const exact = (stateExact * 100).toFixed(1);
  throw reverieError('SCENARIO_UNFIT', {
    problem: `Sequence model "${path}" got ${exact} % of ${steps} held-out steps exactly right, which is below the bar of ${bar * 100} %.`,
    hint: 'Fit it for more steps or to more records; model.sequence.minExactness is the bar, and 0 uses the model as it is.',
  });
}
