// Backends that a job makes from the records it has gathered itself, each a line: what `model` names, and what its section says
// once it is made. Whatever is not listed answers as the scenario has it.

import type { OpenPhase } from '../../core/progress.js';
import { type Entry, Registry } from '../../core/registry.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsDomain } from '../../env/index.js';
import type { ExperienceStep } from '../../replay/index.js';

export interface FitRequest {
  readonly domain: ToolsDomain;
  /** Recorded calls of the real environment, in order of their episodes. */
  readonly steps: readonly ExperienceStep[];
  /** The backend's section of `model`, as far as the scenario has one. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Exists, and is the backend's alone. */
  readonly folder: string;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  readonly phase: OpenPhase;
}

export interface FittedBackend {
  /** What the section is to say now, over what it says. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What was found, in a few words. */
  readonly about: string;
}

/** The same request gives the same backend. @throws what the reason of the signal is, and storage errors */
export type FitBackend = (request: FitRequest) => Promise<FittedBackend>;

export type FittedBackendEntry = Entry<FitBackend>;

const operators: FittedBackendEntry = {
  name: 'operators',
  summary: 'Induces preconditions and effects.',
  make: async () => (await import('./fit-operators.js')).fitOperators,
};

export const fittedBackends = new Registry<FittedBackendEntry>('fitted backend', [operators]);
