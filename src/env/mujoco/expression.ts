// The data language in which observation, reward and termination of a MuJoCo body are written: an expression is an
// object with exactly one operator. Every expression answers one or several numbers.

import { z } from 'zod';
import { nearest, reverieError } from '../../core/errors.js';
import type { NamedKind, Simulation } from './simulation.js';

const axes = z.string().regex(/^[xyz]{1,3}$/, 'axes are letters of x, y and z, such as "xz"');
const selector = z.union([z.literal('all'), z.array(z.union([z.string(), z.int().min(0)])).min(1)], {
  error: 'give "all" or a list of names and indices',
});
const place = z.union([z.string(), z.strictObject({ name: z.string(), axes: axes.default('xyz') })], {
  error: 'give a name, or { name, axes } with axes such as "xz"',
});

/** Which joints (or degrees of freedom, by index) or actuators. */
export type Selector = z.infer<typeof selector>;
export type Place = z.infer<typeof place>;

const SIGMOIDS = ['gaussian', 'linear', 'quadratic', 'cosine', 'tanhSquared'] as const;
export type Sigmoid = (typeof SIGMOIDS)[number];

interface Tolerance {
  of: Expression;
  bounds: [number, number];
  margin: number;
  sigmoid: Sigmoid;
  valueAtMargin: number;
}

/** See docs of each key in `expressionSchema`. */
export interface Expression {
  qpos?: Selector;
  qvel?: Selector;
  constraintForce?: Selector;
  action?: Selector;
  body?: Place;
  site?: Place;
  upright?: string;
  sensor?: string;
  constant?: number;
  alive?: true;
  sin?: Expression;
  cos?: Expression;
  abs?: Expression;
  square?: Expression;
  exp?: Expression;
  norm?: Expression;
  sumSquares?: Expression;
  velocity?: Expression;
  sum?: Expression[];
  product?: Expression[];
  concat?: Expression[];
  difference?: [Expression, Expression];
  clip?: { of: Expression; low: number; high: number };
  affine?: { of: Expression; scale: number; offset: number };
  tolerance?: Tolerance;
}

const nested: z.ZodType<Expression> = z.lazy(() => expressionSchema);

const operators = z.strictObject({
  qpos: selector.optional().describe('positions of joints by name, or elements of qpos by index'),
  qvel: selector.optional().describe('velocities of joints by name, or elements of qvel by index'),
  constraintForce: selector.optional().describe('contact and limit forces in joint space, as qvel'),
  action: selector.optional().describe('elements of the action by actuator name or index'),
  body: place.optional().describe('world position of a body frame, m'),
  site: place.optional().describe('world position of a site, m'),
  upright: z.string().optional().describe('cosine between the z axis of a body and the vertical'),
  sensor: z.string().optional().describe('readings of a sensor'),
  constant: z.number().optional(),
  alive: z.literal(true).optional().describe('1 unless this step terminated (rewards only)'),
  sin: nested.optional(),
  cos: nested.optional(),
  abs: nested.optional(),
  square: nested.optional(),
  exp: nested.optional(),
  norm: nested.optional().describe('Euclidean norm of all elements'),
  sumSquares: nested.optional().describe('sum of the squares of all elements'),
  velocity: nested.optional().describe('change over this step divided by its duration, per second'),
  sum: z.array(nested).min(1).optional().describe('sum of all elements of all terms'),
  product: z.array(nested).min(1).optional().describe('product of all elements of all factors'),
  concat: z.array(nested).min(1).optional(),
  difference: z.tuple([nested, nested]).optional().describe('first minus second, element by element'),
  clip: z.strictObject({ of: nested, low: z.number(), high: z.number() }).optional(),
  affine: z
    .strictObject({ of: nested, scale: z.number().default(1), offset: z.number().default(0) })
    .optional()
    .describe('scale * value + offset'),
  tolerance: z
    .strictObject({
      of: nested,
      bounds: z.tuple([z.number(), z.number()]).default([0, 0]),
      margin: z.number().min(0).default(0),
      sigmoid: z.enum(SIGMOIDS).default('gaussian'),
      valueAtMargin: z.number().min(0).lt(1).default(0.1),
    })
    .optional()
    .describe('1 within bounds, falling to valueAtMargin at distance margin (dm_control/utils/rewards.py)'),
});

