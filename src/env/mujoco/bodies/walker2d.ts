// A planar walker with two legs: the definition of Gymnasium's Walker2d-v5.

import type { BuiltInBody } from './built-in-body.js';

function leg(side: string): string {
  return `
      <body name="thigh${side}" pos="0 0 -0.19999999999999996">
        <joint name="thigh${side}" range="-150 0"/>
        <geom name="thigh${side}" size="0.050000000000000003 0.22500000000000003" pos="0 0 -0.22500000000000009"/>
        <body name="leg${side}" pos="0 0 -0.70000000000000007">
          <joint name="leg${side}" pos="0 0 0.25" range="-150 0"/>
          <geom name="leg${side}" size="0.040000000000000001 0.25"/>
          <body name="foot${side}" pos="0.20000000000000001 0 -0.34999999999999998">
            <joint name="foot${side}" pos="-0.20000000000000001 0 0.10000000000000001" range="-45 45"/>
            <geom name="foot${side}" size="0.059999999999999998 0.10000000000000001" friction="1.9"
                  pos="-0.10000000000000001 0 0.10000000000000001" quat="0.70710678118654757 0 -0.70710678118654746 0"/>
          </body>
        </body>
      </body>`;
}

const xml = `
<mujoco model="walker2d">
  <compiler angle="degree" inertiafromgeom="true"/>
  <option timestep="0.002" integrator="RK4"/>
  <size memory="4M"/>
  <default>
    <joint type="hinge" axis="0 -1 0" armature="0.01" damping="0.1" limited="true"/>
    <geom type="capsule" conaffinity="0" condim="3" density="1000" friction="0.9 0.1 0.1"/>
    <default class="root">
      <joint armature="0" damping="0" limited="false"/>
    </default>
    <motor gear="100" ctrllimited="true" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" conaffinity="1" friction="0.7 0.1 0.1" size="40 40 40"/>
    <body name="torso" pos="0 0 1.25">
      <joint name="rootx" class="root" type="slide" axis="1 0 0" pos="0 0 -1.25"/>
      <joint name="rootz" class="root" type="slide" axis="0 0 1" pos="0 0 -1.25" ref="1.25"/>
      <joint name="rooty" class="root" axis="0 1 0"/>
      <geom name="torso" size="0.050000000000000003 0.19999999999999996"/>${leg('')}${leg('_left')}
    </body>
  </worldbody>
  <actuator>
    <motor name="thigh" joint="thigh"/>
    <motor name="leg" joint="leg"/>
    <motor name="foot" joint="foot"/>
    <motor name="thigh_left" joint="thigh_left"/>
    <motor name="leg_left" joint="leg_left"/>
    <motor name="foot_left" joint="foot_left"/>
  </actuator>
</mujoco>`;

/** Observation [all positions but x (8), velocities clipped to ±10 (9)]; reward forward velocity + healthy − control cost. */
export const walker2d: BuiltInBody = {
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
      { qpos: ['rootz', 'rooty', 'thigh', 'leg', 'foot', 'thigh_left', 'leg_left', 'foot_left'] },
      { clip: { of: { qvel: 'all' }, low: -10, high: 10 } },
    ],
    reward: [
      { name: 'forward', of: { velocity: { qpos: ['rootx'] } } },
      { name: 'survive', of: { alive: true } },
      { name: 'ctrl', of: { sumSquares: { action: 'all' } }, weight: -1e-3 },
    ],
    termination: [
      { of: { qpos: ['rootz'] }, above: 0.8, below: 2 },
      { of: { qpos: ['rooty'] }, above: -1, below: 1 },
    ],
  },
};
