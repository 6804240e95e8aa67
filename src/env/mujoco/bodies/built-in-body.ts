// What a built-in body is: its MJCF, its definition as data and its clock.

import type { KnownFunctions } from '../../../core/environment.js';
import type { BodySpecInput } from '../body-spec.js';

export interface BuiltInBody {
  readonly xml: string;
  readonly maxEpisodeSteps: number;
  readonly body: BodySpecInput;
  /** Known functions that the data does not imply. */
  readonly known?: KnownFunctions;
}
