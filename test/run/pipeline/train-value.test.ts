// `reverie train` with train.mode=value in a folder of games: a value model of gathered records, judged on those that were held out; a policy that
// learns from it without another step; and a model that knows no more than a constant, which is not learned from.

import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { TextValueModel } from '../../../src/rl/text/text-learner.js';
import type { TextTrainResult } from '../../../src/run/pipeline/tools/train-policy.js';
import { atticScenario, POLICY_FILES } from './attic-scenario.js';

const relevance = { vocabulary: 256, embedding: 8, hidden: [16, 16], rows: 16 };
const { run, stopsAndGoesOn } = atticScenario(
  'value',
  { goal: '(opened crate)', walkthrough: ['open crate'] },
  {
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
  },
);

it('learns from what recorded choices came to, and steps nothing but what it gathers', async () => {
  const trained = await run<TextTrainResult>('train', 'values');
  const [{ steps, values }] = trained.gathered;
  expect(trained).toMatchObject({ mode: 'value', realSteps: steps, simulatedSteps: 0, valuedChoices: 6 * 24 * 8 });
  expect(values!.heldOutEpisodes).toBe(20);
  expect(values!.steps + values!.heldOutSteps + values!.skipped).toBe(steps);
  expect(values!.skill.low).toBeGreaterThan(0);
  const [before, after] = [trained.evaluations[0], trained.evaluations.at(-1)!];
  expect(after.meanLength).toBeLessThan(before.meanLength);
  expect(readFileSync(trained.report, 'utf8')).toContain('skill over a constant');
});

it('closes a model that is stopped as it is fitted', async () => {
  const close = vi.spyOn(TextValueModel.prototype, 'close');
  const { make } = TextValueModel;
  vi.spyOn(TextValueModel, 'make').mockImplementationOnce(async (...given) => {
    process.emit('SIGINT');
    return make.apply(TextValueModel, given);
  });
  await expect(run('train', 'fitting')).rejects.toMatchObject({ name: 'RunInterrupted' });
  expect(close).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});

it('goes on to the same bytes', async () => {
  await stopsAndGoesOn('stopped', { at: 'records/000.jsonl', like: 'values', files: POLICY_FILES });
});

it('does not learn where nothing says whether the model knows more than a constant', async () => {
  const none = { set: ['train.gather.agent={kind: reference}'] };
  await expect(run('train', 'constant', none)).rejects.toMatchObject({
    code: 'SCENARIO_UNFIT',
    message: expect.stringContaining('came to the same'),
  });
});

it.each([
  ['train.gather.heldOut=0', 'train.gather.heldOut'],
  ['rl.algorithm=ppo', 'rl.algorithm'],
])('refuses %s', async (set, path) => {
  await expect(run('train', 'refused', { set: [set] })).rejects.toMatchObject({
    code: 'SCENARIO_INVALID',
    message: expect.stringContaining(path),
  });
});
