// `reverie validate`: is it an environment that learning can stand on? Schemas, state, rewards; the same again for the same seed,
// beside other sessions too; and rewards that are neither free nor written somewhere. After OpenEnv's runtime checks and its RFC 008.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { concurrently } from '../../core/threads.js';
import { compileSchema } from '../../env/state/state.js';
import type { AnyScenario } from '../../run/scenario.js';
import { startServer } from '../server.js';
import {
  CheckFailed,
  NotChecked,
  type Player,
  type Reply,
  Server,
  type Subject,
  subjectAt,
  type ValidateOptions,
} from './subject.js';

export interface CheckResult {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'not-checked';
  /** What is wrong, or why it was not checked, or what was seen. */
  readonly detail: string;
}

export interface ValidationReport {
  /** The URL, or the scenario's name. */
  readonly target: string;
  /** No check failed. */
  readonly passed: boolean;
  readonly checks: readonly CheckResult[];
}

const VALIDATE_DEFAULTS = { seed: 1, steps: 12, tasks: 2 } as const;

/**
 * @param url  of an OpenEnv server or, for one of several environments, beneath `/envs/NAME`
 * @throws SERVER_UNREACHABLE
 */
export async function validateUrl(
  url: string,
  { token, ...options }: Partial<ValidateOptions> & { readonly token?: string } = {},
): Promise<ValidationReport> {
  const server = new Server(url, token);
  await server.ask('/health');
  return { target: server.url, ...(await validated(server, options)) };
}

/** @param folder  for what is kept while it is served; exists @throws as `startServer` */
export async function validateScenario(
  scenario: AnyScenario,
  { folder, real, model, ...options }: Partial<ValidateOptions> & { folder: string; real?: boolean; model?: string },
): Promise<ValidationReport> {
  const server = await startServer({ scenarios: [scenario], folder, real, model, port: 0, workers: 0, log: () => {} });
  try {
    return { target: scenario.config.name, ...(await validated(new Server(server.url), options)) };
  } finally {
    await server.stop(0);
  }
}

/** One line a check. */
export function validationText({ target, passed, checks }: ValidationReport): string {
  const marks = { passed: 'pass', failed: 'FAIL', 'not-checked': '  – ' } as const;
  const lines = checks.map(({ name, status, detail }) => {
    const told = status === 'not-checked' ? `not checked: ${detail}` : detail;
    return `${marks[status]}  ${name.padEnd(14)} ${told}`;
  });
  return [`${target}: ${passed ? 'sound' : 'not sound'}`, ...lines].join('\n');
}

async function validated(server: Server, given: Partial<ValidateOptions>) {
  const options = { ...VALIDATE_DEFAULTS, ...given };
  const subject = await subjectAt(server, options).catch((error: Error) => error);
  // What all checks stand on is missing.
  if (subject instanceof Error) {
    return { passed: false, checks: [{ name: 'schemas', status: 'failed', detail: subject.message }] as const };
  }
  const checks: CheckResult[] = [];
  for (const [name, check] of Object.entries(CHECKS)) checks.push(await resultOf(name, () => check(subject)));
  return { passed: checks.every(({ status }) => status !== 'failed'), checks };
}

async function resultOf(name: string, check: () => Promise<string>): Promise<CheckResult> {
  try {
    return { name, status: 'passed', detail: await check() };
  } catch (error) {
    if (error instanceof NotChecked) return { name, status: 'not-checked', detail: error.message };
    if (!(error instanceof CheckFailed || error instanceof ReverieError)) throw error;
    return { name, status: 'failed', detail: error.message };
  }
}

// Episodes, and how two are compared.

/** The first reply is that of the reset. Ends where the actions or the episode do. */
type Trajectory = readonly Reply[];

async function play(player: Player, reset: JsonObject, actions: readonly JsonObject[]): Promise<Trajectory> {
  const first = await player.reset(reset);
  if (first.error !== undefined) throw new CheckFailed(`reset ${JSON.stringify(reset)} is refused: ${first.error}`);
  const replies = [first];
  for (const action of actions) {
    if (replies.at(-1)!.done) break;
    replies.push(await player.step(action));
  }
  return replies;
}

