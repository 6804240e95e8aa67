// How long all that continuous integration does takes, installation included: `.ci/run` on a fresh clone of this commit, or a
// run of it that kept its times (REVERIE_CI_TIMING names the file). Means something on two cores that do nothing else.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../src/core/errors.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';

const timingSchema = z.strictObject({
  date: z.string(),
  seconds: z.number().positive(),
  parts: z.record(z.string(), z.number()),
  machine: z.string(),
});
type Timing = z.output<typeof timingSchema>;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const kept = process.env['REVERIE_CI_TIMING'];
  if (quick && kept === undefined) {
    throw reverieError('SETTING_INVALID', {
      problem: `Cannot run benchmarks with: house.tests --quick without REVERIE_CI_TIMING, a kept run`,
      hint: 'Usage: npm run bench -- ID [--quick], or npm run bench -- --list.',
    });
  }
  const timing = kept === undefined ? wholeRun(root, log) : readTiming(kept);
  const minutes = timing.seconds / 60;
  for (const [part, seconds] of Object.entries(timing.parts)) log(`${part}: ${seconds.toFixed(0)} s`);
  return { value: minutes, low: minutes, high: minutes, n: 1, raw: { ...timing } };
}

function wholeRun(root: string, log: (line: string) => void): Timing {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-ci-'));
  try {
    const clone = join(folder, 'clone');
    execFileSync('git', ['clone', '--quiet', root, clone]);
    log('.ci/run on a fresh clone');
    const file = join(folder, 'timing.json');
    const env = { ...process.env, REVERIE_CI_TIMING: file };
    const { status } = spawnSync(join(clone, '.ci', 'run'), { cwd: clone, env, stdio: ['ignore', 2, 2] });
    if (status !== 0) log(`.ci/run ended with ${status}`);
    return readTiming(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readTiming(file: string): Timing {
  if (!existsSync(file)) {
    throw reverieError('SETTING_INVALID', {
      problem: `Cannot run benchmarks with: ${`house.tests without a kept run: nothing is in ${file}`}`,
      hint: 'Usage: npm run bench -- ID [--quick], or npm run bench -- --list.',
    });
  }
  return timingSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}
