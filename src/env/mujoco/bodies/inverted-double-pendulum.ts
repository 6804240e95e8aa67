// Balancing two linked poles on a cart: the definition of Gymnasium's InvertedDoublePendulum-v5.

import type { BuiltInBody } from './built-in-body.js';

const POLE_LENGTH = 0.6;
/** Height of the tip at or below which the episode ends, m. */
const MIN_HEIGHT = 1;

const xml = `
<mujoco model="inverted-double-pendulum">
  <compiler inertiafromgeom="true"/>
  <option timestep="0.01" integrator="RK4" gravity="1e-5 0 -9.81"/>
  <size memory="1M"/>
  <default>
    <joint damping="0.05"/>
    <geom type="capsule" contype="0" friction="1 0.1 0.1"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" pos="0 0 -3" size="40 40 40"/>
    <geom name="rail" size="0.02 1" quat="0.707 0 0.707 0"/>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" limited="true" range="-1 1" margin="0.01"/>
      <geom name="cart" size="0.1 0.1" quat="0.707 0 0.707 0"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom name="pole" size="0.045" fromto="0 0 0 0 0 ${POLE_LENGTH}"/>
        <body name="pole2" pos="0 0 ${POLE_LENGTH}">
          <joint name="hinge2" type="hinge" axis="0 1 0"/>
          <geom name="pole2" size="0.045" fromto="0 0 0 0 0 ${POLE_LENGTH}"/>
          <site name="tip" pos="0 0 ${POLE_LENGTH}"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="slide" joint="slider" gear="500" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
</mujoco>`;

/**
 * Observation [x, sin θ1, sin θ2, cos θ1, cos θ2, velocities clipped to ±10 (3), force on the cart's limit clipped to ±10];
 * reward 10 while the tip is above 1 m, less penalties of distance and velocity.
 */
export const invertedDoublePendulum: BuiltInBody = {
  xml,
  maxEpisodeSteps: 1000,
  body: {
    frameSkip: 5,
    forward: false,
    resetNoise: [
      { qpos: 'all', uniform: [-0.1, 0.1] },
      { qvel: 'all', normal: 0.1 },
    ],
    observation: [
      { qpos: ['slider'] },
      { sin: { qpos: ['hinge', 'hinge2'] } },
      { cos: { qpos: ['hinge', 'hinge2'] } },
      { clip: { of: { qvel: 'all' }, low: -10, high: 10 } },
      { clip: { of: { constraintForce: ['slider'] }, low: -10, high: 10 } },
    ],
    reward: [
      { name: 'survive', of: { alive: true }, weight: 10 },
      { name: 'distance_x', of: { square: { site: { name: 'tip', axes: 'x' } } }, weight: -0.01 },
      {
        name: 'distance_height',
        of: { square: { affine: { of: { site: { name: 'tip', axes: 'z' } }, offset: -2 } } },
        weight: -1,
      },
      { name: 'velocity_hinge', of: { square: { qvel: ['hinge'] } }, weight: -1e-3 },
      { name: 'velocity_hinge2', of: { square: { qvel: ['hinge2'] } }, weight: -5e-3 },
    ],
    termination: [{ of: { site: { name: 'tip', axes: 'z' } }, above: MIN_HEIGHT }],
  },
  known: {
    // The tip's height from the shown angles. The simulation's own lags by a part of a substep, so the two can differ in
    // the one step in which the tip passes the limit.
    terminated: (nextObs, at) => {
      const [sin1, sin2, cos1, cos2] = [nextObs[at + 1], nextObs[at + 2], nextObs[at + 3], nextObs[at + 4]];
      return !(POLE_LENGTH * (cos1 + cos1 * cos2 - sin1 * sin2) > MIN_HEIGHT);
    },
  },
};
