// All that is measured of one model of vectors.

import type { Instrument } from '../instrument.js';
import { oneStepInstrument } from './one-step/one-step.js';
import type { Judged } from './plan.js';

export function vectorInstruments(judged: Judged): readonly Instrument[] {
  return [oneStepInstrument(judged)] as readonly Instrument[];
}