function playAlone(server: Server, reset: JsonObject, actions: readonly JsonObject[]): Promise<Trajectory> {
  return server.connected((player) => play(player, reset, actions));
}

/** Characters of an answer that are shown. */
const EXCERPT = 160;

/** Where two first differ, from shortly before it; undefined if nowhere. */
function difference(one: Trajectory, other: Trajectory): string | undefined {
  const shown = (reply: Reply | undefined) => (reply === undefined ? '' : canonicalJson(reply as unknown as Json));
  const at = one.findIndex((reply, i) => shown(reply) !== shown(other[i]));
  if (at < 0) return one.length === other.length ? undefined : `${one.length - 1} steps and ${other.length - 1} steps`;
  const [mine, theirs] = [shown(one[at]), shown(other[at])];
  let same = 0;
  while (same < mine.length && mine[same] === theirs[same]) same++;
  const from = Math.max(0, same - EXCERPT / 3);
  const [left, right] = [mine, theirs].map((text) => text.slice(from, from + EXCERPT));
  return `${at === 0 ? 'the first observation' : `step ${at}`} differs: ${left} and ${right}`;
}

function requireAlike(one: Trajectory, other: Trajectory, what: string): void {
  const problem = difference(one, other);
  if (problem !== undefined) throw new CheckFailed(`${what}: ${problem}`);
}

/** Sum of rewards; null counts as none. */
function returnOf(replies: Trajectory): number {
  return replies.reduce((sum, { reward }) => sum + (typeof reward === 'number' ? reward : 0), 0);
}

/** How an episode begins that no task is chosen for. */
function startOf({ options }: Subject): JsonObject {
  return { seed: options.seed };
}

/** Each task, as OpenEnv's Task API chooses it, or just a seed. */
function starts(subject: Subject): readonly JsonObject[] {
  const tasks = subject.tasks.map((task) => ({ ...startOf(subject), ...placeOf(task) }));
  return tasks.length > 0 ? tasks : [startOf(subject)];
}

function placeOf({ split, index, seed }: JsonObject): JsonObject {
  return { split, index, ...(seed === undefined ? {} : { seed }) };
}

// Who acts: at random, or not at all.

/** The same ones for the same seed and stream; they fit the schemas. */
function randomActions({ schemas, tools, options }: Subject, stream: string): JsonObject[] {
  const rng = Rng.fromSeed(options.seed).split('validate', stream);
  return Array.from({ length: options.steps }, () => {
    if (tools.length === 0) return sampleJson(schemas.action, rng) as JsonObject;
    const { name, input_schema: schema } = tools[rng.int(tools.length)];
    return callOf(name, sampleJson({ ...schema, type: 'object' }, rng) as JsonObject);
  });
}

function callOf(name: string, given: JsonObject): JsonObject {
  return { type: 'call_tool', tool_name: name, arguments: given };
}

const SPEAKING = /respond|reply|answer|say|speak|message|submit|finish|done/i;
const NOTHING = 'I cannot help with that. Goodbye.';

/** Numbers at rest, a word that means nothing, or good-bye; undefined where there is no such action. */
function idleAction({ schemas, tools }: Subject): JsonObject | undefined {
  if (tools.length === 0) return requiredOf(schemas.action, resting);
  for (const { name, input_schema: schema } of tools.filter((tool) => SPEAKING.test(tool.name))) {
    const required = (schema['required'] ?? []) as string[];
    const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
    if (required.length === 1 && properties[required[0]]?.['type'] === 'string') {
      return callOf(name, { [required[0]]: NOTHING });
    }
  }
  return undefined;
}

/** Zero where it is allowed, else the nearest bound; `wait` for a text. */
function resting(schema: JsonObject): Json {
  const { type, minItems = 1, items = {}, minimum = -Infinity, maximum = Infinity } = schema;
  if (type === 'string') return 'wait';
  if (type === 'array') return Array.from({ length: Number(minItems) }, () => resting(items as JsonObject));
  if (type !== 'number' && type !== 'integer') return sampleJson(schema, Rng.fromSeed(0));
  return Math.min(Math.max(0, Number(minimum)), Number(maximum));
}

const WORDS = ['look', 'help', 'wait', '1', 'A-1', 'north', 'yes'];

