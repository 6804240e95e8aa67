// Is this environment sound? Checks any implementation, synchronous or not, against the contract in environment.ts and
// answers a report; like gymnasium/utils/env_checker.py, with snapshots.

import type { Json, JsonObject } from '../core/canonical-json.js';
import type { Environment, EnvSnapshot, Space, StepResult, ToolsSpace } from '../core/environment.js';
import { ReverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import { contains, crossed, describeSpace, rowSize } from './space-values.js';
import type { ToolsAction } from './tools/tools-family.js';

interface EnvironmentCheck {
  readonly name: CheckName;
  readonly passed: boolean;
  /** What is wrong, each naming the value seen. */
  readonly problems: readonly string[];
  /** Why the check could not be made, if it could not. */
  readonly skipped?: string;
}

export interface EnvironmentReport {
  readonly env: string;
  readonly passed: boolean;
  readonly checks: readonly EnvironmentCheck[];
}

interface CheckOptions {
  /** Steps of each trajectory; 64 by default. */
  readonly steps?: number;
  readonly seed?: number;
  /** Actions to try; sampled from the action space by default, which in text and tools seldom gets far. */
  readonly actions?: readonly unknown[];
}

/** `tasks`: of a domain of tools; made by who knows its tasks. */
export type CheckName = keyof typeof CHECKS | 'tasks';

type Factory = () => Environment | Promise<Environment>;
type Check = (subject: Subject) => Promise<string[]>;

interface Subject {
  readonly env: Environment;
  readonly make?: Factory;
  readonly steps: number;
  readonly seed: number;
  readonly actions: readonly unknown[];
}

class Skipped extends Error {}

/**
 * Runs every check and reports; throws only where the environment cannot be made at all.
 * @param subject an environment, or a function that makes one: only then can fork be checked in a second instance
 */
export async function checkEnvironment(
  subject: Environment | Factory,
  options: CheckOptions = {},
): Promise<EnvironmentReport> {
  const make = typeof subject === 'function' ? subject : undefined;
  const env = make ? await make() : (subject as Environment);
  const { steps = 64, seed = 1 } = options;
  const rng = Rng.fromSeed(seed).split('check');
  const actions = options.actions ?? Array.from({ length: steps }, () => sampleAction(env.actionSpace, rng));
  const checks: EnvironmentCheck[] = [];
  for (const [name, check] of Object.entries(CHECKS) as [keyof typeof CHECKS, Check][])
    checks.push(await run(name, check, { env, make, steps, seed, actions }));
  if (make) await env.close();
  return { env: env.id, passed: checks.every(({ passed }) => passed), checks };
}

export function describeReport(report: EnvironmentReport): string {
  const verdict = ({ passed, problems, skipped }: EnvironmentCheck) =>
    skipped !== undefined ? `skipped: ${skipped}` : passed ? 'ok' : problems.join('; ');
  const lines = report.checks.map((check) => `${check.name.padEnd(20)} ${verdict(check)}`);
  return [`${report.env}: ${report.passed ? 'sound' : 'not sound'}`, ...lines].join('\n');
}

async function run(name: CheckName, check: Check, subject: Subject): Promise<EnvironmentCheck> {
  try {
    const problems = await check(subject);
    return { name, passed: problems.length === 0, problems };
  } catch (error) {
    if (error instanceof Skipped) return { name, passed: true, problems: [], skipped: error.message };
    const problem = `threw ${error instanceof ReverieError ? `${error.code}: ` : ''}${(error as Error).message}`;
    return { name, passed: false, problems: [problem] };
  }
}

const CHECKS = {
  'not-reset': checkNotReset,
  spaces: async ({ env }) => problemsOfSpaces(env),
  steps: async (subject) => {
    const records = await trajectory(subject, subject.seed);
    return records.flatMap((record, i) =>
      problemsOfStep(subject.env, record).map((problem) => `${i === 0 ? 'reset' : `step ${i}`}: ${problem}`),
    );
  },
  'seed-determinism': async (subject) =>
    differences(await trajectory(subject, subject.seed), await trajectory(subject, subject.seed)),
  'stream-goes-on': checkStream,
  'snapshot-restore': async (subject) => checkSnapshot(subject, subject.env),
  fork: async (subject) => inAnother(subject, (other) => checkSnapshot(subject, other)),
  clock: checkClock,
  'action-out-of-space': checkStrayAction,
} satisfies Readonly<Record<string, Check>>;

function problemsOfSpaces({ observationSpace, actionSpace }: Environment): string[] {
  const problems: string[] = [];
  for (const [name, space] of Object.entries({ observationSpace, actionSpace })) {
    if (space.type === 'box') {
      const size = rowSize(space);
      if (size === 0) problems.push(`${name}: no element`);
      if (space.low.length !== size || space.high.length !== size) problems.push(`${name}: ${size} bounds are needed`);
      const at = space.low.findIndex((low, i) => crossed([low, space.high[i]]));
      if (at >= 0) problems.push(`${name}: element ${at}: ${crossed([space.low[at], space.high[at]])}`);
    }
    if (space.type === 'discrete' && !(Number.isInteger(space.n) && space.n > 0))
      problems.push(`${name}: n is ${space.n}`);
  }
  return problems;
}

async function checkNotReset(subject: Subject): Promise<string[]> {
  return inAnother(subject, async (fresh) => {
    const code = await refusal(async () => fresh.step(subject.actions[0]));
    return code === 'ENV_NOT_RESET' ? [] : [`a step before reset gave ${code}, not ENV_NOT_RESET`];
  });
}

async function checkStream(subject: Subject): Promise<string[]> {
  const { env, seed } = subject;
  await env.reset({ seed });
  const second = await env.reset();
  await env.reset({ seed });
  const again = await env.reset();
  if (shown(second.observation) === shown(again.observation)) return [];
  return ['the second reset after the same seed starts elsewhere'];
}

/** Continues from a snapshot taken in mid-episode and stored as JSON, and compares with an episode that was not interrupted. */
async function checkSnapshot(subject: Subject, into: Environment): Promise<string[]> {
  const { env, seed, actions } = subject;
  const length = (await trajectory(subject, seed)).length - 1;
  const half = Math.floor(length / 2);
  await env.reset({ seed });
  const before = await walk(env, actions.slice(0, half));
  const snapshot = JSON.parse(JSON.stringify(await env.snapshot())) as EnvSnapshot;
  const expected = await walk(env, actions.slice(half));
  const nextStart = await env.reset();
  const observation = await into.restore(snapshot);
  const problems: string[] = [];
  const last = before.at(-1);
  if (last && shown(last.observation) !== shown(observation)) problems.push('restore answers another observation');
  problems.push(...differences(expected, await walk(into, actions.slice(half))));
  const nextAgain = await into.reset();
  if (shown(nextStart.observation) !== shown(nextAgain.observation))
    problems.push('the random stream was not restored');
  return problems;
}

async function inAnother({ make }: Subject, check: (other: Environment) => Promise<string[]>): Promise<string[]> {
  if (!make) throw new Skipped('give a function that makes the environment');
  const other = await make();
  try {
    return await check(other);
  } finally {
    await other.close();
  }
}

async function checkClock({ env, seed, actions }: Subject): Promise<string[]> {
  const limit = (env as { maxEpisodeSteps?: number }).maxEpisodeSteps;
  if (limit === undefined) throw new Skipped('the environment has no clock');
  await env.reset({ seed });
  for (let step = 1; step <= limit; step++) {
    const record = await env.step(actions[step % actions.length] as never);
    if (record.truncated && step < limit && !record.terminated)
      return [`truncated at step ${step}, before its clock of ${limit}`];
    if (step === limit && !hasEnded(record)) return [`not truncated at step ${limit}`];
    if (!hasEnded(record)) continue;
    const code = await refusal(async () => env.step(actions[0] as never));
    return code === 'ENV_NOT_RESET' ? [] : [`a step after the end gave ${code}, not ENV_NOT_RESET`];
  }
  return [];
}

async function checkStrayAction({ env, seed, actions }: Subject): Promise<string[]> {
  const problems: string[] = [];
  for (const stray of strayAction(env.actionSpace)) {
    await env.reset({ seed });
    const before = JSON.stringify(await env.snapshot());
    const code = await refusal(async () => env.step(stray as never));
    if (code !== 'ACTION_OUT_OF_SPACE') problems.push(`${shown(stray)} gave ${code}, not ACTION_OUT_OF_SPACE`);
    else if (JSON.stringify(await env.snapshot()) !== before)
      problems.push(`${shown(stray)} was refused but changed the state`);
    else await env.step(actions[0] as never);
  }
  return problems;
}

async function refusal(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
    return 'no error';
  } catch (error) {
    return error instanceof ReverieError ? error.code : `${(error as Error).name} (${(error as Error).message})`;
  }
}

