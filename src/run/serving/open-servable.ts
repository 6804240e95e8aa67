// From a scenario to what can be served of it.

import { reverieError } from '../../core/errors.js';
import { kinds } from '../../kinds/registry.js';
import type { DeviceFlags } from '../device-flags.js';
import type { AnyScenario } from '../scenario.js';
import type { Servable } from './servable.js';

export interface ServableOptions {
  /** Serve the real environment even where there is a dream of it. */
  readonly real?: boolean;
  /** A world model, or a run that holds one: serves the dream of it. Family `vector`. */
  readonly model?: string;
  /** What the model's dream is computed on; `auto` unless given. */
  readonly device?: DeviceFlags;
  /** Folder for what is kept while serving: replies of language models, experience. Exists. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

/** What a kind of world has as `open`. */
export type OpenServable<S extends AnyScenario = AnyScenario> = (
  scenario: S,
  options: ServableOptions,
) => Promise<Servable>;

/**
 * Opens what `scenario` describes.
 * @throws as its parts do; SCENARIO_UNFIT for a kind that cannot be served; TOOL_WITHOUT_RULE for the real environment of a
 * domain without rules; INPUT_MISSING
 */
export async function openServable(scenario: AnyScenario, options: ServableOptions): Promise<Servable> {
  const { open } = kinds.get(scenario.family);
  if (open === undefined) {
    const able = kinds.list().filter((kind) => kind.open !== undefined);
    const wanted = able.map(({ name }) => name).join(' or ');
    throw reverieError('SCENARIO_UNFIT', {
      problem: `Scenario "${scenario.config.name}" is of family ${scenario.family}; this is for scenarios of family ${wanted}.`,
      hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
    });
  }
  return ((await open()) as unknown as OpenServable)(scenario, options);
}
