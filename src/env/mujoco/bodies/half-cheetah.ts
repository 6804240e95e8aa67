// A planar two-legged cheetah: the definition of Gymnasium's HalfCheetah-v5.

import type { BuiltInBody } from './built-in-body.js';

const xml = `
<mujoco model="half-cheetah">
  <compiler angle="radian" inertiafromgeom="true" settotalmass="14"/>
  <option timestep="0.01" gravity="0 0 -9.81"/>
  <size memory="4M"/>
  <default>
    <joint type="hinge" axis="0 1 0" armature="0.1" damping="0.01" stiffness="8" limited="true"
           solreflimit="0.02 1" solimplimit="0 0.8 0.03"/>
    <geom type="capsule" conaffinity="0" condim="3" friction="0.4 0.1 0.1" solref="0.02 1" solimp="0 0.8 0.01"/>
    <default class="root">
      <joint armature="0" damping="0" stiffness="0" limited="false"/>
    </default>
    <motor ctrllimited="true" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" conaffinity="1" size="40 40 40"/>
    <body name="torso" pos="0 0 0.7">
      <joint name="rootx" class="root" type="slide" axis="1 0 0"/>
      <joint name="rootz" class="root" type="slide" axis="0 0 1"/>
      <joint name="rooty" class="root"/>
      <geom name="torso" size="0.046" fromto="-0.5 0 0 0.5 0 0"/>
      <geom name="head" size="0.046 0.15" pos="0.6 0 0.1" axisangle="0 1 0 0.87"/>
      <body name="bthigh" pos="-0.5 0 0">
        <joint name="bthigh" range="-0.52 1.05" stiffness="240" damping="6"/>
        <geom name="bthigh" size="0.046 0.145" pos="0.1 0 -0.13" axisangle="0 1 0 -3.8"/>
        <body name="bshin" pos="0.16 0 -0.25">
          <joint name="bshin" range="-0.785 0.785" stiffness="180" damping="4.5"/>
          <geom name="bshin" size="0.046 0.15" pos="-0.14 0 -0.07" axisangle="0 1 0 -2.03"/>
          <body name="bfoot" pos="-0.28 0 -0.14">
            <joint name="bfoot" range="-0.4 0.785" stiffness="120" damping="3"/>
            <geom name="bfoot" size="0.046 0.094" pos="0.03 0 -0.097" axisangle="0 1 0 -0.27"/>
          </body>
        </body>
      </body>
      <body name="fthigh" pos="0.5 0 0">
        <joint name="fthigh" range="-1 0.7" stiffness="180" damping="4.5"/>
        <geom name="fthigh" size="0.046 0.133" pos="-0.07 0 -0.12" axisangle="0 1 0 0.52"/>
        <body name="fshin" pos="-0.14 0 -0.24">
          <joint name="fshin" range="-1.2 0.87" stiffness="120" damping="3"/>
          <geom name="fshin" size="0.046 0.106" pos="0.065 0 -0.09" axisangle="0 1 0 -0.6"/>
          <body name="ffoot" pos="0.13 0 -0.18">
            <joint name="ffoot" range="-0.5 0.5" stiffness="60" damping="1.5"/>
            <geom name="ffoot" size="0.046 0.07" pos="0.045 0 -0.07" axisangle="0 1 0 -0.6"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="bthigh" joint="bthigh" gear="120"/>
    <motor name="bshin" joint="bshin" gear="90"/>
    <motor name="bfoot" joint="bfoot" gear="60"/>
    <motor name="fthigh" joint="fthigh" gear="120"/>
    <motor name="fshin" joint="fshin" gear="60"/>
    <motor name="ffoot" joint="ffoot" gear="30"/>
  </actuator>
</mujoco>`;

/** Observation [all positions but x (8), all velocities (9)]; reward forward velocity − control cost; never terminates. */
export const halfCheetah: BuiltInBody = {
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
      { qpos: ['rootz', 'rooty', 'bthigh', 'bshin', 'bfoot', 'fthigh', 'fshin', 'ffoot'] },
      { qvel: 'all' },
    ],
    reward: [
      { name: 'forward', of: { velocity: { qpos: ['rootx'] } } },
      { name: 'ctrl', of: { sumSquares: { action: 'all' } }, weight: -0.1 },
    ],
  },
};