/** A value of a JSON Schema, as far as action schemas go: patterns and conditions are not looked at. */
function sampleJson(schema: JsonObject, rng: Rng): Json {
  const { const: only, enum: values, type, anyOf, oneOf, default: standard } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[rng.int(values.length)];
  const options = (anyOf ?? oneOf) as JsonObject[] | undefined;
  if (options !== undefined) return sampleJson(options.find((option) => option['type'] !== 'null') ?? {}, rng);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === 'object') return requiredOf(schema, (one) => sampleJson(one, rng));
  if (kind === 'array') return sampleList(schema, rng);
  if (kind === 'integer' || kind === 'number') return sampleNumber(schema, rng, kind === 'integer');
  if (kind === 'boolean') return rng.int(2) === 1;
  if (kind === 'string') return WORDS[rng.int(WORDS.length)];
  return standard ?? null;
}

/** Required properties alone: others may exclude each other. */
function requiredOf(schema: JsonObject, draw: (schema: JsonObject) => Json): JsonObject {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const required = (schema['required'] ?? []) as string[];
  return Object.fromEntries(required.map((key) => [key, draw(properties[key] ?? {})]));
}

/** Bounds of each element (`low`, `high`) are Reverie's own: JSON Schema has none. */
function sampleList({ items = {}, minItems = 1, low, high }: JsonObject, rng: Rng): Json[] {
  return Array.from({ length: Math.max(1, Number(minItems)) }, (_, i) => {
    const minimum = (low as (number | null)[] | undefined)?.[i];
    const maximum = (high as (number | null)[] | undefined)?.[i];
    const bounds = { ...(minimum == null ? {} : { minimum }), ...(maximum == null ? {} : { maximum }) };
    return sampleJson({ ...(items as JsonObject), ...bounds }, rng);
  });
}

function sampleNumber({ minimum, maximum }: JsonObject, rng: Rng, isWhole: boolean): number {
  const span = isWhole ? 10 : 1;
  const low = typeof minimum === 'number' ? minimum : typeof maximum === 'number' ? maximum - span : -span;
  const high = typeof maximum === 'number' ? maximum : low + 2 * span;
  return isWhole ? Math.floor(low + rng.int(Math.max(1, high - low + 1))) : low + rng.uniform() * (high - low);
}

// The checks.

async function observations(subject: Subject): Promise<string> {
  const check = compileSchema(subject.schemas.observation, 'observations');
  const declared = (subject.schemas.observation['properties'] ?? {}) as JsonObject;
  const replies = await playAlone(subject.server, startOf(subject), randomActions(subject, 'schema'));
  for (const [i, { observation, reward, done, error }] of replies.entries()) {
    if (error !== undefined) continue;
    // The reference's schema has the two among the fields; on the wire they stand beside.
    const beside = {
      ...('reward' in declared && reward !== undefined && { reward }),
      ...('done' in declared && { done }),
    };
    const [problem] = check({ ...observation, ...(beside as JsonObject) });
    if (problem !== undefined) throw new CheckFailed(`${i === 0 ? 'reset' : `step ${i}`}: ${problem}`);
  }
  return `${replies.length} observations fit`;
}

async function state(subject: Subject): Promise<string> {
  return subject.server.connected(async (player) => {
    const episode = 'reverie-validate';
    await play(player, { ...startOf(subject), episode_id: episode }, []);
    const before = await player.state();
    if (before['episode_id'] !== episode) {
      throw new CheckFailed(`episode_id is ${JSON.stringify(before['episode_id'])}, not the one given at reset`);
    }
    if (before['step_count'] !== 0) throw new CheckFailed(`step_count is ${before['step_count']} after reset, not 0`);
    const { error } = await player.step(randomActions(subject, 'state')[0]);
    if (error !== undefined) throw new NotChecked(`the action tried was refused: ${error}`);
    const { step_count: after } = await player.state();
    if (after !== 1) throw new CheckFailed(`step_count is ${JSON.stringify(after)} after one step, not 1`);
    return 'episode_id kept, step_count 0 and then 1';
  });
}

