// Training on ONNX Runtime: K gradient steps as one run of a Loop whose body is the caller's step.
// Carried state never leaves the runtime between steps; the batch of step i is row i of the stacked inputs.

import { reverieError } from '../core/errors.js';
import { loadAddon, nativeWidth, unshared } from './cuda.js';
import type { ActorCriticShape, Feeds, MemberTrainingShape } from './cuda-addon.js';
import { type Dim, type DType, elementCount, Graph, type Tensor, type Value } from './graph.js';
import { gather, reshape } from './ops.js';
import { InferenceSession } from './runtime.js';

type Values = Readonly<Record<string, Value>>;

export interface TrainerSpec {
  readonly name: string;
  /** Float32 tensors carried from step to step: parameters, moments, targets. Name to shape. */
  readonly state: Readonly<Record<string, readonly number[]>>;
  /** Tensors fed once per run, the same for all its steps; sizes may be named. */
  readonly inputs?: Readonly<Record<string, { readonly dtype: DType; readonly shape: readonly Dim[] }>>;
  /** Tensors fed stacked as [steps, ...shape], of which each step sees its own [...shape]. */
  readonly perStep?: Readonly<Record<string, { readonly dtype: DType; readonly shape: readonly number[] }>>;
  /** One gradient step: the new state (all of it) and scalar metrics. */
  body(values: { state: Values; inputs: Values; perStep: Values }): { state: Values; metrics: Values };
}

export type FeedData = Float32Array | Int32Array | BigInt64Array | Uint8Array;

interface TrainerRun {
  readonly state: Readonly<Record<string, Float32Array>>;
  /** Data in the declared order of elements; a Tensor where more than one size is named. */
  readonly inputs?: Readonly<Record<string, FeedData | Tensor>>;
  readonly perStep?: Readonly<Record<string, FeedData>>;
  readonly steps: number;
}

interface TrainerResult {
  /** Fresh arrays; those fed are untouched. */
  readonly state: Record<string, Float32Array>;
  /** One number per step and metric. */
  readonly metrics: Record<string, Float32Array>;
}

export interface Trainer {
  /**
   * Runs `steps` gradient steps.
   * @throws DATA_MISMATCH; NON_FINITE_VALUE if a metric or the new state is not finite, and the caller's state is as it was
   */
  run(run: TrainerRun): Promise<TrainerResult>;
  release(): Promise<void>;
}

/** Compiles a training step. It runs on one thread, as the gradient of `gather` must. */
export async function buildTrainer(spec: TrainerSpec): Promise<Trainer> {
  const session = await InferenceSession.fromBytes(trainingGraph(spec).toModel(), {}, `trainer ${spec.name}`);
  return {
    run: async (run) => {
      const results = await session.run(feedsOf(spec, run));
      return checkedResult(spec, results);
    },
    release: () => session.release(),
  };
}

/**
 * The graph a trainer runs: inputs `steps`, `state.*`, `input.*`, `step.*`; outputs `next.*` and `metric.*`.
 * The body sees the others' values from inside the loop.
 */
export function trainingGraph(spec: TrainerSpec): Graph {
  const outer = new Graph(spec.name);
  const steps = outer.input('steps', 'int64', []);
  const state = Object.entries(spec.state).map(([name, shape]) => outer.input(`state.${name}`, 'float32', shape));
  const { body, metricNames } = loopBody(spec, outer);
  const outputs = [...state, ...metricNames.map(() => ({ dtype: 'float32' as const, shape: ['steps'] }))];
  const results = outer.add('Loop', [steps, undefined, ...state], { body }, outputs);
  const names = [
    ...Object.keys(spec.state).map((name) => `next.${name}`),
    ...metricNames.map((name) => `metric.${name}`),
  ];
  names.forEach((name, i) => {
    outer.output(name, results[i]);
  });
  return outer;
}

function loopBody(spec: TrainerSpec, outer: Graph): { body: Graph; metricNames: string[] } {
  const body = new Graph(`${spec.name}.body`);
  const iteration = body.input('body.iteration', 'int64', []);
  const proceed = body.input('body.proceed', 'bool', []);
  const state = mapValues(spec.state, (shape, name) => body.input(`body.${name}`, 'float32', shape));
  const inputs = mapValues(spec.inputs ?? {}, ({ dtype, shape }, name) =>
    body.capture(outer.input(`input.${name}`, dtype, shape)),
  );
  const perStep = mapValues(spec.perStep ?? {}, ({ dtype, shape }, name) =>
    gather(body.capture(outer.input(`step.${name}`, dtype, ['steps', ...shape])), iteration, 0),
  );
  const result = spec.body({ state, inputs, perStep });
  requireWholeState(spec, body, result.state);
  body.output('body.continue', proceed);
  for (const name of Object.keys(spec.state)) body.output(`body.next.${name}`, result.state[name]);
  for (const [name, value] of Object.entries(result.metrics)) body.output(`body.metric.${name}`, reshape(value, []));
  return { body, metricNames: Object.keys(result.metrics) };
}

