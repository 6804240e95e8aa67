// What people call the elements of an observation, where the environment is one we know.

import { type EnvSpec, rowSize, type VectorEnvironment } from '../../../../env/index.js';

const velocities = (joints: readonly string[]) => joints.map((joint) => `d ${joint}/dt`);
const LEG = ['thigh', 'leg', 'foot'];
const LEGS = [...LEG, 'left thigh', 'left leg', 'left foot'];
const CHEETAH = ['back thigh', 'back shin', 'back foot', 'front thigh', 'front shin', 'front foot'];
const ROOT = ['root z', 'root angle'];

const NAMES: Readonly<Record<string, readonly string[]>> = {
  pendulum: ['cos θ', 'sin θ', 'dθ/dt'],
  cartpole: ['x', 'dx/dt', 'θ', 'dθ/dt'],
  'inverted-pendulum': ['x', 'θ', 'dx/dt', 'dθ/dt'],
  'cartpole-swingup': ['x', 'sin θ', 'cos θ', 'dx/dt', 'dθ/dt'],
  hopper: [...ROOT, ...LEG, ...velocities(['root x', ...ROOT, ...LEG])],
  walker2d: [...ROOT, ...LEGS, ...velocities(['root x', ...ROOT, ...LEGS])],
  'half-cheetah': [...ROOT, ...CHEETAH, ...velocities(['root x', ...ROOT, ...CHEETAH])],
  gridworld: ['cell'],
};

/** One name an element; numbered where the environment is not a known one, or shows something else. */
export function elementNames(spec: EnvSpec, env: VectorEnvironment): readonly string[] {
  const names = spec.observation === undefined ? NAMES[spec.id ?? ''] : undefined;
  const size = rowSize(env.observationSpace);
  if (names?.length === size) return names;
  return Array.from({ length: size }, (_, j) => `observation[${j}]`);
}