async function rewards(subject: Subject): Promise<string> {
  const { rewardRange: range } = subject.options;
  const [first, ...steps] = await playAlone(subject.server, startOf(subject), randomActions(subject, 'rewards'));
  if (typeof first.reward === 'number' && first.reward !== 0) {
    throw new CheckFailed(`reset answers reward ${first.reward}: nothing was done yet`);
  }
  for (const [i, { reward, error }] of steps.entries()) {
    const isNumber = typeof reward === 'number' && Number.isFinite(reward);
    // null is an answer at the end: nothing could decide. Within, some servers leave rewards out.
    if (!isNumber && reward !== null && error === undefined) {
      throw new CheckFailed(`step ${i + 1} answers reward ${JSON.stringify(reward)}, which is no number`);
    }
    if (isNumber && range !== undefined && (reward < range[0] || reward > range[1])) {
      throw new CheckFailed(`step ${i + 1} answers reward ${reward}, outside ${range.join(' to ')}`);
    }
  }
  return `${range === undefined ? 'numbers' : `within ${range.join(' to ')}`}; sum ${returnOf(steps)}`;
}

async function declarations({ tools, tasks, server }: Subject): Promise<string> {
  if (tools.length === 0 && tasks.length === 0) throw new NotChecked('neither tools nor tasks are declared');
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new CheckFailed(`two tools are called "${twice}"`);
  for (const { name, input_schema: schema } of tools) compileSchema(schema, `the tool "${name}"`);
  for (const task of tasks) await playAlone(server, placeOf(task), []);
  return `${tools.length} tools, ${tasks.length} tasks tried`;
}

/** On connections of their own, and on one where other episodes came before. */
async function determinism(subject: Subject): Promise<string> {
  const { server, options } = subject;
  const actions = randomActions(subject, 'determinism');
  for (const reset of starts(subject)) {
    const one = await playAlone(server, reset, actions);
    requireAlike(one, await playAlone(server, reset, actions), 'same seed, same actions');
    await server.connected(async (player) => {
      await play(player, { ...starts(subject).at(-1)!, seed: options.seed + 7 }, randomActions(subject, 'between'));
      requireAlike(one, await play(player, reset, actions), 'an episode repeated after another');
    });
  }
  return 'same seed and actions, same episode';
}

const OTHER_SEEDS = 5;

async function seedControl(subject: Subject): Promise<string> {
  const { server, options, tasks, tools, schemas } = subject;
  const actions = randomActions(subject, 'seeds');
  const start = startOf(subject);
  const one = await playAlone(server, start, actions);
  requireAlike(one.slice(0, 1), await playAlone(server, start, []), `seed ${options.seed} twice`);
  for (let i = 1; i <= OTHER_SEEDS; i++) {
    const seed = options.seed + i;
    const other = await playAlone(server, { ...start, seed }, actions);
    if (difference(one, other) !== undefined) return `seed ${options.seed} and seed ${seed} differ`;
  }
  const alike = `seeds ${options.seed} to ${options.seed + OTHER_SEEDS} all give the same episode`;
  // Episodes of numbers differ by their seed alone; those of words may draw nothing.
  const fields = Object.values((schemas.action['properties'] ?? {}) as Record<string, JsonObject>);
  const isOfNumbers = fields.some(({ type }) => ['array', 'number', 'integer'].includes(String(type)));
  const isOfSeeds = tools.length === 0 && tasks.every((task) => task['seed'] !== undefined);
  if (isOfNumbers && isOfSeeds) throw new CheckFailed(alike);
  throw new NotChecked(`${alike}: nothing is drawn, the task alone decides, or the seed is ignored`);
}

/** Sessions at once: as many as a group of GRPO. */
const SESSIONS = 8;
/** Races show now and then only. */
const ROUNDS = 3;

