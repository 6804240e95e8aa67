// `reverie fit` of games of text, from collected and from simulated episodes: what is kept, resumed to the same bytes, used, and refused.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { launch } from '../../../src/run/launch.js';
import type { SynthEpisodesResult } from '../../../src/run/pipeline/tools/episodes.js';
import type { BackendFitResult } from '../../../src/run/pipeline/tools/records.js';
import { terminalText } from '../../../src/run/report.js';
import { DEPOT_DOMAIN, DEPOT_GRAMMAR, depotProblem } from '../../games/depot.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const home = temporaryFolder('fit');
const at = (...path: string[]) => join(home, ...path);

mkdirSync(at('games'));
writeFileSync(at('games', 'domain.pddl'), DEPOT_DOMAIN);
writeFileSync(at('games', 'grammar.twl'), DEPOT_GRAMMAR);
for (const one of ['one', 'two', 'three', 'other']) writeFileSync(at('games', `${one}.pddl`), depotProblem(one));

const TINY = { rows: 2, length: 128, hidden: 32, layers: 1, heads: 2, kvHeads: 1, vocabulary: 420, heldOut: 0.5 };
const scenario = {
  family: 'tools',
  name: 'depot',
  domain: { id: 'text-games', folder: 'games' },
  model: { kind: 'tools', backends: ['rules'], sequence: { fit: { ...TINY, steps: 30, checkpointSeconds: 0 } } },
  agent: { kind: 'explorer', guesses: 0.4, follows: 0 },
  reward: { mustFail: { enabled: false }, mustSucceed: { enabled: false } },
  synth: { episodes: 8, maxSteps: 15, export: ['openai'] },
};
writeFileSync(at('scenario.yaml'), JSON.stringify(scenario));

/** Of the last run. */
let shown = '';

const run = (name: string, out: string, more: object = {}) =>
  launch(name, {
    scenario: at('scenario.yaml'),
    out: at(out),
    onReport: (report) => {
      shown = terminalText(report);
    },
    quiet: true,
    stream: recordingStream(),
    command: 'test',
    ...more,
  });
const learn = (out: string, data: string, more: object = {}) =>
  run('fit', out, { inputs: { data: at(data) }, ...more }) as unknown as Promise<BackendFitResult>;

beforeAll(async () => {
  await run('collect', 'seen');
});

it('fits the backend that learns, says how right it is, and keeps it', async () => {
  const result = await learn('fitted', 'seen');
  expect(result).toMatchObject({ job: 'fit', family: 'tools', backend: 'sequence', episodes: 8, isReady: false });
  expect(result.heldOut.learnedFrom + result.heldOut.steps).toBeGreaterThan(60);
  expect(existsSync(at('fitted', 'model', 'sequence.json'))).toBe(true);
  expect(existsSync(at('fitted', 'training'))).toBe(false);
  expect(shown).toMatch(/gate +SHUT: .* model\.sequence\.minExactness is the bar/);
  await expect(dream('shut')).rejects.toThrow(/exactly right in .* and the bar is 90 %/);
});

it('goes on after it was stopped, to the same bytes', async () => {
  const stopped = learn('stopped', 'seen');
  while (!existsSync(at('stopped', 'training'))) await new Promise((resolve) => setTimeout(resolve, 5));
  process.emit('SIGINT');
  await expect(stopped).rejects.toThrow(/up to the last safe point is in/);
  const resumed = (await launch('fit', {
    ...{ resume: at('stopped'), quiet: true, stream: recordingStream(), command: 'test' },
  })) as unknown as BackendFitResult;
  const whole = await learn('whole', 'seen');
  expect(resumed.modelVersion).toBe(whole.modelVersion);
  for (const file of readdirSync(at('whole', 'model')))
    expect(readFileSync(at('stopped', 'model', file)), file).toEqual(readFileSync(at('whole', 'model', file)));
});

/** Episodes that the fitted model answers first, whatever it is worth, and exact rules where it is not sure. */
function dream(out: string, ...set: string[]): Promise<SynthEpisodesResult> {
  return run('synth', out, { set: [...DREAMING, ...set] }) as unknown as Promise<SynthEpisodesResult>;
}

const DREAMING = ['model.backends=[sequence, rules]', 'model.sequence.model=fitted', 'synth.episodes=2'];

it('learns from simulated episodes as from collected ones', async () => {
  const simulated = await dream('simulated', 'model.sequence.minExactness=0', 'synth.episodes=8');
  const answered = Object.values(simulated.answeredBy).reduce((sum, count) => sum + count, 0);
  expect(answered).toBeGreaterThan(60);
  expect(await learn('again', 'simulated')).toMatchObject({ backend: 'sequence', episodes: simulated.accepted });
});

it('refuses what is no run with episodes, and an earlier model', async () => {
  await expect(learn('a', 'games')).rejects.toMatchObject({ code: 'INPUT_MISSING' });
  const inputs = { data: at('seen'), model: at('fitted') };
  await expect(run('fit', 'b', { inputs })).rejects.toThrow(/--model/);
});
