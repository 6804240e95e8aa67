// How long `reverie --help` takes beyond Node itself: both as processes, in turns, from start to end.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, measurePaired, median } from './measure.js';

const ROUNDS = 41;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const cli = join(root, 'dist', 'cli.js');
  const rounds = quick ? 3 : ROUNDS;
  const times = await measurePaired({
    rounds,
    ours: () => milliseconds([cli, '--help']),
    baseline: () => milliseconds(['--eval', '0']),
    log,
  });
  const beyond = times.ours.map((time, round) => time - times.baseline[round]);
  const commands: Record<string, number[]> = {};
  for (const command of [['scenarios'], ['doctor'], ['train', '--help']]) {
    commands[command.join(' ')] = Array.from({ length: quick ? 1 : 5 }, () => milliseconds([cli, ...command]));
  }
  return {
    ...bootstrap(beyond, median),
    n: rounds,
    raw: { helpMs: times.ours, nodeMs: times.baseline, otherCommandsMs: commands },
    versions: { node: process.versions.node },
  };
}

/** Wall time of a Node process that must end well. */
function milliseconds(args: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - began;
}
