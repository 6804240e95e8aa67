// The examples of things from outside are what the page on extending says they are: short, and they run.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.js';
import { recordingStream } from '../run/streams.js';
import { temporaryFolder } from '../temporary-folder.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

const folder = temporaryFolder('examples');

async function reverie(...args: string[]) {
  const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: {} };
  const exitCode = await runCommandLine(args, terminal);
  if (exitCode !== 0) throw new Error(terminal.stderr.text());
  return JSON.parse(terminal.stdout.text());
}

describe.each(['own-environment', 'own-learner', 'own-dynamics'])('examples/%s', (name) => {
  it('trains, in the main thread and with workers to the same policy', async () => {
    const train = (out: string, ...more: string[]) =>
      reverie('train', join(EXAMPLES, name), '--out', join(folder, out), '--json', '--quiet', ...more);
    const alone = await train(`${name}-alone`);
    const shared = await train(`${name}-shared`, '--workers', '2');
    expect(alone).toMatchObject({ job: 'train', realSteps: 400 });
    expect(alone.updates).toBeGreaterThan(0);
    expect(shared.evaluations).toEqual(alone.evaluations);
  });
});

describe('examples/own-backend', () => {
  const example = join(EXAMPLES, 'own-backend');

  it('answers by habit, then by rules, in the main thread and in workers the same', async () => {
    const synth = (out: string, ...more: string[]) =>
      reverie('synth', example, '--out', join(folder, out), '--set', 'synth.episodes=6', '--json', '--quiet', ...more);
    const alone = await synth('habit-alone');
    await synth('habit-shared', '--workers', '2');
    expect(alone).toMatchObject({ episodes: 6, answeredBy: { habit: expect.any(Number), rules: expect.any(Number) } });
    expect(alone.mustFail.passed).toBe(true);
    const rows = (out: string) => readFileSync(join(folder, out, 'data', 'episodes.jsonl'), 'utf8');
    expect(rows('habit-shared')).toBe(rows('habit-alone'));
  });
});

describe('what comes from outside', () => {
  it('is found again in what it left: a learner and dynamics of a checkpoint', async () => {
    const [records, model] = ['records', 'model'].map((out) => join(folder, out));
    const quiet = ['--json', '--quiet'];
    await reverie('collect', join(EXAMPLES, 'own-dynamics'), '--set', 'collect.steps=300', '--out', records, ...quiet);
    await reverie('fit', '--data', records, '--out', model, ...quiet);
    const simulated = join(folder, 'simulated');
    const synth = [
      'synth',
      '--model',
      model,
      '--data',
      records,
      '--set',
      'synth.starts=64',
      '--out',
      simulated,
      ...quiet,
    ];
    // Its own records hold no surprise for it, so branches are as long as they may be.
    const { transitions } = await reverie(...synth, '--workers', '1');
    expect(transitions % 64).toBe(0);
    expect(transitions).toBeGreaterThanOrEqual(64);
    const policy = join(folder, 'own-learner-alone');
    const judged = await reverie('eval', '--checkpoint', policy, '--out', join(folder, 'judged'), ...quiet);
    expect(judged.episodes).toBe(10);
  });
});
