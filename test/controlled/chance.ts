// Whether an answer goes wrong, and how sure it claims to be. The chance of an error is drawn first and the error from it,
// so that confidence can be calibrated exactly: few hard questions have most of the errors.

import type { Rng } from '../../src/core/rng.js';
import type { Asked } from './asked.js';

export interface Chance {
  readonly isWrong: boolean;
  readonly confidence: number;
  /** For the choice of what goes wrong. */
  readonly rng: Rng;
}

/** Chance of an error of a hard question; the easy ones have `EASY` of the mean. */
const HARD = 0.7;
const EASY = 0.3;

/** The share `errorRate` of all answers is wrong, of hard questions most. */
export function drawChance(asked: Asked, errorRate: number, label: string): Chance {
  const rng = asked.rng.split(label);
  const risk = riskOf(errorRate, rng);
  const isWrong = rng.uniform() < risk;
  rng.uniform();
  return { isWrong, confidence: Number((1 - risk).toFixed(6)), rng };
}

function riskOf(mean: number, rng: Rng): number {
  const isHardDraw = rng.uniform();
  const spread = rng.uniform();
  if (mean <= 0 || mean >= HARD) return mean;
  const hardShare = (mean * (1 - EASY)) / (HARD - EASY * mean);
  return isHardDraw < hardShare ? HARD + (spread - 0.5) * 0.6 : EASY * mean * 2 * spread;
}
