// Balancing a pole on a cart: the definition of Gymnasium's InvertedPendulum-v5.

import type { BuiltInBody } from './built-in-body.js';

const xml = `
<mujoco model="inverted-pendulum">
  <compiler inertiafromgeom="true"/>
  <option timestep="0.02" integrator="RK4" gravity="0 0 -9.81"/>
  <size memory="1M"/>
  <default>
    <joint damping="1" limited="true"/>
    <geom type="capsule" contype="0" friction="1 0.1 0.1"/>
  </default>
  <worldbody>
    <geom name="rail" size="0.02 1" quat="0.707 0 0.707 0"/>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" range="-1 1"/>
      <geom name="cart" size="0.1 0.1" quat="0.707 0 0.707 0"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0" range="-90 90"/>
        <geom name="pole" size="0.049" fromto="0 0 0 0.001 0 0.6"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="slide" joint="slider" gear="100" ctrllimited="true" ctrlrange="-3 3"/>
  </actuator>
</mujoco>`;

/** Observation [x, θ, dx/dt, dθ/dt]; reward 1 a step while |θ| ≤ 0.2 rad. */
export const invertedPendulum: BuiltInBody = {
  xml,
  maxEpisodeSteps: 1000,
  body: {
    frameSkip: 2,
    forward: false,
    resetNoise: [
      { qpos: 'all', uniform: [-0.01, 0.01] },
      { qvel: 'all', uniform: [-0.01, 0.01] },
    ],
    observation: [{ qpos: 'all' }, { qvel: 'all' }],
    reward: [{ name: 'survive', of: { alive: true } }],
    termination: [{ of: { qpos: ['hinge'] }, atLeast: -0.2, atMost: 0.2 }],
  },
};
