// Is the reward worth learning for? Nobody gets it for nothing, the solution does, and it cannot be read anywhere.

import { canonicalJson } from '../../core/canonical-json.js';
import type { Json, JsonObject } from '../../core/json.js';
import { connected, idleActions, play, playAlone, randomActions, returnOf, type Trajectory } from './policies.js';
import { requireRepeatable } from './repeatable.js';
import { isObject } from './server-client.js';
import { resetOf, startOf, starts } from './starts.js';

import { type Check, CheckFailed, type Hidden, NotChecked, requireWords, type Subject } from './validate-contract.js';

/** Of the maximum: what may be had without knowing anything. */
const FLOOR = 0.25;
const REPEATS = 3;
const TOLERANCE = 1e-9;

export const FAIRNESS_CHECKS: readonly Check[] = [
  { name: 'floor-gap', run: floorGap },
  { name: 'oracle', run: oracle },
  { name: 'no-leakage', run: noLeakage },
  { name: 'verifier-determinism', run: verifierDeterminism },
  { name: 'judge-pinned', run: judgePinned },
  { name: 'environment', run: environment },
];

async function floorGap(subject: Subject): Promise<string> {
  requireWords(subject.server, 'rewards');
  const { rewardRange: range } = subject.options;
  if (range === undefined) throw new NotChecked('no maximum is declared: give --reward-range LOW,HIGH');
  const told: string[] = [];
  for (const [who, actions] of policies(subject)) {
    const returns: number[] = [];
    for (const reset of starts(subject)) returns.push(returnOf(await playAlone(subject.server, reset, actions)));
    const mean = returns.reduce((sum, one) => sum + one, 0) / returns.length;
    const share = (mean - range[0]) / (range[1] - range[0]);
    if (share > FLOOR)
      throw new CheckFailed(`${who} earns ${mean} of ${range[1]} on average of ${returns.length} episodes`);
    told.push(`${who} ${mean}`);
  }
  return `${told.join(', ')}, of ${range[1]}`;
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
  const solved = solvable(subject);
  const high = subject.options.rewardRange?.[1] ?? 1;
  for (const { id, reset, actions } of solved) {
    const replies = await playAlone(subject.server, reset, actions);
    const sum = returnOf(replies);
    if (Math.abs(sum - high) > TOLERANCE) {
      throw new CheckFailed(`the reference of task "${id}" earns ${sum}, not ${high}; ${ending(replies)}`);
    }
  }
  return `the reference of ${solved.length} tasks earns ${high}`;
}

function ending(replies: Trajectory): string {
  const { done, error, observation } = replies.at(-1)!;
  return error ?? `${done ? 'it ended' : 'it did not end'} with ${JSON.stringify(observation).slice(0, 200)}`;
}

interface Solvable {
  readonly id: string;
  readonly reset: JsonObject;
  readonly actions: readonly JsonObject[];
}

/** @throws NotChecked */
function solvable(subject: Subject): readonly Solvable[] {
  const { hidden, tasks } = subject;
  if (hidden === undefined)
    throw new NotChecked('no task tells its solution, as it should be: give the scenario instead');
  const found = tasks.flatMap((task) => {
    const actions = hidden.solutions.get(String(task['id']));
    return actions === undefined
      ? []
      : [{ id: String(task['id']), reset: { ...startOf(subject), ...resetOf(task) }, actions }];
  });
  if (found.length === 0) throw new NotChecked('no task has a reference');
  return found;
}

/** Keys that only a mistake puts where agents look. */
const GIVEAWAY =
  /^(reference|references|solution|solutions|ground_?truth|verifier|rubric|rubrics|answer_?key|expected_?(answer|state|calls)|gold|oracle|failures|hidden_?goal)$/i;

