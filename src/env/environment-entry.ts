// What can be named as an environment in a scenario: the form of an entry, ours or a plugin's.

import type { z } from 'zod';
import type { VectorEnvironment } from '../core/environment.js';
import type { Entry } from '../core/registry.js';
import type { ClockSetting } from './clocked-environment.js';

/** An environment's settings, checked: the keys of its schema, and its clock. */
export interface EnvironmentSettings extends ClockSetting {
  readonly [key: string]: unknown;
}

/** `name` is the `id` that scenarios give; `schema` has the keys beside `id` and `maxEpisodeSteps`. */
export interface EnvironmentEntry extends Entry<(settings: EnvironmentSettings) => Promise<VectorEnvironment>> {
  readonly schema?: z.ZodObject;
  /** The key of its schema that names it in place of `id`: there are many environments behind one entry. */
  readonly namedBy?: string;
}