export const expressionSchema = operators.refine((value) => Object.keys(value).length === 1, {
  message: `an expression has exactly one operator, one of: ${Object.keys(operators.shape).join(', ')}`,
}) as unknown as z.ZodType<Expression>;
export const selectorSchema = selector;

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

// One number computed from a simulation: a small tree, the same whether it is read from MuJoCo or from a stored row.
// `key` names what is computed, so that equal quantities are recognised (an observation that shows a reward's input).

export type LeafArray =
  | 'qpos'
  | 'qvel'
  | 'xpos'
  | 'siteXpos'
  | 'xmat'
  | 'qfrcConstraint'
  | 'sensordata'
  | 'action'
  | 'alive';

export type Scalar =
  | { readonly kind: 'leaf'; readonly key: string; readonly array: LeafArray; readonly index: number }
  | { readonly kind: 'constant'; readonly key: string; readonly value: number }
  | {
      readonly kind: 'map';
      readonly key: string;
      readonly of: Scalar;
      readonly map: (value: number) => number;
      readonly clip?: boolean;
    }
  | { readonly kind: 'reduce'; readonly key: string; readonly of: readonly Scalar[]; readonly how: Reduction }
  | { readonly kind: 'velocity'; readonly key: string; readonly of: Scalar };

export type Reduction = 'sum' | 'product' | 'norm' | 'sumSquares' | 'difference';

export type Read = () => number;

/** Where leaves come from; undefined where a number cannot be seen from here. */
export interface ScalarSource {
  /** Answers whole quantities by key, before their parts are looked for. */
  readonly known?: (scalar: Scalar) => Read | undefined;
  readonly leaf: (array: LeafArray, index: number) => Read | undefined;
  /** The change of a quantity over the step divided by its duration. */
  readonly velocity: (of: Scalar) => Read | undefined;
}

/** A function that computes the scalar from a source, or undefined if the source does not show all of it. */
export function readerOf(scalar: Scalar, source: ScalarSource): Read | undefined {
  const known = source.known?.(scalar);
  if (known !== undefined) return known;
  switch (scalar.kind) {
    case 'leaf':
      return source.leaf(scalar.array, scalar.index);
    case 'constant': {
      const { value } = scalar;
      return () => value;
    }
    case 'map': {
      const { map } = scalar;
      const of = readerOf(scalar.of, source);
      return of && (() => map(of()));
    }
    case 'velocity':
      return source.velocity(scalar.of);
    case 'reduce': {
      const parts = readersOf(scalar.of, source);
      return parts && reduction(scalar.how, parts);
    }
  }
}

/** Readers of all, or undefined if one cannot be seen. */
export function readersOf(scalars: readonly Scalar[], source: ScalarSource): Read[] | undefined {
  const readers = scalars.map((scalar) => readerOf(scalar, source));
  return readers.every((reader) => reader !== undefined) ? readers : undefined;
}

function reduction(how: Reduction, parts: readonly Read[]): Read {
  switch (how) {
    case 'sum':
      return () => fold(parts, 0, (total, value) => total + value);
    case 'product':
      return () => fold(parts, 1, (total, value) => total * value);
    case 'sumSquares':
      return () => fold(parts, 0, (total, value) => total + value * value);
    case 'norm':
      return () => Math.sqrt(fold(parts, 0, (total, value) => total + value * value));
    case 'difference': {
      const [first, second] = parts;
      return () => first() - second();
    }
  }
}

function fold(parts: readonly Read[], start: number, add: (total: number, value: number) => number): number {
  let total = start;
  for (let i = 0; i < parts.length; i++) total = add(total, parts[i]());
  return total;
}
