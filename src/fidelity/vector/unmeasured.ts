// The instrument of what cannot be measured of a model: it says so, and why.

import type { Instrument } from '../instrument.js';
import type { SectionId } from '../report/fidelity-report.js';
import { type MetricInfo, nothingFound } from './section-parts.js';

export function unmeasured(
  id: SectionId,
  title: string,
  infos: Readonly<Record<string, MetricInfo>>,
  why: string,
): Instrument<never> {
  return {
    id,
    unit: 'chunks',
    chunks: 0,
    measure: async () => [],
    conclude: () => nothingFound({ id, title }, infos, why),
  };
}

export const ONLY_LIVED_IN =
  'One can only live in this model from its own reset on: it cannot be put into a recorded state.';
