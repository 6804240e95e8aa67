// A one-legged hopper: the definition of Gymnasium's Hopper-v5.

import type { BuiltInBody } from './built-in-body.js';

const xml = `
<mujoco model="hopper">
  <compiler angle="degree" inertiafromgeom="true"/>
  <option timestep="0.002" integrator="RK4"/>
  <size memory="2M"/>
  <default>
    <joint type="hinge" axis="0 -1 0" armature="1" damping="1" limited="true"/>
    <geom type="capsule" friction="0.9" condim="1" margin="0.001" solref="0.02 1" solimp="0.8 0.8 0.01"/>
    <default class="root">
      <joint armature="0" damping="0" limited="false"/>
    </default>
    <motor gear="200" ctrllimited="true" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" condim="3" friction="1" size="20 20 0.125"/>
    <body name="torso" pos="0 0 1.25">
      <joint name="rootx" class="root" type="slide" axis="1 0 0" pos="0 0 -1.25"/>
      <joint name="rootz" class="root" type="slide" axis="0 0 1" pos="0 0 -1.25" ref="1.25"/>
      <joint name="rooty" class="root" axis="0 1 0"/>
      <geom name="torso" size="0.05 0.19999999999999996"/>
      <body name="thigh" pos="0 0 -0.19999999999999996">
        <joint name="thigh" range="-150 0"/>
        <geom name="thigh" size="0.05 0.22500000000000003" pos="0 0 -0.22500000000000009"/>
        <body name="leg" pos="0 0 -0.70000000000000007">
          <joint name="leg" pos="0 0 0.25" range="-150 0"/>
          <geom name="leg" size="0.04 0.25"/>
          <body name="foot" pos="0.13 0 -0.35">
            <joint name="foot" pos="-0.13 0 0.1" range="-45 45"/>
            <geom name="foot" size="0.06 0.195" pos="-0.065 0 0.1" friction="2"
                  quat="0.70710678118654757 0 -0.70710678118654746 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="thigh" joint="thigh"/>
    <motor name="leg" joint="leg"/>
    <motor name="foot" joint="foot"/>
  </actuator>
</mujoco>`;

/** Observation [all positions but x (5), velocities clipped to ±10 (6)]; reward forward velocity + healthy − control cost. */
export const hopper: BuiltInBody = {
  xml,
  maxEpisodeSteps: 1000,
  body: {
    frameSkip: 4,
    forward: false,
    resetNoise: [
      { qpos: 'all', uniform: [-5e-3, 5e-3] },
      { qvel: 'all', uniform: [-5e-3, 5e-3] },
    ],
    observation: [
      { qpos: ['rootz', 'rooty', 'thigh', 'leg', 'foot'] },
      { clip: { of: { qvel: 'all' }, low: -10, high: 10 } },
    ],
    reward: [
      { name: 'forward', of: { velocity: { qpos: ['rootx'] } } },
      { name: 'survive', of: { alive: true } },
      { name: 'ctrl', of: { sumSquares: { action: 'all' } }, weight: -1e-3 },
    ],
    termination: [
      { of: { qpos: ['rootz'] }, above: 0.7 },
      { of: { qpos: ['rooty'] }, above: -0.2, below: 0.2 },
      { of: { concat: [{ qpos: ['rooty', 'thigh', 'leg', 'foot'] }, { qvel: 'all' }] }, above: -100, below: 100 },
    ],
  },
};
