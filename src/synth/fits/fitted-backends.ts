// Backends that a job makes from the records it has gathered itself, each a line: what `model` names, and what its section says
// once it is made. Whatever is not listed answers as the scenario has it.

import { type Entry, Registry } from '../../core/registry.js';
import type { FitBackend } from './backend-fit.js';

export type FittedBackendEntry = Entry<FitBackend>;

const operators: FittedBackendEntry = {
  name: 'operators',
  summary: 'Induces preconditions and effects.',
  make: async () => (await import('./fit-operators.js')).fitOperators,
};

const sequence: FittedBackendEntry = {
  name: 'sequence',
  summary: 'Trains a small language model on them.',
  make: async () => (await import('./fit-learned.js')).fitLearned('sequence'),
};

const lifted: FittedBackendEntry = {
  name: 'lifted',
  summary: 'Keeps what they did to screens, to be carried over to others.',
  make: async () => (await import('./fit-learned.js')).fitLearned('lifted'),
};

const analogy: FittedBackendEntry = {
  name: 'analogy',
  summary: 'Keeps what they did to text games, to be carried over to other moments and games.',
  make: async () => (await import('./fit-learned.js')).fitLearned('analogy'),
};

export const fittedBackends = new Registry<FittedBackendEntry>('fitted backend', [
  operators,
  lifted,
  analogy,
  sequence,
]);
