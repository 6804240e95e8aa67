// Do dreams look like the real as a whole: transitions drawn from the depth of dreams against real ones.

import type { Instrument } from '../../instrument.js';
import { openLoop } from '../open-loop.js';
import { chunkRange, chunkRng, type Judged } from '../plan.js';
import { short } from '../section-parts.js';
import { widths } from '../truth.js';
import { DRAWS, drawsOf } from './draws.js';
import { concludeDistribution } from './finding.js';
import type { DistributionRow } from './row.js';

const CHUNK_DRAWS = 128;

export function distributionInstrument(judged: Judged): Instrument<DistributionRow> {
  const draws = drawsOf(judged);
  return {
    id: 'distribution',
    unit: 'dreams',
    chunks: draws.dreamt.length === 0 ? 0 : Math.ceil(DRAWS / CHUNK_DRAWS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_DRAWS, draws.dreamt.length);
      const own = draws.dreamt.slice(first, end);
      const { truth, plan } = judged.ground;
      const rng = chunkRng(plan, 'distribution', chunk);
      const tracks = await openLoop(judged, own, rng, { propagation: plan.propagation });
      const { obsDim, actionDim } = widths(truth);
      return tracks.map(({ lived, nextObs }, i) => {
        const { row, steps } = own[i];
        if (lived < steps) return { transition: null };
        const last = steps - 1;
        const obs =
          last === 0
            ? truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim)
            : nextObs.subarray((last - 1) * obsDim, last * obsDim);
        const at = (row + last) * actionDim;
        const action = truth.rows.action.subarray(at, at + actionDim);
        const change = obs.map((value, j) => nextObs[last * obsDim + j] - value);
        return { transition: [...obs, ...action, ...change].map(short) };
      });
    },
    conclude: (rows) => concludeDistribution(judged, draws, rows),
  };
}