async function noLeakage(subject: Subject): Promise<string> {
  // What only trainers read may hold the answer, where the protocol means it so.
  const cards = subject.server.lacks.schemas === undefined ? subject.tasks : [];
  const places: [string, Json][] = cards.map((task) => [`the card of task "${task['id']}"`, task]);
  const told = subject.server.lacks.schemas === undefined ? ['/metadata', '/schema'] : [];
  for (const path of told) places.push([`GET ${path}`, (await subject.server.ask(path)).body as Json]);
  places.push(['the tools', subject.tools as unknown as Json]);
  for (const reset of starts(subject)) places.push(...(await seenIn(subject, reset)));
  for (const [where, value] of places) {
    const problem = leakIn(value, where, subject.hidden);
    if (problem !== undefined) throw new CheckFailed(`${where} holds ${problem}`);
  }
  return `${places.length} cards, observations and states looked through`;
}

function seenIn({ server, ...subject }: Subject, reset: JsonObject): Promise<[string, Json][]> {
  return connected(server, async (player) => {
    const replies = await play(player, reset, randomActions({ server, ...subject }, 'leakage'));
    const seen = replies.map(({ observation }, i): [string, Json] => [
      i === 0 ? FIRST : `the observation of step ${i}`,
      observation,
    ]);
    return server.lacks.state === undefined ? [...seen, ['state()', await player.state()]] : seen;
  });
}

const FIRST = 'the first observation';

/** Calls of the reference are looked for only where no call was made yet: later an agent may have made them itself. */
function leakIn(value: Json, where: string, hidden: Hidden | undefined): string | undefined {
  const key = giveaway(value);
  if (key !== undefined && where !== 'GET /schema') return `a key "${key}"`;
  const text = JSON.stringify(value) ?? '';
  const secret = hidden?.secrets.find((one) => text.includes(JSON.stringify(one.text).slice(1, -1)));
  if (secret !== undefined) return secret.what;
  if (!(where === FIRST || where.startsWith('the card'))) return undefined;
  const call = hidden?.calls.find((one) => holds(value, canonicalJson(one)));
  return call === undefined ? undefined : `arguments of a call of the reference: ${JSON.stringify(call)}`;
}

function giveaway(value: Json): string | undefined {
  if (Array.isArray(value)) return value.map(giveaway).find((key) => key !== undefined);
  if (!isObject(value)) return undefined;
  const own = Object.keys(value).find((key) => GIVEAWAY.test(key));
  return (
    own ??
    Object.values(value)
      .map(giveaway)
      .find((key) => key !== undefined)
  );
}

function holds(value: Json, wanted: string): boolean {
  if (Array.isArray(value)) return value.some((one) => holds(one, wanted));
  if (!isObject(value)) return false;
  return canonicalJson(value) === wanted || Object.values(value).some((one) => holds(one, wanted));
}

async function verifierDeterminism(subject: Subject): Promise<string> {
  requireWords(subject.server, 'rewards');
  await requireRepeatable(subject);
  const [{ reset, actions }] = solvedOrIdle(subject);
  const returns: number[] = [];
  for (let i = 0; i < REPEATS; i++) returns.push(returnOf(await playAlone(subject.server, reset, actions)));
  if (new Set(returns).size > 1) throw new CheckFailed(`the same episode earns ${returns.join(', then ')}`);
  return `the same episode earns ${returns[0]}, ${REPEATS} times`;
}

function solvedOrIdle(subject: Subject): readonly Pick<Solvable, 'reset' | 'actions'>[] {
  try {
    return solvable(subject);
  } catch (error) {
    if (!(error instanceof NotChecked)) throw error;
    return [{ reset: starts(subject)[0], actions: randomActions(subject, 'verifier') }];
  }
}

async function judgePinned({ hidden }: Subject): Promise<string> {
  if (hidden === undefined)
    throw new NotChecked('a server does not tell whether a model judges: give the scenario instead');
  if (hidden.judge === null) return 'no model judges: rewards come from exact checks';
  const { model, parameters } = hidden.judge;
  if (/latest$/i.test(model)) throw new CheckFailed(`the judge is "${model}", which is another model tomorrow`);
  return `${model}, ${parameters}`;
}

async function environment({ hidden }: Subject): Promise<string> {
  if (hidden === undefined)
    throw new NotChecked('only of a scenario: snapshots, forks and spaces cannot be asked of a server');
  const problems = await hidden.environment();
  if (problems.length > 0) throw new CheckFailed(problems.join('; '));
  return 'its contract holds (reverie check-env)';
}
