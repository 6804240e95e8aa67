// A share of counted units with its interval.

import { wilson } from '../../worldmodel/index.js';
import { type Estimate, NOTHING } from './estimate.js';
import { unfit } from './numbers.js';

/**
 * `hits` of `of` units as a share with Wilson's score interval (Wilson 1927); NOTHING where `of` is 0. Halves count as halves.
 *
 * @throws FIDELITY_NUMBERS_INVALID unless 0 <= hits <= of
 */
export function shareEstimate(hits: number, of: number, confidence = 0.95): Estimate {
  if (!(hits >= 0 && hits <= of && of < Number.POSITIVE_INFINITY)) throw unfit('share', `${hits} of ${of}.`);
  if (of === 0) return NOTHING;
  const { value, low, high } = wilson(hits, of, confidence);
  return { value, low, high, n: of, method: 'wilson' };
}
