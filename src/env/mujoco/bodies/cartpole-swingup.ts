// Swinging a pole up and balancing it: our own model, with a smooth reward after dm_control's cart-pole swing-up
// (dm_control/suite/cartpole.py; Tassa et al. 2018, 1801.00690). Unlike there, the cart must stay within 2.4 m of
// the middle or the episode ends (as in CartPole), the joints have a little friction, and a spinning pole earns nothing.

import type { Expression } from '../expression.js';
import type { BuiltInBody } from './built-in-body.js';

const xml = `
<mujoco model="cartpole-swingup">
  <option timestep="0.01" integrator="RK4"/>
  <size memory="1M"/>
  <default>
    <geom contype="0" conaffinity="0"/>
  </default>
  <worldbody>
    <body name="cart" pos="0 0 1">
      <joint name="slider" type="slide" axis="1 0 0" damping="0.2"/>
      <geom name="cart" type="box" size="0.2 0.15 0.1" mass="1"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0" damping="0.002"/>
        <geom name="pole" type="capsule" fromto="0 0 0 0 0 1" size="0.045" mass="0.1"/>
        <site name="tip" pos="0 0 1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="slider" gear="10" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
</mujoco>`;

const upright: Expression = { affine: { of: { cos: { qpos: ['hinge'] } }, scale: 0.5, offset: 0.5 } };
const centred: Expression = tolerant({ qpos: ['slider'] }, 2, 'gaussian', 0.5);
const smallControl: Expression = tolerant({ action: 'all' }, 1, 'quadratic', 0.2);
const smallVelocity: Expression = tolerant({ qvel: ['hinge'] }, 8, 'gaussian', 1);

/** 1 at zero, falling within `margin` (to 0.1, or to 0 for the quadratic) and worth `share` of its factor. */
function tolerant(of: Expression, margin: number, sigmoid: 'gaussian' | 'quadratic', share: number): Expression {
  const valueAtMargin = sigmoid === 'quadratic' ? 0 : 0.1;
  return {
    affine: {
      of: { tolerance: { of, bounds: [0, 0], margin, sigmoid, valueAtMargin } },
      scale: share,
      offset: 1 - share,
    },
  };
}

/**
 * Observation [x, sin θ, cos θ, dx/dt, dθ/dt], θ = 0 upright; starts hanging down; 250 steps of 0.04 s; reward in 0..1:
 * upright · centred · small control · small velocity. Terminates where |x| > 2.4 m.
 */
export const cartpoleSwingup: BuiltInBody = {
  xml,
  maxEpisodeSteps: 250,
  body: {
    frameSkip: 4,
    initial: { qpos: { hinge: Math.PI } },
    resetNoise: [
      { qpos: 'all', normal: 0.01 },
      { qvel: 'all', normal: 0.01 },
    ],
    observation: [
      { qpos: ['slider'] },
      { sin: { qpos: ['hinge'] } },
      { cos: { qpos: ['hinge'] } },
      { qvel: ['slider', 'hinge'] },
    ],
    reward: [{ name: 'swingup', of: { product: [upright, centred, smallControl, smallVelocity] } }],
    termination: [{ of: { qpos: ['slider'] }, atLeast: -2.4, atMost: 2.4 }],
    forward: false,
  },
};
