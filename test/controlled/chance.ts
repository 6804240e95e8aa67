// Whether an answer goes wrong, and how sure it claims to be. The chance of an error is drawn first and the error from it,
// so that confidence can be calibrated exactly: few hard questions have most of the errors.

import type { Rng } from '../../src/core/rng.js';
import type { Asked } from './asked.js';
import type { ConfidenceStyle, ControlledOptions } from './controlled-options.js';

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
export function drawChance(asked: Asked, errorRate: number, options: ControlledOptions, label: string): Chance {
  const rng = sourceOf(asked, options).split(label);
  const risk = riskOf(errorRate, rng);
  const isWrong = rng.uniform() < risk;
  return { isWrong, confidence: confidenceOf(1 - risk, options.confidence ?? 'calibrated', rng), rng };
}

function sourceOf({ fixedRng, rng }: Asked, { errorCorrelation = 0 }: ControlledOptions): Rng {
  return fixedRng.split('correlated').uniform() < errorCorrelation ? fixedRng : rng;
}

function riskOf(mean: number, rng: Rng): number {
  const isHardDraw = rng.uniform();
  const spread = rng.uniform();
  if (mean <= 0 || mean >= HARD) return mean;
  const hardShare = (mean * (1 - EASY)) / (HARD - EASY * mean);
  return isHardDraw < hardShare ? HARD + (spread - 0.5) * 0.6 : EASY * mean * 2 * spread;
}

function confidenceOf(calibrated: number, style: ConfidenceStyle, rng: Rng): number {
  const noise = rng.uniform();
  if (style === 'constant') return 0.8;
  return Number((style === 'overconfident' ? 0.9 + 0.1 * noise : calibrated).toFixed(6));
}
