// A body as data: model, timing, start, observation, action, reward and end. Built-in bodies and a user's own MJCF are written in this one
// language, whose expressions are objects with exactly one operator and answer one or several numbers.

import { z } from 'zod';
import type { KnownFunctions } from '../../core/environment.js';
import { nameHint, reverieError } from '../../core/errors.js';
import { ranged, rangeSchema } from '../space-values.js';
import type { ArrayName, NamedKind, Simulation } from './simulation.js';

const axes = z.string().regex(/^[xyz]{1,3}$/, 'letters of x, y and z, such as "xz"');
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
type Expression = Readonly<Record<string, unknown>>;

const nested: z.ZodType<Expression> = z.lazy(() => expressionSchema);
const several = z.array(nested).min(1);

/** What names in an expression refer to. */
interface ExpressionScope {
  readonly simulation: Simulation;
  /** Actuators of the model in the order of the action. */
  readonly actuators: readonly number[];
}

/** What one operator takes, and the numbers that it answers. */
interface Operator {
  readonly schema: z.ZodType;
  readonly resolve: (value: never, scope: ExpressionScope) => Scalar[];
}

const toleranceSchema = z.strictObject({
  of: nested,
  bounds: rangeSchema.default([0, 0]),
  margin: z.number().min(0).default(0),
  sigmoid: z.enum(['gaussian', 'quadratic']).default('gaussian'),
  valueAtMargin: z.number().min(0).lt(1).default(0.1),
});

const clipSchema = z.strictObject({ of: nested, low: z.number(), high: z.number() });

function operator<S extends z.ZodType>(
  schema: S,
  resolve: (value: z.output<S>, scope: ExpressionScope) => Scalar[],
): Operator {
  return { schema: schema.optional(), resolve };
}

const each = (name: string, map: (value: number) => number) =>
  operator(nested, (of, scope) => mapped(of, scope, name, map));

const reducing = (how: Reduction) => operator(nested, (of, scope) => [reduced(how, scalarsOf(of, scope))]);

/** See docs/environments.md. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  qpos: operator(selector, (which, { simulation }) => leaves('qpos', addressesOf(which, 'qpos', simulation))),
  qvel: operator(selector, (which, { simulation }) => leaves('qvel', addressesOf(which, 'qvel', simulation))),
  constraintForce: operator(selector, (which, { simulation }) =>
    leaves('qfrc_constraint', addressesOf(which, 'qvel', simulation)),
  ),
  action: operator(selector, (which, scope) => leaves('action', actionIndices(which, scope))),
  body: operator(place, (where, { simulation }) => position('xpos', 'body', where, simulation)),
  site: operator(place, (where, { simulation }) => position('site_xpos', 'site', where, simulation)),
  upright: operator(z.string(), (name, { simulation }) => leaves('xmat', [9 * indexOf(simulation, 'body', name) + 8])),
  sensor: operator(z.string(), (name, { simulation }) =>
    leaves('sensordata', simulation.sensorAddresses(indexOf(simulation, 'sensor', name))),
  ),
  constant: operator(z.number(), (value) => [{ kind: 'constant', key: String(value), value }]),
  alive: operator(z.literal(true), () => leaves('alive', [0])),
  sin: each('sin', Math.sin),
  cos: each('cos', Math.cos),
  abs: each('abs', Math.abs),
  square: each('square', (value) => value * value),
  exp: each('exp', Math.exp),
  norm: reducing('norm'),
  sumSquares: reducing('sumSquares'),
  velocity: operator(nested, (of, scope) =>
    scalarsOf(of, scope).map((one) => ({ kind: 'velocity', key: `velocity(${one.key})`, of: one })),
  ),
  sum: operator(several, (terms, scope) => [reduced('sum', concatenated(terms, scope))]),
  product: operator(several, (factors, scope) => [reduced('product', concatenated(factors, scope))]),
  concat: operator(several, concatenated),
  difference: operator(z.tuple([nested, nested]), ([first, second], scope) =>
    differences(scalarsOf(first, scope), scalarsOf(second, scope)),
  ),
  clip: operator(
    ranged(clipSchema, ({ low, high }) => [low, high]),
    ({ of, low, high }, scope) =>
      mapped(of, scope, `clip[${low},${high}]`, (value) => Math.min(Math.max(value, low), high), [low, high]),
  ),
  affine: operator(
    z.strictObject({ of: nested, scale: z.number().default(1), offset: z.number().default(0) }),
    ({ of, scale, offset }, scope) =>
      mapped(of, scope, `affine[${scale},${offset}]`, (value) => scale * value + offset),
  ),
  tolerance: operator(toleranceSchema, ({ of, ...shape }, scope) =>
    mapped(of, scope, `tolerance${JSON.stringify(shape)}`, toleranceOf(shape)),
  ),
};

const expressionSchema = z
  .strictObject(Object.fromEntries(Object.entries(OPERATORS).map(([name, { schema }]) => [name, schema])))
  .refine((value) => Object.keys(value).length === 1, {
    message: `an expression has exactly one operator, one of: ${Object.keys(OPERATORS).join(', ')}`,
  }) as unknown as z.ZodType<Expression>;

function scalarsOf(expression: Expression, scope: ExpressionScope): Scalar[] {
  const [[name, value]] = Object.entries(expression);
  return OPERATORS[name].resolve(value as never, scope);
}

/** The one number of an expression; an error if it answers several. */
function scalarOf(expression: Expression, scope: ExpressionScope, where: string): Scalar {
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
    throw reverieError('ENV_SPEC_INVALID', { problem: `${of} has no index ${entry}; its length is ${size}.` });
  });
}

