// What is measured of a model of numbers by policies: do they rank in it, and what do they learn from it. Made once for all
// models of a run, and only where it is asked for.

import type { Instrument, VectorSubjectModel, VectorTruth } from '../../../../fidelity/index.js';
import { openVectorLadder } from '../ladder/vector.js';
import { vectorLearningInstrument } from '../learning/vector.js';
import type { FidelitySetup } from '../setup.js';

export interface PolicyInstruments {
  /** Identifies policies and learners. */
  readonly identity: string;
  of(subject: VectorSubjectModel, truth: VectorTruth): readonly Instrument[];
  close(): Promise<void>;
}

/** Throws what `openVectorLadder` throws. */
export async function openPolicyInstruments(setup: FidelitySetup): Promise<PolicyInstruments> {
  const { sections, learning } = setup.scenario.config.fidelity;
  const ladder = sections.includes('rank') ? await openVectorLadder(setup) : undefined;
  const isLearned = sections.includes('learning');
  return {
    identity: JSON.stringify([ladder?.identity ?? null, isLearned ? learning : null]),
    of: (subject, truth) => [
      ...(ladder === undefined ? [] : [ladder.rank(subject)]),
      ...(isLearned ? [vectorLearningInstrument(setup, truth, subject.model)] : []),
    ],
    close: async () => ladder?.close(),
  };
}