function requireWholeState(spec: TrainerSpec, body: Graph, state: Values): void {
  for (const [name, shape] of Object.entries(spec.state)) {
    const value = state[name];
    if (value?.dtype === 'float32' && String(value.shape) === String(shape)) continue;
    throw body.mismatch(`state "${name}"`, `the body must return it as float32[${shape}]`, [value]);
  }
  const extra = Object.keys(state).find((name) => !(name in spec.state));
  if (extra !== undefined)
    throw body.mismatch(`state "${extra}"`, 'the body returns it, but it is not declared', [state[extra]]);
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

function feedsOf(spec: TrainerSpec, run: TrainerRun): Record<string, Tensor> {
  requireFeeds(spec, run);
  const { steps, state, inputs = {}, perStep = {} } = run;
  const feeds: Record<string, Tensor> = { steps: { dtype: 'int64', dims: [], data: BigInt64Array.of(BigInt(steps)) } };
  const declaredInputs = spec.inputs ?? {};
  const declaredPerStep = spec.perStep ?? {};
  for (const [name, dims] of Object.entries(spec.state)) {
    feeds[`state.${name}`] = { dtype: 'float32', dims, data: state[name] };
  }
  for (const [name, { dtype, shape }] of Object.entries(declaredInputs)) {
    const given = inputs[name];
    feeds[`input.${name}`] = 'dims' in given ? given : { dtype, dims: solve(shape, given.length), data: given };
  }
  for (const [name, { dtype, shape }] of Object.entries(declaredPerStep)) {
    feeds[`step.${name}`] = { dtype, dims: [steps, ...shape], data: perStep[name] };
  }
  return feeds;
}

/** That all is fed that a trainer takes, and nothing else. @throws DATA_MISMATCH */
function requireFeeds(spec: TrainerSpec, { steps, state, inputs = {}, perStep = {} }: TrainerRun): void {
  if (!Number.isInteger(steps) || steps < 1)
    throw feedMismatch(spec, `${steps} steps`, 'a whole number of steps from 1');
  requireNames(spec, 'state', spec.state, state);
  requireNames(spec, 'input', spec.inputs ?? {}, inputs);
  requireNames(spec, 'step', spec.perStep ?? {}, perStep);
}

function requireNames(
  spec: TrainerSpec,
  kind: string,
  declared: object,
  given: Readonly<Record<string, unknown>>,
): void {
  const expected = `${kind}: ${Object.keys(declared).join(', ')}`;
  const missing = Object.keys(declared).find((name) => given[name] === undefined);
  if (missing !== undefined) throw feedMismatch(spec, `nothing for ${kind} "${missing}"`, expected);
  const unknown = Object.keys(given).find((name) => !(name in declared));
  if (unknown !== undefined) throw feedMismatch(spec, `the unknown ${kind} "${unknown}"`, expected);
}

/** The one named size of a shape, from the number of elements; a wrong one shows when the feed is checked. */
function solve(shape: readonly Dim[], length: number): number[] {
  const known = elementCount(shape.filter((size) => typeof size === 'number'));
  return shape.map((size) => (typeof size === 'number' ? size : Math.floor(length / known)));
}

function feedMismatch(spec: TrainerSpec, problem: string, expected: string): Error {
  return reverieError('DATA_MISMATCH', {
    problem: `"trainer ${spec.name}" was fed ${problem}.`,
    hint: `It takes: ${expected}.`,
  });
}

function checkedResult(spec: TrainerSpec, results: Readonly<Record<string, Tensor>>): TrainerResult {
  const state: Record<string, Float32Array> = {};
  const metrics: Record<string, Float32Array> = {};
  for (const [name, { data }] of Object.entries(results)) {
    const isState = name.startsWith('next.');
    const own = name.slice(name.indexOf('.') + 1);
    (isState ? state : metrics)[own] = data as Float32Array;
  }
  requireFiniteResult(spec, { state, metrics });
  return { state, metrics };
}

/** @throws NON_FINITE_VALUE */
function requireFiniteResult(spec: TrainerSpec, { state, metrics }: TrainerResult): void {
  for (const [name, values] of Object.entries(metrics)) requireFinite(spec, `metric "${name}"`, values, 'step');
  for (const [name, values] of Object.entries(state)) requireFinite(spec, `state "${name}"`, values, 'element');
}

function requireFinite(spec: TrainerSpec, what: string, values: Float32Array, unit: string): void {
  // x - x is zero for every finite x and NaN for the others.
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] - values[i];
  if (sum === 0) return;
  const at = values.findIndex((value) => !Number.isFinite(value));
  throw reverieError('NON_FINITE_VALUE', {
    what,
    value: values[at],
    where: `${unit} ${at} of trainer "${spec.name}"`,
    hint: 'The state is as it was before this run. Lower the learning rate, clip the gradient, or look for extreme values in the data.',
  });
}

