// Text games, as a user's plugin would bring them.

import { z } from 'zod';
import type { Plugin } from '../core/plugins.js';
import type { BackendEntry } from '../worldmodel/tools/backend-model.js';
import { textGames } from './pddl/text-game.js';

const induceRecorded = {
  name: 'induced-operators',
  summary: 'Operators from recorded steps.',
  make: async () => (await import('./operators/induce-operators.js')).induceRecorded,
};

const fitted = {
  name: 'operators',
  summary: 'Induces preconditions and effects.',
  make: async () => (await import('./operators/induce-operators.js')).fitOperators,
};

const operatorsSection = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'What `reverie induce` wrote: operators.json, relative to the scenario; without one, what `reverie train` induces from its own records.',
      ),
    minConfidence: z
      .number()
      .min(0)
      .max(1)
      .default(0.8)
      .describe('Below this confidence the next backend is asked; without one the call is refused.'),
  })
  .describe('Backend `operators`: STRIPS-like operators found in recorded transitions.');

const NO_FILE = 'operators: no file of operators is named (model.operators.file)';

const operatorsBackend: BackendEntry = {
  name: 'operators',
  summary: 'Preconditions and effects found in recorded transitions.',
  schema: operatorsSection,
  trust: 'proposal',
  files: ({ file }) => (file === undefined ? [] : [file as string]),
  minConfidence: ({ minConfidence }) => minConfidence as number,
  make: async () => {
    const { OperatorsModel, readOperators } = await import('./operators/induce-operators.js');
    return ({ domain, folder }, { file }) => {
      const { rules } = domain;
      if (file === undefined) return NO_FILE;
      if (rules?.scene === undefined) return 'operators: the states of this domain are no facts about objects';
      return new OperatorsModel(readOperators(file as string, folder), (state) => rules.scene!(state));
    };
  },
};

export const games: Plugin = {
  domains: [textGames],
  backends: [operatorsBackend],
  fittedBackends: [fitted],
  services: [induceRecorded],
};
