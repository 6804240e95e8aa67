// A two-link arm that reaches for a target: the definition of Gymnasium's Reacher-v5.

import type { Expression } from '../expression.js';
import type { BuiltInBody } from './built-in-body.js';

const xml = `
<mujoco model="reacher">
  <compiler angle="radian" inertiafromgeom="true"/>
  <option timestep="0.01" integrator="RK4" gravity="0 0 -9.81"/>
  <size memory="1M"/>
  <default>
    <joint armature="1" damping="1" limited="true"/>
    <geom type="capsule" contype="0" friction="1 0.1 0.1"/>
  </default>
  <worldbody>
    <geom name="ground" type="plane" conaffinity="0" size="1 1 10"/>
    <geom name="south" conaffinity="0" size="0.02" fromto="-0.3 -0.3 0.01 0.3 -0.3 0.01"/>
    <geom name="east" conaffinity="0" size="0.02" fromto="0.3 -0.3 0.01 0.3 0.3 0.01"/>
    <geom name="north" conaffinity="0" size="0.02" fromto="-0.3 0.3 0.01 0.3 0.3 0.01"/>
    <geom name="west" conaffinity="0" size="0.02" fromto="-0.3 -0.3 0.01 -0.3 0.3 0.01"/>
    <body name="upper_arm" pos="0 0 0.01">
      <joint name="shoulder" type="hinge" axis="0 0 1" limited="false"/>
      <geom name="upper_arm" size="0.01" fromto="0 0 0 0.1 0 0"/>
      <body name="forearm" pos="0.1 0 0">
        <joint name="elbow" type="hinge" axis="0 0 1" range="-3 3"/>
        <geom name="forearm" size="0.01" fromto="0 0 0 0.1 0 0"/>
        <body name="fingertip" pos="0.11 0 0">
          <geom name="fingertip" type="sphere" size="0.01"/>
        </body>
      </body>
    </body>
    <body name="target" pos="0.1 -0.1 0.01">
      <joint name="target_x" type="slide" axis="1 0 0" armature="0" damping="0" range="-0.27 0.27" ref="0.1"/>
      <joint name="target_y" type="slide" axis="0 1 0" armature="0" damping="0" range="-0.27 0.27" ref="-0.1"/>
      <geom name="target" type="sphere" conaffinity="0" size="0.009"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder" gear="200" ctrllimited="true" ctrlrange="-1 1"/>
    <motor name="elbow" joint="elbow" gear="200" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
</mujoco>`;

/** From the target to the fingertip, m; both stay at one height, so two axes are the whole distance. */
const reach: Expression = {
  difference: [{ body: { name: 'fingertip', axes: 'xy' } }, { body: { name: 'target', axes: 'xy' } }],
};

/** Observation [cos of two angles, sin of two angles, target x y, two velocities, reach x y]; reward −distance − |action|². */
export const reacher: BuiltInBody = {
  xml,
  maxEpisodeSteps: 50,
  body: {
    frameSkip: 2,
    forward: false,
    resetNoise: [
      { qpos: 'all', uniform: [-0.1, 0.1] },
      { qpos: ['target_x', 'target_y'], disc: 0.2 },
      { qvel: 'all', uniform: [-0.005, 0.005] },
      { qvel: ['target_x', 'target_y'], value: 0 },
    ],
    observation: [
      { cos: { qpos: ['shoulder', 'elbow'] } },
      { sin: { qpos: ['shoulder', 'elbow'] } },
      { qpos: ['target_x', 'target_y'] },
      { qvel: ['shoulder', 'elbow'] },
      reach,
    ],
    reward: [
      { name: 'dist', of: { norm: reach }, weight: -1 },
      { name: 'ctrl', of: { sumSquares: { action: 'all' } }, weight: -1 },
    ],
  },
};
