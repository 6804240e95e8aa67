// The instrument of what cannot be measured of a model: all of its metrics are there, nothing was counted, and it says why.

import type { Instrument } from '../instrument.js';

/** `instrument` without its work. */
export function unmeasured(instrument: Instrument, why: string): Instrument {
  const { section } = instrument.conclude([]);
  const silent = { summary: 'Not measured.', charts: [], tables: [], worst: [], notes: [why] };
  return {
    id: instrument.id,
    unit: instrument.unit,
    chunks: 0,
    measure: async () => [],
    conclude: () => ({ section: { ...section, ...silent }, samples: {} }),
  };
}
