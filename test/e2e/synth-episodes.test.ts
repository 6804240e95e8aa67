// `reverie synth` of a tools scenario as a user runs it, with language models for everybody behind a real server: the same
// bytes however many episodes are under way, however often it is killed, and from the cache with the server gone.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { type ControlledModel, startControlledModel } from '../controlled/controlled-model.js';
import { nativeDomain } from '../controlled/native-domain.js';
import { jsonLines } from '../data.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fileHashes, halfWritten, reverie, set, startReverie } from './reverie.js';

const EPISODES = 8;

const folder = temporaryFolder('synth');
let model: ControlledModel;
const at = (...path: string[]) => join(folder, ...path);

beforeAll(async () => {
  model = await startControlledModel({
    domain: await nativeDomain('helpdesk'),
    seed: 3,
    transitionError: 0.1,
    agentError: 0.1,
    malformedJson: 0.02,
  });
});

afterAll(() => model.close());

/** Models for world, agent and user; exact code for nobody. */
function withModels(url: string, ...more: string[]): string[] {
  const models = [
    'llm.provider=openai-compatible',
    `llm.url=${url}`,
    'llm.model=controlled',
    'model.backends=[llm]',
    'model.llm.retrieval.k=4',
    'agent.kind=llm',
    'user.kind=llm',
    'reward.mustFail.enabled=false',
    `synth.episodes=${EPISODES}`,
    'synth.export=[openai, sharegpt, parquet]',
    ...more,
  ];
  return ['synth', 'helpdesk', ...set(...models), '--quiet'];
}

const RESUME = ['synth', '--resume', 'killed', '--quiet'];

/** What a run made for its user: nothing of when or how long. */
function made(run: string): Record<string, string> {
  return { ...fileHashes(at(run, 'data')), ...fileHashes(at(run, 'datasets')) };
}

function result(run: string): Record<string, unknown> {
  return JSON.parse(readFileSync(at(run, 'result.json'), 'utf8'));
}

describe('synth with language models', () => {
  it('makes the same bytes with one episode under way and with sixteen', async () => {
    const one = await reverie([...withModels(model.url), '--out', 'one', '--workers', '1'], folder);
    expect(one).toMatchObject({ code: 0, stderr: '' });
    expect((await reverie([...withModels(model.url), '--out', 'sixteen', '--workers', '16'], folder)).code).toBe(0);
    expect(made('sixteen')).toEqual(made('one'));
    const { episodes, accepted, answeredBy, cost } = result('one') as Record<string, never>;
    expect(episodes).toBe(EPISODES);
    expect(accepted).toBeGreaterThan(2);
    expect(answeredBy).toMatchObject({ llm: expect.any(Number) });
    expect(cost).toMatchObject({ calls: expect.any(Number) });
  });

  it('goes on to the same bytes after being killed at any time', async () => {
    const rng = Rng.fromSeed(11).split('kills');
    const journal = at('killed', 'journal', 'rollouts.journal');
    const size = () => (existsSync(journal) ? statSync(journal).size : 0);
    let kills = 0;
    for (let attempt = 0; attempt < 2; attempt++) {
      const args = attempt === 0 ? [...withModels(model.url), '--workers', '8', '--out', 'killed'] : RESUME;
      const { child, outcome } = startReverie(args, folder);
      const limit = size() + 1 + rng.int(12_000);
      const watch = setInterval(() => size() >= limit && child.kill('SIGKILL'), 3);
      if ((await outcome).signal === 'SIGKILL') kills++;
      clearInterval(watch);
    }
    const last = await reverie(RESUME, folder);
    expect(last).toMatchObject({ code: 0, stderr: '' });
    expect(kills).toBe(2);
    expect(made('killed')).toEqual(made('one'));
    expect(halfWritten(at('killed'))).toEqual([]);
  });

  it('plays a killed run again from its cache with the server gone', async () => {
    const run = 'killed';
    const gone = 'http://127.0.0.1:9/v1';
    const replay = withModels(gone, `cache=${at(run, 'cache')}`, 'llm.cache.mode=replay');
    const { code, stderr } = await reverie([...replay, '--out', `replayed-${run}`], folder);
    expect(`${code}${stderr}`).toBe('0');
    expect(made(`replayed-${run}`)).toEqual(made('one'));
    expect(result(`replayed-${run}`)).toMatchObject({ spent: { calls: 0 } });
  });

  it('ends cleanly when its budget is spent, with whole datasets', async () => {
    const { code } = await reverie(
      [...withModels(model.url, 'synth.budget.calls=60'), '--out', 'budget', '--workers', '2'],
      folder,
    );
    expect(code).toBe(0);
    const { stoppedBy, episodes, spent } = result('budget') as Record<string, never>;
    expect(stoppedBy).toBe('calls');
    expect(episodes).toBeGreaterThan(0);
    expect(episodes).toBeLessThan(EPISODES);
    expect((spent as { calls: number }).calls).toBeLessThanOrEqual(60 + 2);
    const [rows, whole] = ['budget', 'one'].map((run) => jsonLines(at(run, 'data', 'episodes.jsonl')));
    expect(whole).toEqual(expect.arrayContaining(rows));
  });
});

it('where rows only compute, no thread is started without an episode, and the bytes are those of none', async () => {
  for (const [out, workers] of Object.entries({ alone: '0', crowd: '100000' })) {
    const args = ['synth', 'helpdesk', ...set('synth.episodes=3'), '--workers', workers, '--out', out, '--quiet'];
    expect(await reverie(args, folder)).toMatchObject({ code: 0, stderr: '' });
  }
  expect(made('crowd')).toEqual(made('alone'));
});
