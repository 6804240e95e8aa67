// `reverie train` and `reverie eval --checkpoint` in a folder of games: what is kept, resumed to the same bytes, and refused.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { EpisodeStep } from '../../../src/replay/experience/experience.js';
import { inspectFolder } from '../../../src/run/inspect.js';
import type { JobContext } from '../../../src/run/job.js';
import { launch } from '../../../src/run/launch.js';
import type { RealEpisodesResult } from '../../../src/run/pipeline/tools/episodes.js';
import { type TextTrainResult, trainPolicyJob } from '../../../src/run/pipeline/tools/train-policy.js';
import type { ToolsScenario } from '../../../src/run/scenario.js';
import { jsonLines } from '../../data.js';
import { recordingStream } from '../streams.js';
import { atticScenario, POLICY_FILES } from './attic-scenario.js';

const walkthrough = ['open crate', 'take book from crate', 'go to south', 'open chest', 'put book into chest'];
const rl = { relevance: { vocabulary: 256, embedding: 8, hidden: [16, 16], rows: 16 } };
const train = { evalSplits: ['train'], cloneTasks: 1, cloneEpochs: 25, cloneLr: 1e-2, rounds: 2, tasksPerRound: 1 };
const { home, run, stopsAndGoesOn } = atticScenario(
  'text',
  { goal: '(in book chest)', walkthrough },
  { synth: { episodes: 12, maxSteps: 12 }, rl, train: { ...train, checkpointSeconds: 0 } },
);

it('trains a policy, keeps it, and judges it again from its checkpoint', async () => {
  const trained = await run<TextTrainResult>('train', 'whole');
  expect(trained).toMatchObject({ job: 'train', family: 'tools', rounds: 2, clonedSteps: 5, algorithm: 'grpo' });
  expect(trained.evaluations.map(({ after }) => after)).toEqual(['nothing', 'cloning', 'rounds']);
  const inputs = { checkpoint: join(home, 'whole') };
  const judged = await run<RealEpisodesResult>('eval', 'judged', { inputs });
  expect(judged).toMatchObject({ episodes: 12, abstained: 0, policy: trained.policy });
  expect(judged.success!.value).toBeGreaterThan(0.5);
  const won = jsonLines(join(judged.data, 'episodes.jsonl')).filter((record) => record.return === 1);
  expect(won.length / 12).toBe(judged.success!.value);
  const { parts } = await inspectFolder(join(home, 'whole'));
  const facts = { network: 'relevance', policyVersion: trained.policy.version, round: 2, clonedSteps: 5 };
  expect(parts).toMatchObject([{ kind: 'checkpoint', facts }]);

  // Stopped after a round, it goes on to the same bytes.
  await stopsAndGoesOn('stopped', { at: POLICY_FILES[0], like: 'whole', files: POLICY_FILES });
  const events = (out: string) =>
    jsonLines(join(home, out, 'metrics.jsonl')).map((event) => ({ ...event, wallSeconds: 0 }));
  expect(events('stopped')).toEqual(events('whole'));

  // A changed byte is told, not acted on.
  const weights = join(home, 'whole', POLICY_FILES[1]);
  const bytes = readFileSync(weights);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(weights, bytes);
  await expect(run('eval', 'refused', { inputs })).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
});

it('learns in a dream of its own records, which the policy adds to, and goes on to the same bytes', async () => {
  const gather = { episodes: 10, every: 1, agent: { kind: 'explorer' } };
  const set = [
    'train.mode=interleaved',
    'train.model={backends: [operators], operators: {minConfidence: 0.5}}',
    `train.gather=${JSON.stringify(gather)}`,
    'faults=[{kind: latency}]',
  ];
  const trained = await run<TextTrainResult>('train', 'simulated', { set });
  expect(trained.gathered).toHaveLength(2);
  const [first, second] = trained.gathered;
  expect(first.agent).toMatch(/^explorer/);
  expect(second.agent).toMatch(/^relevance-/);
  expect(trained.realSteps).toBe(5 + first.steps + second.steps);
  const answered = Object.values(trained.answeredBy).reduce((a, b) => a + b, 0);
  expect(answered).toBe(trained.simulatedSteps);
  expect(trained.answeredBy.operators).toBeGreaterThan(answered / 2);
  expect(second.heldOut!.steps).toBeGreaterThan(0);
  const report = readFileSync(trained.report, 'utf8');
  expect(report).toMatch(/answered by.*operators/);

  // Records show the world without faults.
  expect(readFileSync(join(home, 'simulated', 'records', '000.jsonl'), 'utf8')).not.toContain('"fault"');

  // What was imitated is a record, too, of which the dream is made.
  const [shown] = jsonLines(join(home, 'simulated', 'records', 'demonstrations.jsonl'));
  expect(shown).toMatchObject({ source: 'real', seed: 0, terminated: true, return: 1 });
  expect(shown.steps.map((step: EpisodeStep) => step.action.toolCalls![0].arguments.text)).toEqual(walkthrough);

  // Before the first round, and beside each evaluation after one.
  expect(trained.checks.map(({ round }) => round)).toEqual([0, 2]);
  for (const check of trained.checks) {
    expect(check.episodes).toBe(1);
    expect(check.steps).toBeGreaterThan(0);
    expect(check.steps).toBeLessThanOrEqual(check.realSteps);
    expect(check.confirmedWins).toBeLessThanOrEqual(check.dreamWins);
  }

  await stopsAndGoesOn('dream-stopped', {
    ...{ at: 'records/001.jsonl', like: 'simulated', more: { set } },
    files: [...POLICY_FILES, 'records/001.jsonl'],
  });

  const inputs = { checkpoint: join(home, 'simulated') };
  const collected = await run<RealEpisodesResult>('collect', 'collected', { inputs });
  expect(collected).toMatchObject({ job: 'collect', episodes: 12, policy: trained.policy });
});

it('that was killed as it had gathered again does its rounds without what it gathered, to the same bytes', async () => {
  const gather = { episodes: 6, every: 3, agent: { kind: 'explorer' } };
  const model = { backends: ['replay', 'operators'], operators: { minConfidence: 0.5 } };
  const set = [
    ...['train.mode=interleaved', 'train.rounds=6', 'train.cloneTasks=0', 'train.checkpointSeconds=100000'],
    ...[`train.model=${JSON.stringify(model)}`, `train.gather=${JSON.stringify(gather)}`],
  ];
  await run<TextTrainResult>('train', 'remembering', { set });
  const killed = async (context: JobContext<ToolsScenario>) => {
    const write = context.metrics.write.bind(context.metrics);
    context.metrics.write = (event) => {
      if (event.kind === 'gather' && event.time === 1) throw new Error('killed');
      write(event);
    };
    return trainPolicyJob(context);
  };
  const jobs = { tools: async () => killed };
  await expect(run<TextTrainResult>('train', 'killed', { set, jobs })).rejects.toThrow('killed');
  await launch('train', { resume: join(home, 'killed'), quiet: true, stream: recordingStream(), command: '' });
  for (const file of [...POLICY_FILES, 'records/001.jsonl'])
    expect(readFileSync(join(home, 'killed', file))).toEqual(readFileSync(join(home, 'remembering', file)));
});

it('refuses worlds that list no commands', async () => {
  await expect(run('train', 'desk', { scenario: 'helpdesk' })).rejects.toMatchObject({ code: 'DOMAIN_UNFIT' });
});

it('refuses splits without tasks', async () => {
  const none = { set: ['train.evalSplits=[test]'] };
  await expect(run('train', 'none', none)).rejects.toMatchObject({ code: 'DOMAIN_UNFIT' });
});
