// TextWorldExpress and ScienceWorld, played by their jars and held against their official Python packages; and what is said where
// something of them is missing. Skipped without Java or the packages.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pythonEnvironment } from '../../scripts/python-environments.mjs';
import { runCommandLine } from '../../src/cli/command-line.js';
import { makeDomain, rulesResponder, ScriptedUser, type ToolsDomain } from '../../src/env/index.js';
import { type TextEnvironment, textEnvironment } from '../../src/env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../src/env/tools/tools-environment.js';
import { recordingStream } from '../run/streams.js';

const HERE = dirname(fileURLToPath(import.meta.url));
const made = await pythonEnvironment('java-games');
const java = spawnSync('java', ['-version'], { encoding: 'utf8' });
const reason = typeof made === 'string' ? made : java.error && `java could not be started: ${java.error.message}`;
if (reason !== undefined) console.warn(`Tests of games in Java are skipped: ${reason}`);
const python = typeof made === 'string' ? '' : made.python;

let folder: string;
const open: ToolsDomain[] = [];
const given = { ...process.env };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-java-'));
});
afterEach(() => {
  process.env = { ...given, REVERIE_PYTHON: python };
  for (const domain of open.splice(0)) domain.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function domainOf(id: string, settings: object): Promise<ToolsDomain> {
  process.env.REVERIE_PYTHON = python;
  const domain = await makeDomain({ id, ...settings }, { folder });
  open.push(domain);
  return domain;
}

function environmentOf(domain: ToolsDomain): TextEnvironment {
  const parts = { id: domain.id, domain, responder: rulesResponder(domain), user: new ScriptedUser(), maxSteps: 200 };
  return textEnvironment(new ToolsEpisodeEnvironment(parts));
}

interface Seen {
  readonly observation: string;
  readonly look: string;
  readonly inventory: string;
  readonly admissible: readonly string[];
  readonly score: number;
  readonly reward: number;
  readonly done: boolean;
}

interface OfficialPlay {
  readonly commands: readonly string[];
  readonly steps: readonly Seen[];
}

/** What the official packages say, one play after another. */
async function* official(requests: readonly object[]): AsyncGenerator<OfficialPlay> {
  const script = join(HERE, '../../benchmarks/peers/java_games.py');
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    for (const request of requests) {
      child.stdin.write(`${JSON.stringify({ method: 'play', ...request })}\n`);
      const { result, error } = JSON.parse((await lines.next()).value ?? '{"error": "it ended"}');
      if (error !== undefined) throw new Error(error);
      yield result;
    }
  } finally {
    child.stdin.end();
  }
}

/** The same commands in ours. */
async function played(env: TextEnvironment, task: string, commands: readonly string[]): Promise<Seen[]> {
  const seen: Seen[] = [];
  const see = (observation: string, info: Record<string, unknown>, reward: number, done: boolean) => {
    const { look, inventory, score } = env.tools.state as unknown as Seen;
    seen.push({ observation, look, inventory, admissible: info.admissible as string[], score, reward, done });
  };
  const begun = await env.reset({ task });
  see(begun.observation, begun.info, 0, false);
  for (const command of commands) {
    const { observation, info, reward, terminated } = await env.step(command);
    see(observation, info, reward, terminated);
  }
  return seen;
}

/**
 * What both tell of a play. At the end ours lists no commands; at the beginning it puts the task first, where it is not told. Commands that
 * are part of the state are sorted, as TextWorldExpress draws their order anew at each step.
 */
function compared(steps: readonly Seen[], { tools }: TextEnvironment) {
  const { goal } = tools.task.user;
  const inOrder = (list: readonly string[]) =>
    tools.domain.initialState.admissible === undefined ? list : [...list].sort();
  return steps.map(({ observation, look, inventory, admissible, score, reward, done }, i) => ({
    observation: i === 0 ? observation.replace(`${goal}\n\n`, '') : observation,
    look,
    inventory,
    admissible: done ? [] : inOrder(admissible),
    score,
    reward: Number(reward.toFixed(9)),
    done,
  }));
}

const GAMES = ['cookingworld', 'twc', 'coin', 'mapreader', 'arithmetic', 'sorting', 'simonsays', 'peckingorder'];

describe.skipIf(reason !== undefined)('TextWorldExpress', () => {
  it('has eight games with the folds of its authors, as many seeds of each as are asked for', async () => {
    const all = await domainOf('textworld-express', { each: 2 });
    expect(all.tasks).toHaveLength(8 * 3 * 2);
    const some = await domainOf('textworld-express', { only: ['coin'], folds: ['dev', 'test'], each: 2 });
    expect(some.tasks.map(({ id, split, tags }) => [id, split, tags])).toEqual([
      ['coin.dev.10000', 'validation', ['coin', 'dev']],
      ['coin.dev.10001', 'validation', ['coin', 'dev']],
      ['coin.test.20000', 'test', ['coin', 'test']],
      ['coin.test.20001', 'test', ['coin', 'test']],
    ]);
  });

  it('plays every game as the official package does: its walkthroughs, and random walks', {
    timeout: 120_000,
  }, async () => {
    const domain = await domainOf('textworld-express', { each: 1, folds: ['train', 'test'] });
    const env = environmentOf(domain);
    const plays = GAMES.flatMap((name, i) => [
      { game: { name, seed: 0, fold: 'train' }, gold: true },
      { game: { name, seed: 20_000, fold: 'test' }, walk: { seed: i, steps: 20 } },
    ]);
    let at = 0;
    for await (const { commands, steps } of official(plays.map((play) => ({ kind: 'textworld-express', ...play })))) {
      const { game, gold } = plays[at++];
      const task = `${game.name}.${game.fold}.${game.seed}`;
      const ours = await played(env, task, commands);
      expect(compared(ours, env), task).toEqual(compared(steps, env));
      if (!gold) continue;
      expect(ours.at(-1), task).toMatchObject({ done: true, score: 1 });
      const { reference } = domain.tasks.find(({ id }) => id === task)!;
      // The jar draws these anew each time.
      if (['coin', 'twc'].includes(game.name)) continue;
      // Some go on after the game is won.
      const known = reference?.calls.slice(0, commands.length).map((call) => call.arguments.text);
      expect(known, task).toEqual(commands);
    }
    expect(at).toBe(16);
  });

  it('goes on from snapshots, in another process as well, and survives the end of its own', async () => {
    const [first, second] = await Promise.all([
      domainOf('textworld-express', { only: ['cookingworld'], folds: ['train'], each: 1 }),
      domainOf('textworld-express', { only: ['cookingworld'], folds: ['train'], each: 1 }),
    ]);
    const [env, other] = [environmentOf(first), environmentOf(second)];
    await env.reset({ task: 'cookingworld.train.0' });
    const commands = first.tasks[0].reference!.calls.map((call) => String(call.arguments.text));
    for (const command of commands.slice(0, 6)) await env.step(command);
    const snapshot = JSON.parse(JSON.stringify(env.snapshot()));
    const on = async (one: TextEnvironment) => {
      const steps = [];
      for (const command of commands.slice(6)) {
        const { observation, reward, terminated, info } = await one.step(command);
        steps.push({ observation, reward, terminated, admissible: info.admissible, hash: info.stateHash });
      }
      return steps;
    };
    const expected = await on(env);
    expect(expected.at(-1)?.terminated).toBe(true);
    other.restore(snapshot);
    expect(await on(other)).toEqual(expected);
    other.restore(snapshot);
    const pids = childrenNamed('java');
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    expect(await on(other)).toEqual(expected);
    expect(childrenNamed('java').some((pid) => !pids.includes(pid))).toBe(true);
  });

  it('is recorded and evaluated by the command line, the walkthroughs of all games being won', async () => {
    process.env.REVERIE_PYTHON = python;
    const run = async (...args: string[]) => {
      const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: {} };
      const exitCode = await runCommandLine([...args, '--json'], terminal);
      expect(exitCode, terminal.stderr.text()).toBe(0);
      return JSON.parse(terminal.stdout.text());
    };
    const smoke = ['textworld-express', '--profile', 'smoke'];
    expect(await run('eval', ...smoke, '--out', join(folder, 'eval'))).toMatchObject({
      episodes: 8,
      failed: {},
      success: { value: 1 },
    });
    await run('collect', ...smoke, '--out', join(folder, 'collect'));
    const records = readFileSync(join(folder, 'collect', 'data', 'episodes.jsonl'), 'utf8')
      .trim()
      .split('\n');
    for (const record of records.map((line) => JSON.parse(line))) {
      const earned = record.steps.reduce((sum: number, { reward }: { reward: number }) => sum + reward, 0);
      expect([record.terminated, record.return, Number(earned.toFixed(9))]).toEqual([true, 1, 1]);
    }
  });

  it('loses an episode, and no more, where a game cannot be played', async () => {
    const parameters = { coin: { numLocations: 99 } };
    const domain = await domainOf('textworld-express', {
      only: ['coin', 'twc'],
      folds: ['train'],
      each: 1,
      parameters,
    });
    const env = environmentOf(domain);
    await expect(env.reset({ task: 'coin.train.0' })).rejects.toMatchObject({
      code: 'JAVA_GAME_FAILED',
      message: expect.stringMatching(/"coin.train.0" failed in its beginning.*less than or equal to 11 .*99/),
    });
    expect((await env.reset({ task: 'twc.train.0' })).observation).toMatch(/You are in/);
  });
});

