// From an expression as data to scalars of one model: names become indices, and a wrong name is an error that says
// which there are.

import { nearest, reverieError } from '../../core/errors.js';
import type { Expression, Place, Selector, Sigmoid } from './expression-schema.js';
import type { Reduction, Scalar } from './scalar.js';
import type { NamedKind, Simulation } from './simulation.js';

/** What names in an expression refer to. */
export interface ExpressionScope {
  readonly simulation: Simulation;
  /** Actuators of the model in the order of the action. */
  readonly actuators: readonly number[];
}

/** The numbers an expression answers, in order. */
export function scalarsOf(expression: Expression, scope: ExpressionScope): Scalar[] {
  const [operator] = Object.keys(expression) as (keyof Expression)[];
  const resolve = RESOLVERS[operator] as (value: unknown, scope: ExpressionScope) => Scalar[];
  return resolve(expression[operator], scope);
}

/** The one number of an expression; an error if it answers several. */
export function scalarOf(expression: Expression, scope: ExpressionScope, where: string): Scalar {
  const scalars = scalarsOf(expression, scope);
  if (scalars.length === 1) return scalars[0];
  const problem = `${where} answers ${scalars.length} numbers where one is needed; reduce it with sum, norm or sumSquares.`;
  throw reverieError('ENV_SPEC_INVALID', { problem });
}

/** Addresses in qpos or qvel that a selector means. */
export function addressesOf(selector: Selector, of: 'qpos' | 'qvel', simulation: Simulation): number[] {
  const size = of === 'qpos' ? simulation.nq : simulation.nv;
  if (selector === 'all') return Array.from({ length: size }, (_, i) => i);
  return selector.flatMap((entry) => {
    if (typeof entry === 'string') return simulation.jointAddresses(indexOf(simulation, 'joint', entry), of);
    if (entry < size) return [entry];
    throw reverieError('ENV_SPEC_INVALID', { problem: `${of} has ${size} elements, so there is no index ${entry}.` });
  });
}

/** Index of a named object of the model; ENV_SPEC_INVALID with the nearest name if there is none. */
export function indexOf(simulation: Simulation, kind: NamedKind, name: string): number {
  const index = simulation.indexOf(kind, name);
  if (index >= 0) return index;
  const near = nearest(name, simulation.names(kind));
  const advice = near === undefined ? `The model names no ${kind}.` : `Did you mean "${near}"?`;
  throw reverieError('ENV_SPEC_INVALID', { problem: `The model has no ${kind} "${name}". ${advice}` });
}

type Resolvers = {
  [K in keyof Required<Expression>]: (value: Required<Expression>[K], scope: ExpressionScope) => Scalar[];
};

const RESOLVERS: Resolvers = {
  qpos: (selector, { simulation }) => leaves('qpos', addressesOf(selector, 'qpos', simulation)),
  qvel: (selector, { simulation }) => leaves('qvel', addressesOf(selector, 'qvel', simulation)),
  constraintForce: (selector, { simulation }) => leaves('qfrcConstraint', addressesOf(selector, 'qvel', simulation)),
  action: (selector, scope) => leaves('action', actionIndices(selector, scope)),
  body: (place, { simulation }) => position('xpos', 'body', place, simulation),
  site: (place, { simulation }) => position('siteXpos', 'site', place, simulation),
  upright: (name, { simulation }) => leaves('xmat', [9 * indexOf(simulation, 'body', name) + 8]),
  sensor: (name, { simulation }) =>
    leaves('sensordata', simulation.sensorAddresses(indexOf(simulation, 'sensor', name))),
  constant: (value) => [{ kind: 'constant', key: String(value), value }],
  alive: () => leaves('alive', [0]),
  sin: (of, scope) => mapped(of, scope, 'sin', Math.sin),
  cos: (of, scope) => mapped(of, scope, 'cos', Math.cos),
  abs: (of, scope) => mapped(of, scope, 'abs', Math.abs),
  square: (of, scope) => mapped(of, scope, 'square', (value) => value * value),
  exp: (of, scope) => mapped(of, scope, 'exp', Math.exp),
  norm: (of, scope) => [reduced('norm', scalarsOf(of, scope))],
  sumSquares: (of, scope) => [reduced('sumSquares', scalarsOf(of, scope))],
  velocity: (of, scope) =>
    scalarsOf(of, scope).map((scalar) => ({ kind: 'velocity', key: `velocity(${scalar.key})`, of: scalar })),
  sum: (terms, scope) => [reduced('sum', concatenated(terms, scope))],
  product: (factors, scope) => [reduced('product', concatenated(factors, scope))],
  concat: concatenated,
  difference: ([first, second], scope) => differences(scalarsOf(first, scope), scalarsOf(second, scope)),
  clip: ({ of, low, high }, scope) =>
    mapped(of, scope, `clip[${low},${high}]`, (value) => clamp(value, low, high), true),
  affine: ({ of, scale, offset }, scope) =>
    mapped(of, scope, `affine[${scale},${offset}]`, (value) => scale * value + offset),
  tolerance: ({ of, ...shape }, scope) => mapped(of, scope, `tolerance${JSON.stringify(shape)}`, toleranceOf(shape)),
};

