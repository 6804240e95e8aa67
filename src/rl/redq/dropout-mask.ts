// Which units a dropout leaves out (Srivastava et al. 2014), drawn outside the graph as all noise is: few are left out, so the
// gaps between them are drawn, which takes one number for each unit that goes instead of one for each that stays.

import type { Rng } from '../../core/rng.js';

/** 1 = kept, 0 = left out, each with probability `share` in (0, 1), independently. */
export function dropoutMask(units: number, share: number, rng: Rng): Uint8Array {
  const mask = new Uint8Array(units).fill(1);
  const log = Math.log1p(-share);
  for (let at = gap(rng, log); at < units; at += 1 + gap(rng, log)) mask[at] = 0;
  return mask;
}

/** Units kept before the next one left out: geometric. */
function gap(rng: Rng, log: number): number {
  return Math.floor(Math.log1p(-rng.uniform()) / log);
}