/** Sessions beside each other, half of them of one seed: each goes as it goes alone, and reports its own episode. */
async function concurrency(subject: Subject): Promise<string> {
  const { server, options } = subject;
  const all = starts(subject);
  const episodes: { reset: JsonObject; actions: JsonObject[]; alone: Trajectory }[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const own = Math.max(0, i - SESSIONS / 2);
    const reset = { ...all[own % all.length], seed: options.seed + own };
    const actions = randomActions(subject, `session ${own}`);
    episodes.push({ reset, actions, alone: await playAlone(server, reset, actions) });
  }
  for (let round = 0; round < ROUNDS; round++) {
    const players: Player[] = [];
    try {
      await concurrently(episodes, SESSIONS, async (_, i) => {
        players[i] = await server.connect();
      });
      const seen = await concurrently(episodes, SESSIONS, async ({ reset, actions }, i) => {
        const id = `session-${i}`;
        try {
          const replies = await play(players[i], { ...reset, episode_id: id }, actions);
          const { episode_id: told } = await players[i].state();
          if (told !== id) throw new CheckFailed(`state() of ${id} reports the episode ${JSON.stringify(told)}`);
          return replies;
        } catch (error) {
          if (error instanceof CheckFailed && error.message.includes('CAPACITY_REACHED')) return undefined;
          throw error;
        }
      });
      const played = seen.filter((replies) => replies !== undefined).length;
      if (played < 2) throw new NotChecked('the server takes one session at a time');
      for (const [i, replies] of seen.entries()) {
        const what = `seed ${episodes[i].reset['seed']} beside ${played - 1} other sessions differs from alone`;
        if (replies !== undefined) requireAlike(episodes[i].alone, replies, what);
      }
    } finally {
      await Promise.all(players.map((player) => player.close()));
    }
  }
  return `${SESSIONS} sessions at once, ${ROUNDS} times: each as alone`;
}

/** Of the maximum: what may be had without knowing anything. */
const FLOOR = 0.25;

async function floorGap(subject: Subject): Promise<string> {
  const { rewardRange: range, steps } = subject.options;
  if (range === undefined) throw new NotChecked('no maximum is declared: give --reward-range LOW,HIGH');
  const idle = idleAction(subject);
  const policies: [string, JsonObject[]][] = [['acting at random', randomActions(subject, 'floor')]];
  if (idle !== undefined) policies.unshift(['doing nothing', Array(steps).fill(idle)]);
  const earned: string[] = [];
  for (const [who, actions] of policies) {
    let sum = 0;
    for (const reset of starts(subject)) sum += returnOf(await playAlone(subject.server, reset, actions));
    const mean = sum / starts(subject).length;
    if ((mean - range[0]) / (range[1] - range[0]) > FLOOR) {
      throw new CheckFailed(`${who} earns ${mean} of ${range[1]} on average`);
    }
    earned.push(`${who} ${mean}`);
  }
  return `${earned.join(', ')}, of ${range[1]}`;
}

/** Keys that only a mistake puts where agents look. */
const GIVEAWAY =
  /^(reference|references|solution|solutions|ground_?truth|verifier|rubric|rubrics|answer_?key|expected_?(answer|state|calls)|gold|oracle|failures|hidden_?goal)$/i;

async function noLeakage(subject: Subject): Promise<string> {
  const { server, tasks, tools } = subject;
  const places: [string, Json][] = [['the tools', tools as unknown as Json]];
  for (const task of tasks) places.push([`the card of task "${task['id']}"`, task]);
  places.push(['GET /metadata', (await server.ask('/metadata')).body as Json]);
  for (const reset of starts(subject)) {
    await server.connected(async (player) => {
      const replies = await play(player, reset, randomActions(subject, 'leakage'));
      for (const [i, { observation }] of replies.entries()) places.push([`the observation of step ${i}`, observation]);
      places.push(['state()', await player.state()]);
    });
  }
  for (const [where, value] of places) {
    const key = keysIn(value).find((name) => GIVEAWAY.test(name));
    if (key !== undefined) throw new CheckFailed(`${where} holds a key "${key}"`);
  }
  return `${places.length} cards, observations and states looked through`;
}

/** Keys of all objects within a value. */
function keysIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(keysIn);
  return isJsonObject(value) ? [...Object.keys(value), ...Object.values(value).flatMap(keysIn)] : [];
}

/** In the order of the report; each answers what was seen where it passed, and throws CheckFailed or NotChecked. */
const CHECKS: Readonly<Record<string, (subject: Subject) => Promise<string>>> = {
  observations,
  state,
  rewards,
  declarations,
  determinism,
  'seed-control': seedControl,
  concurrency,
  'floor-gap': floorGap,
  'no-leakage': noLeakage,
};
