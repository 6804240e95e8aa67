// The examples of things from outside are what the page on extending says they are: short, and they run.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { answerHere, set } from '../e2e/reverie.js';
import { temporaryFolder } from '../temporary-folder.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

const folder = temporaryFolder('examples');

describe.each(['own-environment', 'own-learner', 'own-dynamics'])('examples/%s', (name) => {
  it('trains, in the main thread and with workers to the same policy', async () => {
    const train = (out: string, ...more: string[]) =>
      answerHere('train', join(EXAMPLES, name), '--out', join(folder, out), '--quiet', ...more);
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
      answerHere('synth', example, '--out', join(folder, out), ...set('synth.episodes=6'), '--quiet', ...more);
    const alone = await synth('habit-alone');
    await synth('habit-shared', '--workers', '2');
    expect(alone).toMatchObject({ episodes: 6, answeredBy: { habit: expect.any(Number), rules: expect.any(Number) } });
    expect(alone.mustFail.passed).toBe(true);
    const rows = (out: string) => readFileSync(join(folder, out, 'data', 'episodes.jsonl'), 'utf8');
    expect(rows('habit-shared')).toBe(rows('habit-alone'));
  });
});

it('what comes from outside is found again in what it left: a learner and dynamics of a checkpoint', async () => {
  const [records, model] = ['records', 'model'].map((out) => join(folder, out));
  await answerHere('collect', join(EXAMPLES, 'own-dynamics'), ...set('collect.steps=300'), '--out', records, '--quiet');
  await answerHere('fit', '--data', records, '--out', model, '--quiet');
  const synth = ['synth', '--model', model, '--data', records, ...set('synth.starts=64'), '--quiet'];
  // Its own records hold no surprise for it, so branches are as long as they may be.
  const { transitions } = await answerHere(...synth, '--out', join(folder, 'simulated'), '--workers', '1');
  expect(transitions % 64).toBe(0);
  expect(transitions).toBeGreaterThanOrEqual(64);
  const policy = join(folder, 'own-learner-alone');
  const judged = await answerHere('eval', '--checkpoint', policy, '--out', join(folder, 'judged'), '--quiet');
  expect(judged.episodes).toBe(10);
});
