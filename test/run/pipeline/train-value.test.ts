// `reverie train --mode value` in a folder of games: a value model of gathered records, judged on those that were held out; a policy that
// learns from it without another step; and a model that knows no more than a constant, which is not learned from.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { launch } from '../../../src/run/index.js';
import type { TextTrainResult } from '../../../src/run/tools-results.js';
import { ATTIC, ATTIC_PROBLEM } from '../../env/pddl/attic.js';
import { recordingStream } from '../streams.js';

const home = mkdtempSync(join(tmpdir(), 'reverie-value-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

mkdirSync(join(home, 'games'));
writeFileSync(
  join(home, 'games', 'book.tw-pddl'),
  JSON.stringify({
    pddl_domain: ATTIC.domain,
    pddl_problem: ATTIC_PROBLEM.replace(/\(:goal .*\)/, '(:goal (opened crate)))'),
    grammar: ATTIC.grammar,
    walkthrough: ['open crate'],
  }),
);
const relevance = { vocabulary: 256, embedding: 8, hidden: [16, 16], rows: 16 };
const scenario = {
  family: 'tools',
  name: 'attic',
  domain: { id: 'text-games', folder: 'games' },
  model: { kind: 'tools', backends: ['rules'] },
  synth: { maxSteps: 6 },
  rl: { relevance, lr: 5e-3 },
  train: {
    mode: 'value',
    gather: { episodes: 50, heldOut: 0.4, agent: { kind: 'random', steps: 6, offered: true } },
    value: { situations: 24, epochs: 12 },
    evalSplits: ['train'],
    rounds: 6,
    evalEvery: 100,
    evalTasks: 1,
    checkpointSeconds: 0,
  },
};
const file = join(home, 'scenario.yaml');
writeFileSync(file, JSON.stringify(scenario));
const run = (out: string, more: object = {}) =>
  launch<TextTrainResult>('train', {
    ...{ scenario: file, out: join(home, out), quiet: true, stream: recordingStream(), command: 'test' },
    ...more,
  });

it('learns from what recorded choices came to, and steps nothing but what it gathers', async () => {
  const trained = await run('values');
  const [{ steps, values }] = trained.gathered;
  expect(trained).toMatchObject({ mode: 'value', realSteps: steps, dreamtSteps: 0, valuedChoices: 6 * 24 * 8 });
  expect(values!.heldOutEpisodes).toBe(20);
  expect(values!.steps + values!.heldOutSteps + values!.skipped).toBe(steps);
  expect(values!.skill.low).toBeGreaterThan(0);
  // Opening the crate at once is worth more than anything else that may be done first.
  expect(values!.rightPairs / values!.pairs).toBeGreaterThan(0.6);
  const [before, after] = [trained.evaluations[0], trained.evaluations.at(-1)!];
  expect(after.meanLength).toBeLessThan(before.meanLength);
  expect(readFileSync(trained.report, 'utf8')).toContain('What the value model was made of');
});

it('goes on to the same bytes', async () => {
  const stopping = run('stopped');
  const poll = setInterval(() => {
    try {
      readFileSync(join(home, 'stopped', 'records', '000.jsonl'));
      process.emit('SIGINT');
      clearInterval(poll);
    } catch {
      // Not yet there.
    }
  }, 5);
  await expect(stopping).rejects.toMatchObject({ name: 'RunInterrupted' });
  clearInterval(poll);
  await launch('train', { resume: join(home, 'stopped'), quiet: true, stream: recordingStream(), command: 'test' });
  for (const name of ['text-policy.json', 'learner.safetensors'])
    expect(readFileSync(join(home, 'stopped', 'checkpoint', name))).toEqual(
      readFileSync(join(home, 'values', 'checkpoint', name)),
    );
});

it('does not learn where nothing says whether the model knows more than a constant', async () => {
  const none = { set: ['train.gather.agent={kind: reference}'] };
  await expect(run('constant', none)).rejects.toMatchObject({
    code: 'TEXT_VALUES_UNFIT',
    message: expect.stringContaining('came to the same'),
  });
});

it.each([
  ['train.gather.heldOut=0', 'train.gather.heldOut'],
  ['rl.algorithm=ppo', 'rl.algorithm'],
])('refuses %s', async (set, path) => {
  await expect(run('refused', { set: [set] })).rejects.toMatchObject({
    code: 'SCENARIO_INVALID',
    message: expect.stringContaining(path),
  });
});