function leaves(array: (Scalar & { kind: 'leaf' })['array'], indices: readonly number[]): Scalar[] {
  return indices.map((index) => ({ kind: 'leaf', key: `${array}[${index}]`, array, index }));
}

function mapped(
  of: Expression,
  scope: ExpressionScope,
  name: string,
  map: (value: number) => number,
  clip = false,
): Scalar[] {
  return scalarsOf(of, scope).map((scalar) => ({ kind: 'map', key: `${name}(${scalar.key})`, of: scalar, map, clip }));
}

function reduced(how: Reduction, of: readonly Scalar[]): Scalar {
  return { kind: 'reduce', key: `${how}(${of.map((scalar) => scalar.key).join(',')})`, of, how };
}

function concatenated(parts: readonly Expression[], scope: ExpressionScope): Scalar[] {
  return parts.flatMap((part) => scalarsOf(part, scope));
}

function differences(first: readonly Scalar[], second: readonly Scalar[]): Scalar[] {
  if (first.length !== second.length) {
    const problem = `A difference takes parts of equal length, not ${first.length} and ${second.length} numbers.`;
    throw reverieError('ENV_SPEC_INVALID', { problem });
  }
  return first.map((scalar, i) => reduced('difference', [scalar, second[i]]));
}

function position(array: 'xpos' | 'siteXpos', kind: 'body' | 'site', place: Place, simulation: Simulation): Scalar[] {
  const { name, axes } = typeof place === 'string' ? { name: place, axes: 'xyz' } : place;
  const index = indexOf(simulation, kind, name);
  return leaves(
    array,
    Array.from(axes, (axis) => 3 * index + 'xyz'.indexOf(axis)),
  );
}

function actionIndices(selector: Selector, { simulation, actuators }: ExpressionScope): number[] {
  if (selector === 'all') return actuators.map((_, i) => i);
  return selector.map((entry) => {
    const at = typeof entry === 'string' ? actuators.indexOf(indexOf(simulation, 'actuator', entry)) : entry;
    if (at >= 0 && at < actuators.length) return at;
    throw reverieError('ENV_SPEC_INVALID', { problem: `The action has no element "${entry}".` });
  });
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

// A smooth bonus for being within bounds, as in dm_control (dm_control/utils/rewards.py, `tolerance`).

interface ToleranceShape {
  readonly bounds: readonly [number, number];
  readonly margin: number;
  readonly sigmoid: Sigmoid;
  readonly valueAtMargin: number;
}

/** 1 for values within bounds; outside it falls with the distance, to `valueAtMargin` at distance `margin`. */
function toleranceOf(shape: ToleranceShape): (value: number) => number {
  const [low, high] = shape.bounds;
  const { margin } = shape;
  const fall = sigmoidOf(shape.sigmoid, shape.valueAtMargin);
  return (value) => {
    if (Number.isNaN(value)) return value;
    const distance = Math.max(low - value, value - high);
    if (distance <= 0) return 1;
    return margin === 0 ? 0 : fall(distance / margin);
  };
}

function sigmoidOf(sigmoid: Sigmoid, atOne: number): (x: number) => number {
  switch (sigmoid) {
    case 'gaussian': {
      const scale = -Math.log(atOne);
      return (x) => Math.exp(-scale * x * x);
    }
    case 'linear':
      return (x) => Math.max(0, 1 - x * (1 - atOne));
    case 'quadratic':
      return (x) => Math.max(0, 1 - x * x * (1 - atOne));
    case 'cosine': {
      const scale = Math.acos(2 * atOne - 1) / Math.PI;
      return (x) => (x * scale < 1 ? (1 + Math.cos(Math.PI * x * scale)) / 2 : 0);
    }
    case 'tanhSquared': {
      const scale = Math.atanh(Math.sqrt(1 - atOne));
      return (x) => 1 - Math.tanh(x * scale) ** 2;
    }
  }
}
