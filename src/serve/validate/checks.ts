// Is it an environment that learning can stand on? Schemas, state, rewards; the same again for the same seed, whoever else is
// there; and rewards that are neither free nor to be read somewhere. After OpenEnv's runtime checks and its RFC 008.

import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { concurrently } from '../../core/threads.js';
import { compileSchema } from '../../env/state/state.js';
import {
  CheckFailed,
  connected,
  difference,
  type Hidden,
  idleActions,
  isObject,
  NotChecked,
  play,
  playAlone,
  randomActions,
  requireWords,
  returnOf,
  type Server,
  type Subject,
  type Trajectory,
  vanish,
} from './players.js';

export interface Check {
  readonly name: string;
  /** What was seen, where it passed. @throws CheckFailed, NotChecked */
  run(subject: Subject): Promise<string>;
}

const OTHER_SEEDS = 5;

async function observationSchema(subject: Subject): Promise<string> {
  requireWords(subject.server, 'schemas');
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

async function stateContract(subject: Subject): Promise<string> {
  requireWords(subject.server, 'state');
  return connected(subject.server, async (player) => {
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
  requireWords(subject.server, 'rewards');
  const { rewardRange: range } = subject.options;
  const [first, ...steps] = await playAlone(subject.server, startOf(subject), randomActions(subject, 'rewards'));
  if (typeof first.reward === 'number' && first.reward !== 0) {
    throw new CheckFailed(`reset answers reward ${first.reward}: nothing was done yet`);
  }
  for (const [i, { reward, done, error }] of steps.entries()) {
    const isNumber = typeof reward === 'number' && Number.isFinite(reward);
    // null is an answer at the end: nothing could decide. Within, some servers leave rewards out.
    if (!isNumber && reward !== null && error === undefined) {
      throw new CheckFailed(`step ${i + 1} answers reward ${JSON.stringify(reward)}, which is no number`);
    }
    if (isNumber && range !== undefined && (reward < range[0] || reward > range[1])) {
      const which = `step ${i + 1}${done ? ' (the last)' : ''}`;
      throw new CheckFailed(`${which} answers reward ${reward}, outside ${range.join(' to ')}`);
    }
  }
  const within = range === undefined ? 'numbers; no range is declared' : `numbers within ${range.join(' to ')}`;
  return `${within}; sum ${returnOf(steps)}`;
}

async function declarations({ tools, tasks, server }: Subject): Promise<string> {
  if (tools.length === 0 && tasks.length === 0) throw new NotChecked('neither tools nor tasks are declared');
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new CheckFailed(`two tools are called "${twice}"`);
  const reserved = names.find((name) => ['reset', 'step', 'state', 'close'].includes(name));
  if (reserved !== undefined) throw new CheckFailed(`a tool is called "${reserved}", which is the name of a message`);
  for (const { name, input_schema: schema } of tools) compileSchema(schema, `the tool "${name}"`);
  for (const task of tasks) await playAlone(server, resetOf(task), []);
  return `${tools.length} tools, ${tasks.length} tasks tried`;
}

async function determinism(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const actions = randomActions(subject, 'determinism');
  for (const reset of starts(subject)) {
    const one = await playAlone(subject.server, reset, actions);
    requireAlike(one, await playAlone(subject.server, reset, actions), 'same seed, same actions');
  }
  const { seeds } = subject.server.lacks;
  return seeds === undefined ? 'same seed and actions, same episode' : `same task and actions, same episode (${seeds})`;
}

async function seedControl(subject: Subject): Promise<string> {
  requireWords(subject.server, 'seeds');
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
  // Of numbers the seed is all that tells episodes apart; words that draw nothing may be whole without one.
  const fields = Object.values((schemas.action['properties'] ?? {}) as Record<string, JsonObject>);
  const isOfNumbers = fields.some(({ type }) => ['array', 'number', 'integer'].includes(String(type)));
  const isOfSeeds = tools.length === 0 && tasks.every((task) => task['seed'] !== undefined);
  if (isOfNumbers && isOfSeeds) throw new CheckFailed(alike);
  throw new NotChecked(`${alike}: nothing is drawn, the task alone decides, or the seed is ignored`);
}

async function isolation(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const { server, options } = subject;
  const reset = startOf(subject);
  const [actions, others] = [randomActions(subject, 'isolation'), randomActions(subject, 'intruder')];
  const alone = await playAlone(server, reset, actions);
  const [mine, theirs] = [await server.connect(), await server.connect()];
  try {
    const seen = [await mine.reset({ ...reset, episode_id: 'mine' })];
    const other = { ...starts(subject).at(-1)!, seed: options.seed + 1, episode_id: 'theirs' };
    const { error = '' } = await theirs.reset(other);
    if (isFull(error)) throw new NotChecked(ONE_AT_A_TIME);
    for (const [i, action] of actions.entries()) {
      if (seen.at(-1)!.done) break;
      await theirs.step(others[i]);
      seen.push(await mine.step(action));
    }
    requireAlike(alone, seen, 'beside another session it goes otherwise than alone');
    if (server.lacks.state === undefined) {
      const { episode_id: episode } = await mine.state();
      if (episode !== 'mine') {
        throw new CheckFailed(`state() tells of another session's episode: ${JSON.stringify(episode)}`);
      }
    }
  } finally {
    await Promise.all([mine.close(), theirs.close()]);
  }
  return 'two sessions at once, neither sees the other';
}

/** What was recorded can be played again: also where other episodes came before on the same connection. */
async function replay(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const actions = randomActions(subject, 'replay');
  const reset = startOf(subject);
  return connected(subject.server, async (player) => {
    const recorded = JSON.parse(JSON.stringify({ reset, actions, replies: await play(player, reset, actions) }));
    const between = { ...starts(subject).at(-1)!, seed: subject.options.seed + 7 };
    await play(player, between, randomActions(subject, 'between'));
    const again = await play(player, recorded.reset, recorded.actions);
    requireAlike(recorded.replies, again, 'an episode played again after another');
    return `${recorded.replies.length - 1} steps again, the same`;
  });
}

function requireAlike(one: Trajectory, other: Trajectory, what: string): void {
  const problem = difference(one, other);
  if (problem !== undefined) throw new CheckFailed(`${what}: ${problem}`);
}

// Whether rewards are fair.

/** Of the maximum: what may be had without knowing anything. */
const FLOOR = 0.25;
const TOLERANCE = 1e-9;

async function floorGap(subject: Subject): Promise<string> {
  requireWords(subject.server, 'rewards');
  const { rewardRange: range } = subject.options;
  if (range === undefined) throw new NotChecked('no maximum is declared: give --reward-range LOW,HIGH');
  const earned: string[] = [];
  for (const [who, actions] of policies(subject)) {
    const returns: number[] = [];
    for (const reset of starts(subject)) returns.push(returnOf(await playAlone(subject.server, reset, actions)));
    const mean = returns.reduce((sum, one) => sum + one, 0) / returns.length;
    if ((mean - range[0]) / (range[1] - range[0]) > FLOOR) {
      throw new CheckFailed(`${who} earns ${mean} of ${range[1]} on average of ${returns.length} episodes`);
    }
    earned.push(`${who} ${mean}`);
  }
  return `${earned.join(', ')}, of ${range[1]}`;
}

function policies(subject: Subject): (readonly [string, JsonObject[]])[] {
  const random = ['acting at random', randomActions(subject, 'floor')] as const;
  try {
    return [['doing nothing', idleActions(subject)], random];
  } catch (error) {
    if (error instanceof NotChecked) return [random];
    throw error;
  }
}

async function oracle(subject: Subject): Promise<string> {
  const { hidden, tasks, options } = subject;
  if (hidden === undefined) {
    throw new NotChecked('no task tells its solution, as it should be: give the scenario instead');
  }
  const high = options.rewardRange?.[1] ?? 1;
  const solved = tasks.filter(({ id }) => hidden.solutions.has(String(id)));
  if (solved.length === 0) throw new NotChecked('no task has a reference');
  for (const task of solved) {
    const id = String(task['id']);
    const reset = { ...startOf(subject), ...resetOf(task) };
    const replies = await playAlone(subject.server, reset, hidden.solutions.get(id)!);
    const sum = returnOf(replies);
    if (Math.abs(sum - high) <= TOLERANCE) continue;
    const { done, error, observation } = replies.at(-1)!;
    const end = `${done ? 'it ended' : 'it did not end'} with ${JSON.stringify(observation).slice(0, 200)}`;
    throw new CheckFailed(`the reference of task "${id}" earns ${sum}, not ${high}; ${error ?? end}`);
  }
  return `the reference of ${solved.length} tasks earns ${high}`;
}

/** Keys that only a mistake puts where agents look. */
const GIVEAWAY =
  /^(reference|references|solution|solutions|ground_?truth|verifier|rubric|rubrics|answer_?key|expected_?(answer|state|calls)|gold|oracle|failures|hidden_?goal)$/i;
const FIRST = 'the first observation';

async function noLeakage(subject: Subject): Promise<string> {
  const { server, tasks, tools, hidden } = subject;
  const places: [string, Json][] = [['the tools', tools as unknown as Json]];
  // What only trainers read may hold the answer, where the protocol means it so.
  if (server.lacks.schemas === undefined) {
    for (const task of tasks) places.push([`the card of task "${task['id']}"`, task]);
    for (const path of ['/metadata', '/schema']) places.push([`GET ${path}`, (await server.ask(path)).body as Json]);
  }
  for (const reset of starts(subject)) {
    await connected(server, async (player) => {
      const replies = await play(player, reset, randomActions(subject, 'leakage'));
      for (const [i, { observation }] of replies.entries()) {
        places.push([i === 0 ? FIRST : `the observation of step ${i}`, observation]);
      }
      if (server.lacks.state === undefined) places.push(['state()', await player.state()]);
    });
  }
  for (const [where, value] of places) {
    const problem = leakIn(value, where, hidden);
    if (problem !== undefined) throw new CheckFailed(`${where} holds ${problem}`);
  }
  return `${places.length} cards, observations and states looked through`;
}

/** Calls of the reference are looked for only where no call was made yet: later an agent may have made them itself. */
function leakIn(value: Json, where: string, hidden: Hidden | undefined): string | undefined {
  const objects = objectsIn(value);
  const key = objects.flatMap((one) => Object.keys(one)).find((name) => GIVEAWAY.test(name));
  if (key !== undefined && where !== 'GET /schema') return `a key "${key}"`;
  const text = JSON.stringify(value) ?? '';
  const secret = hidden?.secrets.find((one) => text.includes(JSON.stringify(one.text).slice(1, -1)));
  if (secret !== undefined) return secret.what;
  if (where !== FIRST && !where.startsWith('the card')) return undefined;
  const seen = new Set(objects.map(canonicalJson));
  const call = hidden?.calls.find((one) => seen.has(canonicalJson(one)));
  return call === undefined ? undefined : `arguments of a call of the reference: ${JSON.stringify(call)}`;
}

/** All objects within a value, itself included. */
function objectsIn(value: Json): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

// Many at once.

/** Sessions at once: as many as a group of GRPO. */
const SESSIONS = 8;
/** Times they all play; what two threads do to each other shows now and then only. */
const ROUNDS = 3;
/** Clients that vanish: more than a server that takes few sessions has slots, and than a pool of threads has threads. */
const VANISHING = 48;
/** They come in groups, and after each the server is asked for a session. */
const GROUP = 8;
/** Milliseconds after which a slot of a client that is gone counts as lost. */
const RELEASE = 10_000;
const PAUSE = 250;
const ONE_AT_A_TIME = 'the server takes one session at a time';

/** Everybody plays the same episode at the same time. */
async function seedsUnderLoad(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const episode = await episodeOf(subject, startOf(subject), 'load');
  await together(subject, Array(SESSIONS).fill(episode));
  const what = subject.server.lacks.seeds === undefined ? 'seed' : 'task';
  return `${SESSIONS} sessions of one ${what} at once, ${ROUNDS} times: all as alone`;
}

/** Everybody plays another episode: what one session leaves lying about, the next one trips over. */
async function threads(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const all = starts(subject);
  const episodes: Episode[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    // Where there are no seeds, other tasks stand for them.
    const begun = subject.server.lacks.seeds === undefined ? startOf(subject) : all[i % all.length];
    episodes.push(await episodeOf(subject, { ...begun, seed: subject.options.seed + i }, `thread ${i}`));
  }
  await together(subject, episodes);
  return `${SESSIONS} sessions of other seeds and actions at once, ${ROUNDS} times: each as alone`;
}

interface Episode {
  readonly reset: JsonObject;
  readonly actions: readonly JsonObject[];
  /** How it goes where no other session is there. */
  readonly alone: Trajectory;
}

async function episodeOf(subject: Subject, reset: JsonObject, stream: string): Promise<Episode> {
  const actions = randomActions(subject, stream);
  return { reset, actions, alone: await playAlone(subject.server, reset, actions) };
}

/** @throws CheckFailed, NotChecked where the server takes one session at a time */
async function together({ server }: Subject, episodes: readonly Episode[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const players = await concurrently(episodes, SESSIONS, () => server.connect());
    try {
      const seen = await concurrently(episodes, SESSIONS, async ({ reset, actions }, i) => {
        try {
          return await play(players[i], reset, actions);
        } catch (error) {
          if (error instanceof CheckFailed && isFull(error.message)) return undefined;
          throw error;
        }
      });
      // Whom the server had no place for has seen nothing wrong.
      const others = seen.filter((replies) => replies !== undefined).length - 1;
      if (others < 1) throw new NotChecked(ONE_AT_A_TIME);
      for (const [i, replies] of seen.entries()) {
        const what = `seed ${episodes[i].reset['seed']} beside ${others} other sessions goes otherwise than alone`;
        if (replies !== undefined) requireAlike(episodes[i].alone, replies, what);
      }
    } finally {
      await Promise.all(players.map((player) => player.close()));
    }
  }
}

/** Clients that are killed in mid-episode leave their places to others. */
async function slots(subject: Subject): Promise<string> {
  requireWords(subject.server, 'slots');
  let gone = 0;
  for (let group = 0; group < VANISHING / GROUP; group++) {
    for (let i = 0; i < GROUP; i++) if (await vanish(subject.server, startOf(subject))) gone++;
    await requirePlace(subject, gone);
  }
  return `${gone} clients vanished in mid-episode, and the next one got a session each time`;
}

async function requirePlace(subject: Subject, gone: number): Promise<void> {
  const until = performance.now() + RELEASE;
  for (;;) {
    try {
      await playAlone(subject.server, startOf(subject), []);
      return;
    } catch (error) {
      if (!(error instanceof CheckFailed)) throw error;
      if (performance.now() > until) {
        const problem = `${gone} clients vanished in mid-episode, and ${RELEASE / 1000} s later there is no session to be had`;
        throw new CheckFailed(`${problem}: ${error.message}`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function isFull(problem: string): boolean {
  return problem.includes('CAPACITY_REACHED');
}

/** Times that an episode has to go the same way. */
const TIMES = 3;

const repeatable = new WeakMap<Server, Promise<string | undefined>>();

/** Servers with seeds always have to be. @throws NotChecked */
async function requireRepeatable(subject: Subject): Promise<void> {
  const { server } = subject;
  if (server.lacks.seeds === undefined) return;
  const tried = repeatable.get(server) ?? firstDifference(subject);
  repeatable.set(server, tried);
  const problem = await tried;
  if (problem === undefined) return;
  const why = `${server.lacks.seeds}, and this one draws by itself: of one task and the same actions, ${problem}`;
  throw new NotChecked(why);
}

async function firstDifference(subject: Subject): Promise<string | undefined> {
  const actions = randomActions(subject, 'repeatable');
  const first = await playAlone(subject.server, startOf(subject), actions);
  for (let i = 1; i < TIMES; i++) {
    const problem = difference(first, await playAlone(subject.server, startOf(subject), actions));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** How episodes begin that no task is chosen for. */
function startOf({ options }: Subject): JsonObject {
  return { seed: options.seed };
}

/** The first task of every kind there is, or just a seed. */
function starts(subject: Subject): readonly JsonObject[] {
  const tasks = subject.tasks.map((task) => ({ ...startOf(subject), ...resetOf(task) }));
  return tasks.length > 0 ? tasks : [startOf(subject)];
}

/** As OpenEnv's Task API chooses a task. */
function resetOf({ split, index, seed }: JsonObject): JsonObject {
  return { split, index, ...(seed === undefined ? {} : { seed }) };
}

export const EPISODE_CHECKS: readonly Check[] = [
  { name: 'observation-schema', run: observationSchema },
  { name: 'state', run: stateContract },
  { name: 'rewards', run: rewards },
  { name: 'declarations', run: declarations },
  { name: 'determinism', run: determinism },
  { name: 'seed-control', run: seedControl },
  { name: 'isolation', run: isolation },
  { name: 'replay', run: replay },
];

export const LOAD_CHECKS: readonly Check[] = [
  { name: 'seeds-under-load', run: seedsUnderLoad },
  { name: 'threads', run: threads },
  { name: 'slots', run: slots },
];

export const FAIRNESS_CHECKS: readonly Check[] = [
  { name: 'floor-gap', run: floorGap },
  { name: 'oracle', run: oracle },
  { name: 'no-leakage', run: noLeakage },
];
