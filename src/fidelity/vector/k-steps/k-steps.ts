// Many steps without looking: how an open-loop dream drifts away from what really followed, and whether what a policy did
// in the dream is worth as much for real.

import type { Instrument } from '../../instrument.js';
import { beginningsOf, openLoop, type Track } from '../open-loop.js';
import { CHUNK_STARTS, chunkRange, chunkRng, type Ground, type Judged } from '../plan.js';
import { replaysOf } from '../replays.js';
import { short } from '../section-parts.js';
import { concludeKSteps } from './finding.js';
import { type KStepRow, stateError, WORST } from './state-error.js';

export function kStepsInstrument(judged: Judged): Instrument<KStepRow> {
  const beginnings = beginningsOf(judged);
  return {
    id: 'k-steps',
    unit: 'dreams',
    chunks: Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_STARTS, beginnings.length);
      const own = beginnings.slice(first, end);
      const rng = chunkRng(judged.ground.plan, 'k-steps', chunk);
      const without = { propagation: 'mean', deterministic: true } as const;
      const tracks = await openLoop(judged, own, rng.split('drift'), without);
      const replays = await replaysOf(judged, own, rng.split('replay'));
      return own.map(({ row, steps }, i) => {
        const replay = replays[i];
        const replayed = replay && { ...replay, dreamt: short(replay.dreamt), real: short(replay.real) };
        return { errors: errorsOf(judged.ground, tracks[i], row, steps), replayed };
      });
    },
    conclude: (rows) => concludeKSteps(judged, beginnings, rows),
  };
}

function errorsOf(ground: Ground, track: Track, row: number, steps: number): number[] {
  const obsDim = ground.scales.state.length;
  return Array.from({ length: steps }, (_, t) =>
    t < track.lived ? stateError(ground, track.nextObs.subarray(t * obsDim, (t + 1) * obsDim), row + t) : WORST,
  ).map((error) => Number(error.toPrecision(6)));
}
