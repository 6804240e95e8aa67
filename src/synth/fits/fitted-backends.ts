// Backends that a job makes from the records it has gathered itself: those that say how they are learned, and those listed here, which are
// found in records by what only this room knows. Whatever else `model` names answers as the scenario has it.

import { type Entry, Registry } from '../../core/registry.js';
import { routerBackends } from '../../worldmodel/index.js';
import type { FitBackend } from './backend-fit.js';

export type FittedBackendEntry = Entry<FitBackend>;

const operators: FittedBackendEntry = {
  name: 'operators',
  summary: 'Induces preconditions and effects.',
  make: async () => (await import('./fit-operators.js')).fitOperators,
};

export const fittedBackends = new Registry<FittedBackendEntry>('fitted backend', [operators]);

/** What makes a backend of records; undefined where it is not made of any. @throws NOT_REGISTERED */
export async function fitterOf(backend: string): Promise<FitBackend | undefined> {
  if (fittedBackends.has(backend)) return fittedBackends.get(backend).make();
  if (routerBackends.get(backend).fit === undefined) return undefined;
  return (await import('./fit-learned.js')).fitLearned(backend);
}