/** What gradient steps run on: ONNX Runtime, or vector code of our own, for what has it. */
export type TrainingDevice = 'cpu' | 'native';

type Arrays = Record<string, Float32Array>;

/** Metrics of the steps of an actor-critic that is learned as a whole, and of its parts. */
const METRICS = {
  joint: ['criticLoss', 'policyLoss', 'alpha', 'entropy', 'q'],
  critics: ['criticLoss', 'q'],
  policy: ['policyLoss', 'alpha', 'entropy'],
} as const;

/**
 * Soft actor-critic, with one trainer for each part.
 * @param specs what is fed; their bodies are not run
 * @throws DEVICE_UNAVAILABLE without the addon
 */
export function nativeActorCriticTrainers<Part extends keyof typeof METRICS>(
  specs: Readonly<Record<Part, TrainerSpec>>,
  shape: ActorCriticShape,
): Record<Part, Trainer> {
  const width = nativeWidth();
  const learner = loadAddon().makeActorCritic(shape, width);
  const trainers = (Object.keys(specs) as Part[]).map((part) => {
    const steps = ({ steps, inputs, perStep }: TrainerRun, { state, metrics }: TrainerResult) =>
      loadAddon().runActorCritic(learner, steps, state, unsharedOf(inputs) as Arrays, unsharedOf(perStep), metrics);
    return [part, trainerOf(specs[part], METRICS[part], steps)];
  });
  return Object.fromEntries(trainers);
}

/** A member of an ensemble. See `nativeActorCriticTrainers`. */
export function nativeMemberTrainer(spec: TrainerSpec, shape: MemberTrainingShape): Trainer {
  const width = nativeWidth();
  const learner = loadAddon().makeMember(shape, width);
  return trainerOf(spec, ['nll'], (run, result) => {
    const rows = unsharedOf(run.inputs) as Arrays;
    return loadAddon().runMember(learner, run.steps, result.state, rows, unsharedOf(run.perStep), result.metrics);
  });
}

function trainerOf(
  spec: TrainerSpec,
  metrics: readonly string[],
  steps: (run: TrainerRun, result: TrainerResult) => Promise<void>,
): Trainer {
  return {
    run: async (run) => {
      requireSizes(spec, run);
      const result = {
        // To be changed by the steps.
        state: Object.fromEntries(Object.entries(run.state).map(([name, values]) => [name, values.slice()])),
        metrics: Object.fromEntries(metrics.map((name) => [name, new Float32Array(run.steps)])),
      };
      await steps(run, result);
      requireFiniteResult(spec, result);
      return result;
    },
    release: async () => {},
  };
}

function unsharedOf(feeds: TrainerRun['inputs'] = {}): Feeds {
  const unsharedValues = Object.entries(feeds).map(([name, values]) => {
    return [name, values instanceof Float32Array ? unshared(values) : values];
  });
  return Object.fromEntries(unsharedValues) as Feeds;
}

function requireSizes(spec: TrainerSpec, run: TrainerRun): void {
  requireFeeds(spec, run);
  for (const [name, shape] of Object.entries(spec.state)) {
    requireSize(spec, `state "${name}"`, run.state[name].length, shape);
  }
  for (const [name, { shape }] of Object.entries(spec.perStep ?? {})) {
    requireSize(spec, `step "${name}"`, run.perStep![name].length, [run.steps, ...shape]);
  }
}

function requireSize(spec: TrainerSpec, what: string, elements: number, shape: readonly number[]): void {
  if (elements === elementCount(shape)) return;
  throw feedMismatch(spec, `${elements} elements for ${what}`, `[${shape.join(', ')}]`);
}