describe.skipIf(reason !== undefined)('ScienceWorld', () => {
  it('plays as the official package does', { timeout: 120_000 }, async () => {
    const settings = { only: ['find-plant'], folds: ['train'], each: 1, simplifications: ['easy'] };
    const env = environmentOf(await domainOf('scienceworld', settings));
    const game = { name: 'find-plant', variation: 0, simplifications: 'easy' };
    for await (const { commands, steps } of official([{ kind: 'scienceworld', game, walk: { seed: 1, steps: 6 } }])) {
      const ours = await played(env, 'find-plant.train.0', commands);
      expect(compared(ours, env)).toEqual(compared(steps, env));
    }
  });
});

describe('what is missing', () => {
  it('is said once, with its value and a way out', async () => {
    const failed = (code: string, message: RegExp) => ({ code, message: expect.stringMatching(message) });
    const ask = (settings: object, id = 'textworld-express') => makeDomain({ id, ...settings }, { folder });
    await expect(ask({ jar: 'nowhere.jar' })).rejects.toMatchObject(
      failed('JAR_NOT_FOUND', /nowhere\.jar.*there is nothing/),
    );
    await expect(ask({ jar: '.' })).rejects.toMatchObject(failed('JAR_NOT_FOUND', /it holds no jar/));
    writeFileSync(join(folder, 'lonely.jar'), '');
    await expect(ask({ jar: 'lonely.jar' })).rejects.toMatchObject(failed('JAR_NOT_FOUND', /py4j, which is needed/));
    await expect(ask({ only: ['coins'] })).rejects.toMatchObject({
      ...failed('JAVA_GAME_UNKNOWN', /TextWorldExpress has no game "coins"/),
      hint: expect.stringContaining('Did you mean "coin"?'),
    });
    await expect(ask({ only: ['boyl'] }, 'scienceworld')).rejects.toMatchObject(
      failed('JAVA_GAME_UNKNOWN', /no task "boyl"/),
    );
    await expect(ask({ folds: ['valid'] })).rejects.toMatchObject(failed('ENV_SPEC_INVALID', /folds/));
  });

  it.skipIf(reason !== undefined)('Java itself, when the first game is played', async () => {
    const domain = await domainOf('textworld-express', { only: ['coin'], folds: ['train'], each: 1 });
    process.env.REVERIE_JAVA = join(folder, 'no-java');
    await expect(environmentOf(domain).reset()).rejects.toMatchObject({
      code: 'JAVA_MISSING',
      message: expect.stringContaining(join(folder, 'no-java')),
    });
  });
});

/** Processes of this name that this one started. */
function childrenNamed(name: string): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=,comm=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  const lines = stdout.trim().split('\n');
  return lines.map((line) => line.trim().split(/\s+/)).flatMap(([pid, comm]) => (comm === name ? [Number(pid)] : []));
}