/** Index of a named object of the model; ENV_SPEC_INVALID with the nearest name if there is none. */
export function indexOf(simulation: Simulation, kind: NamedKind, name: string): number {
  const index = simulation.indexOf(kind, name);
  if (index >= 0) return index;
  const advice = nameHint(name, simulation.names(kind));
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
  clip?: Clip,
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

function position(array: 'xpos' | 'site_xpos', kind: 'body' | 'site', place: Place, simulation: Simulation): Scalar[] {
  const { name, axes } = typeof place === 'string' ? { name: place, axes: 'xyz' } : place;
  const index = indexOf(simulation, kind, name);
  const indices = Array.from(axes, (axis) => 3 * index + 'xyz'.indexOf(axis));
  return leaves(array, indices);
}

function actionIndices(selector: Selector, { simulation, actuators }: ExpressionScope): number[] {
  if (selector === 'all') return actuators.map((_, i) => i);
  return selector.map((entry) => {
    const at = typeof entry === 'string' ? actuators.indexOf(indexOf(simulation, 'actuator', entry)) : entry;
    if (at >= 0 && at < actuators.length) return at;
    throw reverieError('ENV_SPEC_INVALID', { problem: `The action has no element "${entry}".` });
  });
}

/**
 * 1 for values within bounds; outside it falls with the distance, to `valueAtMargin` at distance `margin`. As in dm_control
 * (dm_control/utils/rewards.py, `tolerance`).
 */
function toleranceOf({
  bounds: [low, high],
  margin,
  sigmoid,
  valueAtMargin,
}: Omit<z.output<typeof toleranceSchema>, 'of'>): (value: number) => number {
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

export type LeafArray = Exclude<ArrayName, 'ctrl'> | 'action' | 'alive';

export type Scalar =
  | { readonly kind: 'leaf'; readonly key: string; readonly array: LeafArray; readonly index: number }
  | { readonly kind: 'constant'; readonly key: string; readonly value: number }
  | {
      readonly kind: 'map';
      readonly key: string;
      readonly of: Scalar;
      readonly map: (value: number) => number;
      readonly clip?: Clip;
    }
  | { readonly kind: 'reduce'; readonly key: string; readonly of: readonly Scalar[]; readonly how: Reduction }
  | { readonly kind: 'velocity'; readonly key: string; readonly of: Scalar };

type Clip = readonly [low: number, high: number];
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
function readersOf(scalars: readonly Scalar[], source: ScalarSource): Read[] | undefined {
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

const noiseSchema = z
  .strictObject({
    qpos: selector.optional().describe('joints by name or elements of qpos by index'),
    qvel: selector.optional(),
    uniform: rangeSchema.optional().describe('adds a uniform draw from [low, high)'),
    normal: z.number().min(0).optional().describe('adds a normal draw of this standard deviation'),
    disc: z.number().positive().optional().describe('sets two elements to a uniform point of a disc of this radius'),
    value: z.number().optional().describe('sets the elements to this value'),
  })
  .refine(({ qpos, qvel }) => (qpos === undefined) !== (qvel === undefined), 'give exactly one of qpos, qvel')
  .refine(
    ({ uniform, normal, disc, value }) => [uniform, normal, disc, value].filter((x) => x !== undefined).length === 1,
    'give exactly one of uniform, normal, disc, value',
  );

const rewardTermSchema = z.strictObject({
  name: z.string().describe('shown as reward_<name> in info'),
  of: expressionSchema,
  weight: z.number().default(1),
});

const boundsSchema = z
  .strictObject({
    of: expressionSchema,
    above: z.number().optional().describe('the episode goes on while every element > above'),
    below: z.number().optional(),
    atLeast: z.number().optional().describe('the episode goes on while every element >= atLeast'),
    atMost: z.number().optional(),
  })
  .refine(
    ({ of: _, ...bounds }) => Object.values(bounds).some((bound) => bound !== undefined),
    'give one of above, below, atLeast, atMost',
  );
const terminationSchema = ranged(
  boundsSchema,
  ({ above = -Infinity, below = Infinity, atLeast = above, atMost = below }) => [
    Math.max(above, atLeast),
    Math.min(below, atMost),
    above >= atLeast || below <= atMost,
  ],
);

const actionSchema = z.strictObject({
  actuators: selector.default('all'),
  range: rangeSchema.optional().describe("replaces the model's ctrlrange"),
});

const jointValues = z.record(z.string(), z.union([z.number(), z.array(z.number()).min(1)]));

/** Keys of a body besides its model; all but observation, reward have defaults. */
export const bodyShape = {
  frameSkip: z.int().min(1).describe('timesteps of physics per step of the environment'),
  forward: z
    .boolean()
    .describe('recompute positions, contacts and sensors after the last timestep (Gymnasium does not)'),
  initial: z
    .strictObject({ qpos: jointValues.optional(), qvel: jointValues.optional() })
    .describe('start by joint name'),
  resetNoise: z.array(noiseSchema).describe('applied in order at reset'),
  observation: z.array(expressionSchema).min(1),
  action: actionSchema,
  reward: z.array(rewardTermSchema).min(1),
  termination: z.array(terminationSchema),
};

export const bodySpecSchema = z.strictObject({
  ...bodyShape,
  frameSkip: bodyShape.frameSkip.default(1),
  forward: bodyShape.forward.default(true),
  initial: bodyShape.initial.default({}),
  resetNoise: bodyShape.resetNoise.default([]),
  action: bodyShape.action.default({ actuators: 'all' }),
  termination: bodyShape.termination.default([]),
});

/** A body with all defaults filled in. */
export type BodySpec = z.infer<typeof bodySpecSchema>;
/** A body as one writes it. */
export type BodySpecInput = z.input<typeof bodySpecSchema>;
export type ResetNoise = z.infer<typeof noiseSchema>;
export type Termination = z.infer<typeof terminationSchema>;

export interface BodyQuantities {
  readonly observation: readonly Scalar[];
  readonly reward: readonly { name: string; weight: number; of: Scalar }[];
  readonly termination: readonly { of: readonly Scalar[]; range: Termination }[];
}

export function quantitiesOf(body: BodySpec, scope: ExpressionScope): BodyQuantities {
  return {
    observation: body.observation.flatMap((expression) => lifeless(scalarsOf(expression, scope))),
    reward: body.reward.map((term) => ({ ...term, of: scalarOf(term.of, scope, `Reward term "${term.name}"`) })),
    termination: body.termination.map((range) => ({ of: lifeless(scalarsOf(range.of, scope)), range })),
  };
}

/** Whether the episode goes on is decided after observing, so only a reward can ask for it. */
function lifeless(scalars: Scalar[]): Scalar[] {
  if (!scalars.some(({ key }) => key.includes('alive['))) return scalars;
  throw reverieError('ENV_SPEC_INVALID', { problem: '"alive" can be used in reward terms only.' });
}

/** Whether one number lies within the range in which the episode goes on. NaN is in no range. */
export function isHealthy(range: Termination, value: number): boolean {
  if (Number.isNaN(value)) return false;
  if (range.above !== undefined && value <= range.above) return false;
  if (range.below !== undefined && value >= range.below) return false;
  if (range.atLeast !== undefined && value < range.atLeast) return false;
  return range.atMost === undefined || value <= range.atMost;
}

/** A row of floats that a known function is looking at while it computes. */
interface Row {
  of: Float32Array;
  at: number;
}

/**
 * Known functions of a body; a function is absent where it depends on what the observation does not show.
 * @param duration seconds of one environment step
 */
export function knownFunctions(quantities: BodyQuantities, duration: number): KnownFunctions {
  const terminated = knownTermination(quantities);
  const reward = knownReward(quantities, duration, terminated);
  return { ...(reward && { reward }), ...(terminated && { terminated }) };
}

function knownTermination({ observation, termination }: BodyQuantities): KnownFunctions['terminated'] {
  const row: Row = { of: EMPTY, at: 0 };
  const source = rowSource(columnsOf(observation), row);
  const limits: { readers: Read[]; range: Termination }[] = [];
  for (const { of, range } of termination) {
    const isClipped = (shown: Scalar, limited: Scalar) =>
      shown.kind === 'map' && shown.of.key === limited.key && tells(shown.clip, range);
    const readers = readersOf(
      of.map((limited) => observation.find((shown) => isClipped(shown, limited)) ?? limited),
      source,
    );
    if (readers === undefined) return undefined;
    limits.push({ readers, range });
  }
  return (nextObs, offset) => {
    row.of = nextObs;
    row.at = offset;
    return !limits.every(({ readers, range }) => readers.every((read) => isHealthy(range, read())));
  };
}

/** Whether a clipped value lies in the range just where the value itself does. */
function tells(clip: Clip | undefined, { above, below, atLeast, atMost }: Termination): boolean {
  const ends = [above, below, atLeast, atMost].filter((end) => end !== undefined);
  return clip !== undefined && ends.every((end) => clip[0] < end && end < clip[1]);
}

function knownReward(
  quantities: BodyQuantities,
  duration: number,
  terminated: KnownFunctions['terminated'],
): KnownFunctions['reward'] {
  const [obs, act, next]: Row[] = Array.from({ length: 3 }, () => ({ of: EMPTY, at: 0 }));
  const columns = columnsOf(quantities.observation);
  const [before, after] = [rowSource(columns, obs), rowSource(columns, next)];
  const source: ScalarSource = {
    known: after.known,
    leaf: (array, index) => {
      if (array === 'action') return () => act.of[act.at + index];
      if (array === 'alive') return terminated && (() => (terminated(next.of, next.at) ? 0 : 1));
      return undefined;
    },
    velocity: (of) => {
      const old = readerOf(of, before);
      const now = readerOf(of, after);
      return old && now && (() => (now() - old()) / duration);
    },
  };
  const terms = quantities.reward.map(({ of }) => of);
  const readers = readersOf(terms, source);
  if (readers === undefined) return undefined;
  const weights = quantities.reward.map(({ weight }) => weight);
  return (given, offset, action, actionOffset, nextObs) => {
    obs.of = given;
    act.of = action;
    act.at = actionOffset;
    next.of = nextObs;
    // All rows of a batch share their offset in rows, so the next observation lies where this one does.
    obs.at = offset;
    next.at = offset;
    let reward = 0;
    for (let i = 0; i < readers.length; i++) reward += weights[i] * readers[i]();
    return reward;
  };
}

/** Column of the observation that shows a quantity, by its key. */
function columnsOf(observation: readonly Scalar[]): Map<string, number> {
  return new Map(observation.map(({ key }, column) => [key, column]));
}

function rowSource(columns: ReadonlyMap<string, number>, row: Row): ScalarSource {
  return {
    known: ({ key }) => {
      const column = columns.get(key);
      return column === undefined ? undefined : () => row.of[row.at + column];
    },
    leaf: () => undefined,
    velocity: () => undefined,
  };
}

const EMPTY = new Float32Array(0);
