// Joint positions as far as an observation shows them: what lets a dreamt body be drawn, of which there is no state.

import type { Scalar } from './scalar.js';

/** How each element of qpos follows from an observation. */
export type JointSight =
  | { readonly by: 'value'; readonly at: number }
  /** Shown as sine and cosine. */
  | { readonly by: 'angle'; readonly sin: number; readonly cos: number }
  /** Only its velocity is shown: positions are added up from it. */
  | { readonly by: 'velocity'; readonly at: number }
  | { readonly by: 'nothing' };

/**
 * @param observation  what is shown, in order
 * @param velocityOf   element of qvel that is the derivative of an element of qpos; undefined where it is none
 */
export function jointSights(
  observation: readonly Scalar[],
  nq: number,
  velocityOf: (qpos: number) => number | undefined,
): JointSight[] {
  const at = (key: string) => observation.findIndex((scalar) => bare(scalar) === key);
  return Array.from({ length: nq }, (_, i): JointSight => {
    const value = at(`qpos[${i}]`);
    if (value >= 0) return { by: 'value', at: value };
    const [sin, cos] = [at(`sin(qpos[${i}])`), at(`cos(qpos[${i}])`)];
    if (sin >= 0 && cos >= 0) return { by: 'angle', sin, cos };
    const qvel = velocityOf(i);
    const velocity = qvel === undefined ? -1 : at(`qvel[${qvel}]`);
    return velocity >= 0 ? { by: 'velocity', at: velocity } : { by: 'nothing' };
  });
}

/** Name of what a scalar shows; a clip shows it as far as it goes. */
function bare(scalar: Scalar): string {
  return scalar.kind === 'map' && scalar.clip ? bare(scalar.of) : scalar.key;
}

/** Writes the joint positions of an observation into `qpos`, which holds those of the step before. */
export function placeAsSeen(
  sights: readonly JointSight[],
  observation: ArrayLike<number>,
  qpos: Float64Array,
  /** Since the step before; 0 at the first. */
  seconds: number,
): void {
  sights.forEach((sight, i) => {
    if (sight.by === 'value') qpos[i] = observation[sight.at];
    else if (sight.by === 'angle') qpos[i] = Math.atan2(observation[sight.sin], observation[sight.cos]);
    else if (sight.by === 'velocity') qpos[i] += observation[sight.at] * seconds;
  });
}
