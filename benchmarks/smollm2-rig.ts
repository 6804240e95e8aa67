// What it takes to train and judge SmolLM2-135M-Instruct on errands: the world by its exact rules and a dream of it, served side
// by side; clients/reverie_trl.py for both; episodes to imitate; and TRL in a Python of its own.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../src/core/canonical-json.js';
import type { BenchmarkContext } from './benchmark.js';
import { runCommand } from './command-line.js';
import { controlledName } from './controlled-name.js';
import { type ControlledServer, startControlledServer } from './controlled-server.js';
import { MOST_COMMANDS, writeErrands } from './errands.js';
import { PythonPeer } from './python-peer.js';
import type { ServerWish } from './serve-process.js';

export const REQUIREMENTS = [
  ...['torch==2.15.0', 'trl==1.16.0', 'transformers==5.23.0', 'datasets==5.2.0', 'jinja2==3.1.6'],
  ...['peft==0.21.2', 'gguf==0.19.0'],
];
// Errands are said in the same words, whatever the split: tasks are held out by thing and place.
const EXPORT_SETTINGS = [
  ...['synth.export=[trl]', 'quality.decontaminate.words=false', 'quality.nearDuplicates=false'],
];
const EPISODE_SETTINGS = [...['agent.kind=scripted', 'agent.detours=0.1'], ...EXPORT_SETTINGS];

export interface WorldSizes {
  readonly trainTasks: number;
  readonly testTasks: number;
  /** Lived by the scripted agent for each seed. */
  readonly episodes: number;
  /** Share of these that go as a known failure does. */
  readonly failures: number;
  /** Share of the dream's answers that are wrong, in state, observation or both. */
  readonly dreamError: number;
}

/** One held-out task, lived once in the real environment. */
export interface Judged {
  readonly task: string;
  /** Null: it was left before its end, or nobody could judge. */
  readonly reward: number | null;
  readonly calls: number;
  /** What the model wrote and was answered. */
  readonly turns: readonly unknown[];
}

export interface Rig {
  readonly testTasks: readonly string[];
  /** clients/reverie_trl.py, each for its server and environment. */
  readonly scripts: Readonly<Record<'real' | 'dream', string>>;
  /** Folder of weights and tokenizer. */
  readonly base: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly peer: PythonPeer;
  /** Folders `trl` of the seed's episodes: the verified successes, and all there are. */
  episodes(seed: number): Promise<Readonly<Record<'filtered' | 'unfiltered', string>>>;
  close(): Promise<void>;
}

/** What decides what was measured, beside sizes. */
export async function errandsHash(root: string, folder: string, { trainTasks, testTasks }: WorldSizes) {
  await writeErrands(root, folder, trainTasks, testTasks);
  const files = await Promise.all(['tasks.yaml', 'rules.js'].map((file) => readFile(join(folder, file), 'utf8')));
  return sha256(...files, ...REQUIREMENTS, ...EPISODE_SETTINGS);
}

/** @param folder for everything that is made; what lies there from a sitting before is taken as it is */
export async function startRig(sizes: WorldSizes, folder: string, { root, log }: BenchmarkContext): Promise<Rig> {
  const world = join(folder, 'errands');
  await writeErrands(root, world, sizes.trainTasks, sizes.testTasks);
  const tasks = JSON.parse(await readFile(join(world, 'tasks.yaml'), 'utf8')) as { id: string; split: string }[];
  const simulator = await startControlledServer('errands', world);
  const dream = await writeDream(folder, world, simulator, sizes);
  const server = await startServer([world, dream], sizes.testTasks + MOST_COMMANDS);
  const threads = Number(process.env['REVERIE_BENCH_THREADS'] ?? 1);
  const peer = await PythonPeer.start({
    ...{ name: 'smollm2-trl', requirements: REQUIREMENTS, script: 'smollm2_trl.py', root, log },
    environment: { OMP_NUM_THREADS: String(threads) },
  });
  const base = join(root, 'benchmarks', '.cache', 'smollm2-135m-instruct');
  return {
    testTasks: tasks.filter(({ split }) => split === 'test').map(({ id }) => id),
    scripts: {
      real: await script(root, folder, server.url, 'errands'),
      dream: await script(root, folder, server.url, 'dream'),
    },
    base,
    peer,
    versions: await peer.call('setup', { folder: base, threads }),
    episodes: (seed) => lived(root, folder, world, seed, sizes),
    close: async () => {
      await peer.close();
      server.close();
      simulator.close();
    },
  };
}

/** The same tasks, answered by a language model that is wrong as often as it is told; no exact rule answers anything. */
async function writeDream(folder: string, world: string, { url }: ControlledServer, { dreamError }: WorldSizes) {
  const dream = join(folder, 'dream');
  const model = controlledName({ transitionError: dreamError, rewardError: 0, seed: 1 });
  const scenario = {
    ...{ family: 'tools', name: 'dream', domain: { folder: world } },
    model: { kind: 'tools', backends: ['llm'] },
    llm: { provider: 'openai-compatible', url, model },
    synth: { maxSteps: MOST_COMMANDS },
  };
  await mkdir(dream, { recursive: true });
  await writeFile(join(dream, 'scenario.yaml'), JSON.stringify(scenario));
  return dream;
}

async function startServer(scenarios: readonly string[], slots: number) {
  const child = fork(new URL('./serve-process.js', import.meta.url));
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ended with ${code} before it was ready`);
  });
  child.send({ kind: 'ours', scenarios, slots } satisfies ServerWish);
  const [url] = (await Promise.race([once(child, 'message'), failed])) as [string];
  failed.catch(() => {});
  return { url, close: () => child.disconnect() };
}

async function script(root: string, folder: string, url: string, env: string): Promise<string> {
  const path = join(folder, `${env}.py`);
  const client = await readFile(join(root, 'clients', 'reverie_trl.py'), 'utf8');
  const lines = [
    `import os`,
    `os.environ["REVERIE_URL"] = ${JSON.stringify(url)}`,
    `os.environ["REVERIE_ENV"] = "${env}"`,
  ];
  await writeFile(path, `${lines.join('\n')}\n${client}`);
  return path;
}

async function lived(root: string, folder: string, world: string, seed: number, sizes: WorldSizes) {
  const filtered = join(folder, `seed-${seed}`, 'episodes');
  const unfiltered = join(folder, `seed-${seed}`, 'episodes-unfiltered');
  const settings = [...EPISODE_SETTINGS, `synth.episodes=${sizes.episodes}`, `agent.failures=${sizes.failures}`];
  const set = settings.flatMap((setting) => ['--set', setting]);
  // Anew, and not resumed: it takes seconds, and a run that has ended cannot be.
  for (const before of [filtered, unfiltered]) await rm(before, { recursive: true, force: true });
  await command(root, ['synth', world, '--seed', String(seed), '--workers', '0', '--out', filtered, ...set]);
  const all = ['--episodes', filtered, '--out', unfiltered, '--set', 'quality.imitation=any'];
  await command(root, ['export', ...all, ...EXPORT_SETTINGS.flatMap((setting) => ['--set', setting])]);
  return { filtered: join(filtered, 'datasets', 'trl'), unfiltered: join(unfiltered, 'datasets', 'trl') };
}

async function command(root: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand(root, args, root);
  if (code !== 0) throw new Error(`reverie ${args[0]} ended with ${code}: ${stderr}`);
}