async function trajectory({ env, actions }: Subject, seed: number): Promise<StepRecord[]> {
  const { observation, info } = await env.reset({ seed });
  return [{ observation, reward: 0, terminated: false, truncated: false, info }, ...(await walk(env, actions))];
}

async function walk(env: Environment, actions: readonly unknown[]): Promise<StepRecord[]> {
  const records: StepRecord[] = [];
  for (const action of actions) {
    const record = await env.step(action);
    records.push(record);
    if (hasEnded(record)) break;
  }
  return records;
}

function hasEnded({ terminated, truncated }: StepRecord): boolean {
  return terminated || truncated;
}

function differences(expected: readonly StepRecord[], actual: readonly StepRecord[]): string[] {
  if (expected.length !== actual.length)
    return [`${expected.length} steps the first time, ${actual.length} the second`];
  const at = expected.findIndex((record, i) => shown(record) !== shown(actual[i]));
  return at < 0 ? [] : [`step ${at} differs: ${shown(expected[at])} and ${shown(actual[at])}`];
}

type StepRecord = StepResult<unknown>;

function problemsOfStep(env: Environment, record: StepRecord): string[] {
  const problems = problemsOfObservation(env, record.observation);
  if (typeof record.reward !== 'number' || !Number.isFinite(Math.fround(record.reward)))
    problems.push(`reward is ${shown(record.reward)}, not a finite float32`);
  for (const flag of ['terminated', 'truncated'] as const) {
    if (typeof record[flag] !== 'boolean') problems.push(`${flag} is ${shown(record[flag])}, not a boolean`);
  }
  if (typeof record.info !== 'object' || record.info === null)
    problems.push(`info is ${shown(record.info)}, not an object`);
  return problems;
}

