// When two observations say the same.

import { canonicalJson } from '../../core/canonical-json.js';

/** JSON in canonical form, other text with its white space evened out: equal for observations that say the same. */
export function comparableObservation(observation: string): string {
  try {
    return canonicalJson(JSON.parse(observation));
  } catch {
    return observation.replace(/\s+/g, ' ').trim();
  }
}
