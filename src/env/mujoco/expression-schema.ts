// The data language in which observation, reward and termination of a MuJoCo body are written: an expression is an
// object with exactly one operator. Every expression answers one or several numbers.

import { z } from 'zod';

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

export interface Tolerance {
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
