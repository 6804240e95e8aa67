// The jobs on tools scenarios as a user runs them, without a language model: record, simulate, audit, export, look.

import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EpisodeRecord } from '../../src/replay/experience/experience.js';
import { jsonLines } from '../data.js';
import { temporaryFolder } from '../temporary-folder.js';
import { refusal, reverie, set } from './reverie.js';

const folder = temporaryFolder('tools');
const at = (...path: string[]) => join(folder, ...path);

async function job(...args: string[]): Promise<Record<string, never>> {
  const { code, stdout, stderr } = await reverie([...args, '--json', '--quiet'], folder);
  expect(`${code}${stderr}`).toBe('0');
  return JSON.parse(stdout);
}

const episodes = (run: string) => jsonLines<EpisodeRecord>(at(run, 'data', 'episodes.jsonl'));

describe('collect and eval', () => {
  it('record an agent in the real environment, for a simulation to be seeded with', async () => {
    const { episodes: lived, logs } = await job('collect', 'helpdesk', '--profile', 'smoke', '--out', 'seen');
    expect(lived).toBe(24);
    expect(episodes('seen').every(({ source }) => source === 'real')).toBe(true);
    const seeded = set(`experience.logs=[${logs}]`, 'synth.episodes=8', 'model.backends=[replay, rules]');
    const { answeredBy } = await job('synth', 'helpdesk', ...seeded, '--out', 'seeded');
    expect(answeredBy).toMatchObject({ replay: expect.any(Number) });
  });

  it('count how often an agent succeeds', async () => {
    const perfect = set('agent={kind: reference, error: 0}', 'synth.splits=[test]', 'synth.episodes=8');
    expect(await job('eval', 'helpdesk', ...perfect, '--out', 'judged')).toMatchObject({
      success: { value: 1, of: 8 },
    });
    const random = ['--set', 'agent.kind=random', ...set('synth.episodes=3')];
    expect(await job('eval', 'helpdesk', ...random, '--out', 'floor')).toMatchObject({ success: { value: 0 } });
  });
});

describe('synth', () => {
  it('makes new tasks, draws them by curriculum, branches groups, and tries what else could be done', async () => {
    const wanted = set(
      'synth.episodes=32',
      'synth.groupSize=4',
      'synth.branchAt=2',
      'synth.pick=curriculum',
      'tasks.variation.count=3',
      'synth.earlyExperience.counterfactuals=2',
      'quality.nearDuplicates=false',
      'synth.export=[trl, verl]',
    );
    const result = await job('synth', 'helpdesk', ...wanted, '--out', 'rich');
    expect(result).toMatchObject({ episodes: 32, newTasks: 3 });
    const groups = new Map<number, EpisodeRecord[]>();
    for (const record of episodes('rich')) groups.set(record.group, [...(groups.get(record.group) ?? []), record]);
    expect(groups.size).toBeGreaterThan(4);
    for (const members of groups.values()) {
      expect(new Set(members.map(({ task }) => task)).size).toBe(1);
      const [shared, ...others] = members.map(({ steps }) => steps.slice(0, 2).map(({ stateHash }) => stateHash));
      for (const other of others) expect(other).toEqual(shared);
    }
    const triples = jsonLines(at('rich', 'datasets', 'early-experience', 'world-model.jsonl'));
    expect(triples.length).toBeGreaterThan(20);
    const picks = jsonLines(at('rich', 'metrics.jsonl')).filter(({ kind }) => kind === 'pick');
    expect(picks).toHaveLength(32);
    expect(picks[0]).toMatchObject({ row: 0, task: expect.any(String) });
  });

  it('plays text as well', async () => {
    const result = await job('synth', 'cellar', '--profile', 'smoke', '--out', 'inn');
    expect(result).toMatchObject({ episodes: 12, mustFail: { passed: true } });
    const { code, stdout } = await reverie(['check-env', 'cellar', '--json'], folder);
    expect({ code, passed: JSON.parse(stdout).passed }).toEqual({ code: 0, passed: true });
  });
});

describe('audit and export', () => {
  it('say whether a simulator may mint reward', async () => {
    const exact = await job('audit', 'helpdesk', '--out', 'audit');
    expect(exact).toMatchObject({ mustFail: { passed: true, failures: [] }, judge: null });
    expect(existsSync(at('audit', 'must-fail.json'))).toBe(true);
  });

  it('write what was kept in other formats, and refuse what is no run', async () => {
    const { datasets } = await job(
      'export',
      '--episodes',
      'seen',
      ...set('synth.export=[sharegpt, atif]'),
      '--out',
      'more',
    );
    expect(datasets).toEqual([at('more', 'datasets', 'sharegpt'), at('more', 'datasets', 'atif')]);
    expect((await refusal(['export', 'helpdesk', '--episodes', 'audit', '--out', 'none'], folder)).code).toBe(
      'INPUT_MISSING',
    );
    expect(await refusal(['export', 'cellar', '--episodes', 'seen', '--out', 'none'], folder)).toMatchObject({
      code: 'INPUT_UNFIT',
      message: expect.stringContaining('its scenario is helpdesk; this environment needs cellar'),
    });
    const file = at('cut', 'data', 'episodes.jsonl');
    cpSync(at('seen'), at('cut'), { recursive: true });
    writeFileSync(file, readFileSync(at('seen', 'data', 'episodes.jsonl')).subarray(0, -100));
    const cut = await refusal(['export', '--episodes', 'cut', '--out', 'none'], folder);
    expect(cut).toMatchObject({
      code: 'LOG_INVALID',
      message: expect.stringContaining(`"${file}", line 24: it is not JSON`),
    });
    expect(existsSync(at('none', 'datasets', 'openai'))).toBe(false);
  });
});

describe('wrong settings', () => {
  it.each([
    [['agent.kind=llm'], 'SCENARIO_INVALID', /needs a language model/],
    [['model.backends=[llm]'], 'SCENARIO_UNFIT', /no language model/],
    [['experience.logs=[nowhere.jsonl]'], 'LOG_INVALID', /nowhere/],
    [['synth.splits=[validation]', 'quality.splits.validation=2'], 'SCENARIO_INVALID', /validation/],
  ])('%j are told in one line', async (overrides, code, message) => {
    const told = await refusal(['synth', 'helpdesk', ...set(...overrides), '--out', 'wrong'], folder);
    expect(told.code).toBe(code);
    expect(`${told.message} ${told.hint}`).toMatch(message);
  });

  it('a job that scenarios of this family do not have says so', async () => {
    expect((await refusal(['audit', 'pendulum', '--out', 'never'], folder)).code).toBe('SCENARIO_UNFIT');
    expect(existsSync(at('never'))).toBe(false);
  });
});
