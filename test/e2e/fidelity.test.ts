// `reverie fidelity` as a user runs it: killed and gone on with, with threads and without, gates, and what it refuses.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { halfWritten, refusal, reverie, set, startReverie } from './reverie.js';

const PENDULUM = [
  ...['pendulum', '--model', 'model'],
  ...set('fidelity.transitions=200', 'fidelity.starts=8', 'fidelity.horizon=5'),
  ...set('fidelity.rank.episodes=1', 'fidelity.rank.policies=8', 'env.maxEpisodeSteps=40'),
];
const DESK = [
  'helpdesk',
  ...set('fidelity.questions=60', 'fidelity.episodes=24'),
  ...set('fidelity.sections=[one-step, k-steps, reward-end, horizon]'),
];

const folder = temporaryFolder('fidelity');
const at = (...names: string[]) => join(folder, ...names);
/** Without the command, which names the folder, and the seal over it. */
function reportOf(run: string): object {
  const { provenance, seal: _seal, ...report } = JSON.parse(readFileSync(at(run, 'fidelity.json'), 'utf8'));
  return { ...report, provenance: { ...provenance, command: '' } };
}

async function job(...args: string[]): Promise<void> {
  const { code, stderr } = await reverie([...args, '--quiet'], folder);
  expect(`${code}${stderr}`).toBe('0');
}

beforeAll(async () => {
  await job('collect', 'pendulum', ...set('collect.steps=400'), '--out', 'seen');
  await job('fit', 'pendulum', '--data', 'seen', ...set('model.hidden=[16]', 'model.maxEpochs=2'), '--out', 'model');
});

function chunksOf(run: string): number {
  const chunks = at(run, 'chunks');
  const files = existsSync(chunks) ? readdirSync(chunks, { recursive: true, encoding: 'utf8' }) : [];
  return files.filter((file) => file.endsWith('.json')).length;
}

/** Killed as soon as so many chunks are there. */
async function killedAt(chunks: number, args: readonly string[], run: string): Promise<void> {
  const { child, outcome } = startReverie([...args, '--quiet'], folder);
  const watch = setInterval(() => chunksOf(run) >= chunks && child.kill('SIGKILL'), 2);
  await outcome;
  clearInterval(watch);
}

describe.each([
  ['a model of numbers', PENDULUM],
  ['a world of tools', DESK],
])('%s', (_, args) => {
  it('is judged the same where kill -9 came in between', async () => {
    const run = `${args[0]}-killed`;
    // The test is tried again where a busy machine let the job end before it was killed.
    for (const earlier of [args[0], run]) rmSync(at(earlier), { recursive: true, force: true });
    await job('fidelity', ...args, '--out', args[0]);
    await killedAt(1, ['fidelity', ...args, '--out', run], run);
    expect(existsSync(at(run, 'fidelity.json'))).toBe(false);
    expect(chunksOf(run)).toBeLessThan(chunksOf(args[0]));
    await job('fidelity', '--resume', run, '--workers', '2');
    expect(reportOf(run)).toEqual(reportOf(args[0]));
    expect(existsSync(at(run, 'fidelity.html'))).toBe(true);
    expect(halfWritten(at(run))).toEqual([]);
  });
});

it('records of the user are told from what the model was made from', async () => {
  const few = set('fidelity.sections=[one-step]');
  await job('fidelity', ...PENDULUM, '--data', 'seen', ...few, '--out', 'brought');
  expect(JSON.stringify(reportOf('brought'))).toMatch(/of these transitions are among those/);
});

it('a gate that is shut is exit code 1, with the result', async () => {
  const gates = ['--fail-under', 'value:one-step.state-exact=0.9', '--fail-under', 'value:k-steps.end-state=1'];
  const few = set('model.backends=[replay]', 'fidelity.sections=[one-step, k-steps]');
  const { code, stdout, stderr } = await reverie(
    ['fidelity', ...DESK, ...few, ...gates, '--out', 'shut', '--json', '--quiet'],
    folder,
  );
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  const { passed, gates: judged } = JSON.parse(stdout);
  expect([passed, judged[0].passed]).toEqual([false, false]);
  expect(existsSync(at('shut', 'fidelity.html'))).toBe(true);
});

describe('wrong input', () => {
  it.each([
    [[...DESK, '--fail-under', 'one-step.state-exakt=0.9'], 'SETTING_INVALID', /one-step\.state-exact"/],
    [[...DESK, '--fail-under', 'rank.spearman=0'], 'SETTING_INVALID', /not among fidelity\.sections/],
    [[...PENDULUM, '--fail-under', 'reward-end.reward-bias=0'], 'SETTING_INVALID', /neither higher nor lower/],
    [['pendulum'], 'INPUT_NEEDED', /--model/],
    [['cartpole', '--model', 'model'], 'INPUT_UNFIT', /model/],
    [['helpdesk', '--model', 'model'], 'FLAG_INVALID', /fidelity\.subjects/],
    [['helpdesk', '--compare', 'nowhere'], 'INPUT_NEEDED', /nowhere/],
    [['pendulum', '--model', 'model', '--held-out', 'seen'], 'INPUT_INVALID', /held out/],
  ])('%j is told at once', async (args, code, message) => {
    rmSync(at('wrong'), { recursive: true, force: true });
    const told = await refusal(['fidelity', ...args, '--out', 'wrong'], folder);
    expect(told.code).toBe(code);
    expect(`${told.message} ${told.hint}`).toMatch(message);
    expect(chunksOf('wrong')).toBe(0);
    expect(halfWritten(at('wrong'))).toEqual([]);
    expect(existsSync(at('wrong', 'fidelity.json'))).toBe(false);
  });
});
