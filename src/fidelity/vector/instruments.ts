// All that is measured of one model of vectors.

import type { Instrument } from '../instrument.js';
import { calibrationInstrument } from './calibration.js';
import { distributionInstrument } from './distribution.js';
import type { Judged } from './ground.js';
import { kStepsInstrument } from './k-steps.js';
import { oneStepInstrument } from './one-step.js';
import { rewardEndInstrument } from './reward-end.js';

/** In the order of the report. Each says of itself what it cannot measure of this model. */
export function vectorInstruments(judged: Judged): readonly Instrument[] {
  return [
    oneStepInstrument(judged),
    kStepsInstrument(judged),
    rewardEndInstrument(judged),
    calibrationInstrument(judged),
    distributionInstrument(judged),
  ] as readonly Instrument[];
}