/** A value as one line; negative zero, NaN and the kind of an array are told apart. */
export function shown(value: unknown): string {
  if (value === undefined) return 'undefined';
  return JSON.stringify(value, (_, part) => {
    if (ArrayBuffer.isView(part)) return [part.constructor.name, ...Array.from(part as Float32Array, exactly)];
    return typeof part === 'number' ? exactly(part) : part;
  });
}

function exactly(value: number): number | string {
  return Object.is(value, -0) || !Number.isFinite(value) ? String(Object.is(value, -0) ? '-0' : value) : value;
}

function problemsOfObservation({ observationSpace: space }: Environment, observation: unknown): string[] {
  if (space.type === 'text')
    return typeof observation === 'string' ? [] : [`observation is ${typeof observation}, not text`];
  if (space.type === 'tools') return [];
  if (!(observation instanceof Float32Array)) return [`observation is ${shown(observation)}, not a Float32Array`];
  if (observation.length !== rowSize(space))
    return [`observation has ${observation.length} elements, its space ${rowSize(space)}`];
  return contains(space, observation) ? [] : [`observation ${shown(observation)} is outside ${describeSpace(space)}`];
}

const WORDS = ['look', 'go', 'north', 'take', 'open', 'the', 'door', 'lamp', 'wait', 'inventory'];

function sampleAction(space: Space, rng: Rng): unknown {
  if (space.type === 'discrete') return Float32Array.of(space.start + rng.int(space.n));
  if (space.type === 'tools') return sampleToolsAction(space, rng);
  if (space.type === 'text')
    return Array.from({ length: 1 + rng.int(3) }, () => WORDS[rng.int(WORDS.length)]).join(' ');
  return Float32Array.from({ length: rowSize(space) }, (_, i) => {
    const least = space.low[i] ?? Math.min(-1, (space.high[i] ?? 1) - 2);
    const most = space.high[i] ?? Math.max(1, least + 2);
    // Where it is wide, the part that is nearest to zero.
    const width = Math.min(most - least, 2e6);
    const low = Math.min(Math.max(least, -width / 2), most - width);
    return Math.min(Math.max(low + width * rng.uniform(), least), most);
  });
}

/** Actions outside the space: too long, not a number, out of bounds; no text; neither said nor called. */
function strayAction(space: Space): unknown[] {
  if (space.type === 'text') return [7, null, 'x'.repeat(space.maxLength + 1)];
  if (space.type === 'tools') {
    const calls = [{ id: 'a', name: 7, arguments: {} }];
    return [7, null, {}, { content: 7 }, { content: null, toolCalls: [] }, { content: null, toolCalls: calls }];
  }
  const size = rowSize(space);
  const stray = [new Float32Array(size + 1), new Float32Array(size).fill(Number.NaN)];
  if (space.type === 'discrete')
    return [...stray, Float32Array.of(space.start + space.n), Float32Array.of(space.start + 0.5)];
  // Beyond a large bound, one more is the same float32.
  const beyond = Float32Array.from(space.high, (high) => (high === null ? 0 : high + Math.max(1, Math.abs(high))));
  return space.high.every((high) => high === null) ? stray : [...stray, beyond];
}

const TEXTS = ['a', '1', 'M1', 'B1', 'x y'];

/** One call in three of four actions, else a sentence. Arguments have the types their schema asks for, if it is simple. */
function sampleToolsAction({ tools }: ToolsSpace, rng: Rng): ToolsAction {
  const tool = tools[rng.int(Math.max(1, tools.length))] as { function?: { name: string; parameters: JsonObject } };
  if (tool?.function === undefined || rng.int(4) === 0) return { content: 'How can I help you?' };
  const { name, parameters } = tool.function;
  const properties = Object.entries((parameters.properties ?? {}) as Record<string, JsonObject>);
  const given = Object.fromEntries(properties.map(([key, schema]) => [key, sampleValue(schema, rng)]));
  return { content: null, toolCalls: [{ id: '', name, arguments: given }] };
}

function sampleValue({ type, minimum, enum: known }: JsonObject, rng: Rng): Json {
  if (Array.isArray(known) && known.length > 0) return known[rng.int(known.length)];
  if (type === 'integer' || type === 'number')
    return (typeof minimum === 'number' ? Math.ceil(minimum) : 0) + rng.int(5);
  if (type === 'boolean') return rng.int(2) === 0;
  if (type === 'array') return [];
  return type === 'object' ? {} : TEXTS[rng.int(TEXTS.length)];
}
