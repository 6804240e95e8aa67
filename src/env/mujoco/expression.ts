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
type Selector = z.infer<typeof selector>;
type Place = z.infer<typeof place>;

/** An object with exactly one key, its operator. */
export type Expression = Readonly<Record<string, unknown>>;

const nested: z.ZodType<Expression> = z.lazy(() => expressionSchema);
const several = z.array(nested).min(1);

/** What names in an expression refer to. */
export interface ExpressionScope {
  readonly simulation: Simulation;
  /** Actuators of the model in the order of the action. */
  readonly actuators: readonly number[];
}

/** What one operator takes, and the numbers that it answers. */
interface Operator {
  readonly schema: z.ZodType;
  readonly resolve: (value: never, scope: ExpressionScope) => Scalar[];
}

function operator<S extends z.ZodType>(
  schema: S,
  resolve: (value: z.output<S>, scope: ExpressionScope) => Scalar[],
  about?: string,
): Operator {
  const optional = schema.optional();
  return { schema: about === undefined ? optional : optional.describe(about), resolve };
}

const each = (name: string, map: (value: number) => number) =>
  operator(nested, (of, scope) => mapped(of, scope, name, map));

const OPERATORS: Readonly<Record<string, Operator>> = {
  qpos: operator(
    selector,
    (which, { simulation }) => leaves('qpos', addressesOf(which, 'qpos', simulation)),
    'positions of joints by name, or elements of qpos by index',
  ),
  qvel: operator(
    selector,
    (which, { simulation }) => leaves('qvel', addressesOf(which, 'qvel', simulation)),
    'velocities of joints by name, or elements of qvel by index',
  ),
  constraintForce: operator(
    selector,
    (which, { simulation }) => leaves('qfrcConstraint', addressesOf(which, 'qvel', simulation)),
    'contact and limit forces in joint space, as qvel',
  ),
  action: operator(
    selector,
    (which, scope) => leaves('action', actionIndices(which, scope)),
    'elements of the action by actuator name or index',
  ),
  body: operator(
    place,
    (where, { simulation }) => position('xpos', 'body', where, simulation),
    'world position of a body frame, m',
  ),
  site: operator(
    place,
    (where, { simulation }) => position('siteXpos', 'site', where, simulation),
    'world position of a site, m',
  ),
  upright: operator(
    z.string(),
    (name, { simulation }) => leaves('xmat', [9 * indexOf(simulation, 'body', name) + 8]),
    'cosine between the z axis of a body and the vertical',
  ),
  sensor: operator(
    z.string(),
    (name, { simulation }) => leaves('sensordata', simulation.sensorAddresses(indexOf(simulation, 'sensor', name))),
    'readings of a sensor',
  ),
  constant: operator(z.number(), (value) => [{ kind: 'constant', key: String(value), value }]),
  alive: operator(z.literal(true), () => leaves('alive', [0]), '1 unless this step terminated (rewards only)'),
  sin: each('sin', Math.sin),
  cos: each('cos', Math.cos),
  abs: each('abs', Math.abs),
  square: each('square', (value) => value * value),
  exp: each('exp', Math.exp),
  norm: operator(nested, (of, scope) => [reduced('norm', scalarsOf(of, scope))], 'Euclidean norm of all elements'),
  sumSquares: operator(
    nested,
    (of, scope) => [reduced('sumSquares', scalarsOf(of, scope))],
    'sum of the squares of all elements',
  ),
  velocity: operator(
    nested,
    (of, scope) => scalarsOf(of, scope).map((one) => ({ kind: 'velocity', key: `velocity(${one.key})`, of: one })),
    'change over this step divided by its duration, per second',
  ),
  sum: operator(
    several,
    (terms, scope) => [reduced('sum', concatenated(terms, scope))],
    'sum of all elements of all terms',
  ),
  product: operator(
    several,
    (factors, scope) => [reduced('product', concatenated(factors, scope))],
    'product of all elements of all factors',
  ),
  concat: operator(several, concatenated),
  difference: operator(
    z.tuple([nested, nested]),
    ([first, second], scope) => differences(scalarsOf(first, scope), scalarsOf(second, scope)),
    'first minus second, element by element',
  ),
  clip: operator(z.strictObject({ of: nested, low: z.number(), high: z.number() }), ({ of, low, high }, scope) =>
    mapped(of, scope, `clip[${low},${high}]`, (value) => Math.min(Math.max(value, low), high), true),
  ),
  affine: operator(
    z.strictObject({ of: nested, scale: z.number().default(1), offset: z.number().default(0) }),
    ({ of, scale, offset }, scope) =>
      mapped(of, scope, `affine[${scale},${offset}]`, (value) => scale * value + offset),
    'scale * value + offset',
  ),
  tolerance: operator(
    z.strictObject({
      of: nested,
      bounds: z.tuple([z.number(), z.number()]).default([0, 0]),
      margin: z.number().min(0).default(0),
      sigmoid: z.enum(['gaussian', 'quadratic']).default('gaussian'),
      valueAtMargin: z.number().min(0).lt(1).default(0.1),
    }),
    ({ of, ...shape }, scope) => mapped(of, scope, `tolerance${JSON.stringify(shape)}`, toleranceOf(shape)),
    '1 within bounds, falling to valueAtMargin at distance margin (dm_control/utils/rewards.py)',
  ),
};

