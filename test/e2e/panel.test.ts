// Figures name what they were measured on, and a run can be held to the panel of another.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, reverie } from './reverie.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-panel-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const EPISODES = ['--set', 'synth.episodes=4', '--quiet'];

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await reverie(args, folder);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const panelIn = (out: string) => JSON.parse(readFileSync(join(folder, out, 'result.json'), 'utf8')).panel;

describe('the panel of an evaluation', () => {
  it('is told, kept, and the same in another folder', async () => {
    const told = await run('eval', 'helpdesk', ...EPISODES, '--out', 'first');
    const { hash, tasks, seeds, policies } = panelIn('first');
    expect(told).toMatch(new RegExp(`^evaluation set +${hash}$`, 'm'));
    expect([tasks.length > 0, seeds, policies.agent]).toEqual([
      true,
      [0],
      expect.stringMatching(/^scripted(?!.*corrections)/),
    ]);
    await run('eval', 'helpdesk', ...EPISODES, '--evaluation-set', 'first', '--out', 'second');
    await run('eval', 'helpdesk', ...EPISODES, '--evaluation-set', hash, '--out', 'third');
    expect(panelIn('second')).toEqual(panelIn('third'));
  });

  it('is refused with what differs, before anything is lived', async () => {
    const other = ['eval', 'helpdesk', '--set', 'synth.episodes=5', '--set', 'synth.splits=[test]', '--seed', '9'];
    const { code, message } = await refusal(
      [...other, '--evaluation-set', 'first/result.json', '--out', 'other'],
      folder,
    );
    expect(code).toBe('STATE_MISMATCH');
    expect(message).toMatch(/tasks: without .*; seeds: \[9\] here, \[0\] there; settings.episodes: 5 here, 4 there/);
  });

  it('must be one', async () => {
    const { code, message } = await refusal(
      ['eval', 'helpdesk', '--evaluation-set', 'nowhere', '--out', 'bad'],
      folder,
    );
    expect([code, message]).toEqual([
      'EVALUATION_SET_UNREADABLE',
      'No evaluation set is named by "nowhere" (--evaluation-set).',
    ]);
  });
});

describe('the panel of a judgement', () => {
  const judge = [
    'fidelity',
    'helpdesk',
    '--set',
    'fidelity.sections=[one-step]',
    '--set',
    'fidelity.questions=8',
    '--quiet',
  ];

  it('is in result, report and page, and can be asked for', async () => {
    await run(...judge, '--out', 'judged');
    const { hash } = panelIn('judged');
    for (const file of ['fidelity.html', 'fidelity.md', 'fidelity.json'])
      expect(readFileSync(join(folder, 'judged', file), 'utf8'), file).toContain(hash);
    await run(...judge, '--evaluation-set', 'judged/fidelity.json', '--out', 'again');
    const { code, message } = await refusal([...judge, '--seed', '3', '--evaluation-set', hash, '--out', 'no'], folder);
    expect([code, message]).toEqual(['STATE_MISMATCH', expect.stringContaining('a hash alone')]);
  });
});

describe('the panel of a training', () => {
  const train = (...more: string[]) => [
    ...['train', 'pendulum', '--profile', 'smoke', '--quiet', ...more],
    ...['--set', 'train.mode=real', '--set', 'train.realSteps=60', '--set', 'train.initialRandomSteps=40'],
    ...['--set', 'train.evalEpisodes=1', '--set', 'train.stepsPerRound=20'],
  ];

  it('is told and kept, the same in another folder, and says who learnt and what was measured', async () => {
    const told = await run(...train('--out', 'trained'));
    const { hash, seeds, policies, settings } = panelIn('trained');
    expect(told).toMatch(new RegExp(`^evaluation set +${hash}$`, 'm'));
    expect([seeds, Object.keys(policies)]).toEqual([[0], ['learner']]);
    expect(settings).toMatchObject({ mode: 'real', realSteps: 60, evalEpisodes: 1 });
    await run(...train('--out', 'trained-again', '--evaluation-set', 'trained', '--set', 'train.checkpointSeconds=0'));
    expect(panelIn('trained-again')).toEqual(panelIn('trained'));
  });

  it('is refused with what differs, and compared after the fact by inspect', async () => {
    const other = train('--seed', '4', '--set', 'rl.gamma=0.9');
    const { code, message } = await refusal([...other, '--evaluation-set', 'trained', '--out', 'untrained'], folder);
    expect(code).toBe('STATE_MISMATCH');
    expect(message).toMatch(/seeds: \[4\] here, \[0\] there; policies.learner: sac@\w{12} here, sac@\w{12} there/);
    expect(await run('inspect', 'trained', '--evaluation-set', 'trained-again')).toMatch(/comparable +yes, /);
    expect(await run('inspect', 'trained', '--evaluation-set', 'first')).toMatch(
      /comparable +no, not with first: environment[\s\S]*tasks:\s+without/,
    );
  });
});

