// Is it an environment that learning can stand on? Schemas, state, rewards; and the same again for the same seed, whoever
// else is there.

import type { Json, JsonObject } from '../../core/json.js';
import { compileSchema } from '../../env/index.js';
import { connected, difference, play, playAlone, randomActions, returnOf } from './policies.js';
import { requireRepeatable } from './repeatable.js';
import { resetOf, startOf, starts } from './starts.js';

import { type Check, CheckFailed, NotChecked, requireWords, type Subject } from './validate-contract.js';

const OTHER_SEEDS = 5;

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

async function observationSchema(subject: Subject): Promise<string> {
  requireWords(subject.server, 'schemas');
  const check = compileSchema(subject.schemas.observation, 'observations');
  const replies = await playAlone(subject.server, startOf(subject), randomActions(subject, 'schema'));
  for (const [i, { observation, reward, done, error }] of replies.entries()) {
    // The reference's schema has the two among the fields; on the wire they stand beside.
    const [problem] = error === undefined ? check({ ...observation, ...declared(subject, reward, done) }) : [];
    if (problem !== undefined) throw new CheckFailed(`${i === 0 ? 'reset' : `step ${i}`}: ${problem}`);
  }
  return `${replies.length} observations fit`;
}

function declared({ schemas }: Subject, reward: unknown, done: boolean): JsonObject {
  const properties = (schemas.observation['properties'] ?? {}) as JsonObject;
  return {
    ...('reward' in properties && reward !== undefined ? { reward: reward as Json } : {}),
    ...('done' in properties ? { done } : {}),
  };
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
      throw new CheckFailed(
        `step ${i + 1}${done ? ' (the last)' : ''} answers reward ${reward}, outside ${range.join(' to ')}`,
      );
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
    const [one, other] = [
      await playAlone(subject.server, reset, actions),
      await playAlone(subject.server, reset, actions),
    ];
    const problem = difference(one, other);
    if (problem !== undefined) throw new CheckFailed(`same seed, same actions: ${problem}`);
  }
  const { seeds } = subject.server.lacks;
  return seeds === undefined ? 'same seed and actions, same episode' : `same task and actions, same episode (${seeds})`;
}

async function seedControl(subject: Subject): Promise<string> {
  requireWords(subject.server, 'seeds');
  const { server, options } = subject;
  const actions = randomActions(subject, 'seeds');
  const start = startOf(subject);
  const one = await playAlone(server, start, actions);
  const again = await playAlone(server, start, []);
  const first = difference(one.slice(0, 1), again);
  if (first !== undefined) throw new CheckFailed(`seed ${options.seed} twice: ${first}`);
  for (let i = 1; i <= OTHER_SEEDS; i++) {
    const seed = options.seed + i;
    const other = await playAlone(server, { ...start, seed }, actions);
    if (difference(one, other) !== undefined) return `seed ${options.seed} and seed ${seed} differ`;
  }
  const alike = `seeds ${options.seed} to ${options.seed + OTHER_SEEDS} all give the same episode`;
  if (isOfNumbers(subject)) throw new CheckFailed(alike);
  throw new NotChecked(`${alike}: nothing is drawn, the task alone decides, or the seed is ignored`);
}

/** There the seed is all that tells episodes apart; an environment of words that draws nothing may be whole without one. */
function isOfNumbers({ tasks, tools, schemas }: Subject): boolean {
  if (tools.length > 0 || tasks.some((task) => task['seed'] === undefined)) return false;
  const fields = Object.values((schemas.action['properties'] ?? {}) as Record<string, JsonObject>);
  return fields.some(({ type }) => ['array', 'number', 'integer'].includes(String(type)));
}

async function isolation(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const { server, options } = subject;
  const reset = startOf(subject);
  const actions = randomActions(subject, 'isolation');
  const others = randomActions(subject, 'intruder');
  const alone = await playAlone(server, reset, actions);
  const otherwise = starts(subject).at(-1)!;
  const [mine, theirs] = [await server.connect(), await server.connect()];
  try {
    const seen = [await mine.reset({ ...reset, episode_id: 'mine' })];
    const { error = '' } = await theirs.reset({ ...otherwise, seed: options.seed + 1, episode_id: 'theirs' });
    if (error.includes('CAPACITY_REACHED')) throw new NotChecked('the server takes one session at a time');
    for (const [i, action] of actions.entries()) {
      if (seen.at(-1)!.done) break;
      await theirs.step(others[i]);
      seen.push(await mine.step(action));
    }
    const problem = difference(alone, seen);
    if (problem !== undefined) throw new CheckFailed(`beside another session it goes otherwise than alone: ${problem}`);
    if (server.lacks.state === undefined) {
      const { episode_id: episode } = await mine.state();
      if (episode !== 'mine')
        throw new CheckFailed(`state() tells of another session's episode: ${JSON.stringify(episode)}`);
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
    const problem = difference(recorded.replies, await play(player, recorded.reset, recorded.actions));
    if (problem !== undefined) throw new CheckFailed(`an episode played again after another: ${problem}`);
    return `${recorded.replies.length - 1} steps again, the same`;
  });
}