export const expressionSchema = z
  .strictObject(Object.fromEntries(Object.entries(OPERATORS).map(([name, { schema }]) => [name, schema])))
  .refine((value) => Object.keys(value).length === 1, {
    message: `an expression has exactly one operator, one of: ${Object.keys(OPERATORS).join(', ')}`,
  }) as unknown as z.ZodType<Expression>;
export const selectorSchema = selector;

/** The numbers an expression answers, in order. */
export function scalarsOf(expression: Expression, scope: ExpressionScope): Scalar[] {
  const [[name, value]] = Object.entries(expression);
  return OPERATORS[name].resolve(value as never, scope);
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

// A smooth bonus for being within bounds, as in dm_control (dm_control/utils/rewards.py, `tolerance`).

interface ToleranceShape {
  readonly bounds: readonly [number, number];
  readonly margin: number;
  readonly sigmoid: 'gaussian' | 'quadratic';
  readonly valueAtMargin: number;
}

/** 1 for values within bounds; outside it falls with the distance, to `valueAtMargin` at distance `margin`. */
function toleranceOf({
  bounds: [low, high],
  margin,
  sigmoid,
  valueAtMargin,
}: ToleranceShape): (value: number) => number {
  const scale = -Math.log(valueAtMargin);
  const falls = {
    gaussian: (x: number) => Math.exp(-scale * x * x),
    quadratic: (x: number) => Math.max(0, 1 - x * x * (1 - valueAtMargin)),
  };
  const fall = falls[sigmoid];
  return (value) => {
    if (Number.isNaN(value)) return value;
    const distance = Math.max(low - value, value - high);
    if (distance <= 0) return 1;
    return margin === 0 ? 0 : fall(distance / margin);
  };
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

type Reduction = 'sum' | 'product' | 'norm' | 'sumSquares' | 'difference';

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
  if (how === 'difference') return () => parts[0]() - parts[1]();
  if (how === 'sum') return () => fold(parts, 0, (total, value) => total + value);
  if (how === 'product') return () => fold(parts, 1, (total, value) => total * value);
  const squares = () => fold(parts, 0, (total, value) => total + value * value);
  return how === 'norm' ? () => Math.sqrt(squares()) : squares;
}

function fold(parts: readonly Read[], start: number, add: (total: number, value: number) => number): number {
  let total = start;
  for (let i = 0; i < parts.length; i++) total = add(total, parts[i]());
  return total;
}