describe('the panels of records, of a model fitted to them and of what is dreamt in it', () => {
  const small = ['--set', 'model={hidden: [8], members: 2, elites: 1, maxEpochs: 2}', '--quiet'];
  const recording = (...more: string[]) => ['collect', 'pendulum', '--set', 'collect.steps=60', '--quiet', ...more];
  const fitting = (data: string, ...more: string[]) => ['fit', 'pendulum', '--data', data, ...small, ...more];
  const dreaming = (...more: string[]) => [
    ...['synth', 'pendulum', '--model', 'model', '--data', 'seen', ...small],
    ...['--set', 'synth.starts=4', '--set', 'rollout={horizon: 2, disagreementLimit: null}', ...more],
  ];

  it('are told and kept, and know what they were given by its bytes, wherever it lies', async () => {
    const told = [
      await run(...recording('--out', 'seen')),
      await run(...fitting('seen', '--out', 'model')),
      await run(...dreaming('--out', 'dreamt')),
    ];
    for (const [i, out] of ['seen', 'model', 'dreamt'].entries())
      expect(told[i]).toMatch(new RegExp(`^evaluation set +${panelIn(out).hash}$`, 'm'));
    expect(readFileSync(join(folder, 'model', 'report.html'), 'utf8')).toContain(panelIn('model').hash);
    expect(['seen', 'model', 'dreamt'].map((out) => Object.keys(panelIn(out).policies))).toEqual([
      ['agent'],
      ['learner', 'data'],
      ['agent', 'dream', 'data'],
    ]);
    await run(...recording('--evaluation-set', 'seen', '--out', 'seen-again'));
    await run(...fitting('seen-again', '--evaluation-set', 'model', '--out', 'model-again'));
    expect(panelIn('model-again')).toEqual(panelIn('model'));
  });

  it.each([
    ['records', [...recording('--seed', '5'), '--evaluation-set', 'seen'], /seeds: \[5\] here/],
    ['a fit', [...fitting('dreamt'), '--evaluation-set', 'model'], /policies.data: \w{12} here/],
    [
      'a dream',
      [...dreaming('--set', 'synth.starts=5'), '--evaluation-set', 'dreamt'],
      /settings.starts: 5 here, 4 there/,
    ],
  ])('are refused with what differs, before anything is done: %s', async (_, args, differs) => {
    const { code, message } = await refusal([...args, '--out', 'refused'], folder);
    expect([code, message]).toEqual(['STATE_MISMATCH', expect.stringMatching(differs)]);
  });
});

it('the panel of an audit names who answers, and is refused where another does', async () => {
  const audit = ['audit', 'helpdesk', '--set', 'reward.hacker.enabled=false', '--quiet'];
  const told = await run(...audit, '--out', 'audited');
  const { hash, policies, tasks } = panelIn('audited');
  expect(told).toMatch(new RegExp(`^evaluation set +${hash}$`, 'm'));
  expect([Object.keys(policies), tasks.length > 0]).toEqual([['answers'], true]);
  const replayed = [...audit, '--set', 'model.backends=[replay]'];
  const { code, message } = await refusal([...replayed, '--evaluation-set', 'audited', '--out', 'other-audit'], folder);
  expect([code, message]).toEqual(['STATE_MISMATCH', expect.stringContaining('policies.answers')]);
});
