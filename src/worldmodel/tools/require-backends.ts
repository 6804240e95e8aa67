// Which backends may be missing without a word: a backend that the scenario names must answer, or the run ends before it begins.

import { reverieError } from '../../core/errors.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { BackendEntry, BackendSettings } from './backend-model.js';

/** What is asked where a scenario names no backends: `rules` and `replay` where the domain has them. */
export const DEFAULT_BACKENDS = ['rules', 'replay', 'llm'];

export interface ListedBackend {
  readonly entry: Pick<BackendEntry, 'name' | 'isReal'>;
  readonly settings: BackendSettings;
  /** Why the domain cannot have it; absent: it can. */
  readonly absent?: string;
}

/**
 * A backend may be absent where one before it answers every call, and so may those of the default list that depend on the domain.
 * @throws SCENARIO_UNFIT if none is there, MODEL_BACKEND_UNAVAILABLE if one that would be asked is not
 */
export function requireBackends(listed: readonly ListedBackend[], domain: ToolsDomain): void {
  const reasons = listed.flatMap(({ absent }) => absent ?? []);
  if (reasons.length === listed.length)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `No backend of the world model can answer calls of domain "${domain.id}": ${reasons.join('; ')}.`,
      hint: 'Give the domain rules.js, records to replay or a language model (section llm), and name it in model.backends.',
    });
  const isDefault = listed.map(({ entry }) => entry.name).join() === DEFAULT_BACKENDS.join();
  for (const { entry, settings, absent } of listed) {
    if (absent === undefined && entry.isReal?.(domain, settings) === true) return;
    if (absent === undefined || (isDefault && entry.name !== 'llm')) continue;
    const reason = absent.replace(`${entry.name}: `, '');
    throw reverieError('MODEL_BACKEND_UNAVAILABLE', { backend: entry.name, domain: domain.id, reason });
  }
}
