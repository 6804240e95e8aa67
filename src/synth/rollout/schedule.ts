// How long branches may be as training goes on.

import { reverieError } from '../../core/errors.js';

/** `[fromStep, toStep, fromHorizon, toHorizon]`; steps in whatever unit the caller counts, MBPO: epochs of 1000 real steps. */
export type HorizonSchedule = readonly [fromStep: number, toStep: number, fromHorizon: number, toHorizon: number];

/**
 * Horizon at `step`: `fromHorizon` until `fromStep`, then linear to `toHorizon` at `toStep`, rounded down, then constant
 * (MBPO, 1906.08253, appendix C: `[20, 150, 1, 1]` for HalfCheetah, `[20, 300, 1, 25]` for Humanoid;
 * rounding as in its code, `_set_rollout_length`). Throws ROLLOUT_INVALID.
 */
export function horizonSchedule(step: number, schedule: HorizonSchedule): number {
  const [fromStep, toStep, fromHorizon, toHorizon] = schedule;
  const fits =
    schedule.every(Number.isFinite) &&
    toStep >= fromStep &&
    Number.isInteger(fromHorizon) &&
    Number.isInteger(toHorizon);
  if (!fits || fromHorizon < 1 || toHorizon < 1 || Number.isNaN(step)) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `horizon schedule [${schedule.join(', ')}] at step ${step}.`,
      hint: 'Give [fromStep, toStep, fromHorizon, toHorizon] with fromStep <= toStep and whole horizons >= 1.',
    });
  }
  if (step <= fromStep) return fromHorizon;
  if (step >= toStep) return toHorizon;
  return Math.floor(fromHorizon + ((step - fromStep) / (toStep - fromStep)) * (toHorizon - fromHorizon));
}
