// From records of games to a dream of them: collect, induce, and a scenario that operators answer; and what is told where that cannot be.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { jsonLines } from '../data.js';
import { commandHere, set } from '../e2e/reverie.js';
import { DEPOT_DOMAIN, DEPOT_GRAMMAR, depotProblem } from '../games/depot.js';
import { temporaryFolder } from '../temporary-folder.js';

const folder = temporaryFolder('operators');

beforeAll(() => {
  for (const [name, problems] of [
    ['seen', ['one', 'two', 'three']],
    ['new', ['other']],
  ] as const) {
    const games = join(folder, name);
    mkdirSync(games);
    writeFileSync(join(games, 'domain.pddl'), DEPOT_DOMAIN);
    writeFileSync(join(games, 'grammar.twl'), DEPOT_GRAMMAR);
    for (const one of problems) writeFileSync(join(games, `${one}.pddl`), depotProblem(one));
  }
  scenario('real', 'seen', '{ kind: tools, backends: [rules] }');
  scenario('dream', 'new', '{ kind: tools, backends: [operators], operators: { file: operators.json } }');
});

function scenario(name: string, games: string, model: string): void {
  const lines = [
    'family: tools',
    `name: ${name}`,
    `domain: { id: text-games, folder: ${games} }`,
    `model: ${model}`,
    'agent: { kind: explorer, guesses: 0.5, follows: 0 }',
    'reward: { mustFail: { enabled: false }, mustSucceed: { enabled: false } }',
    'synth: { episodes: 18, maxSteps: 30, export: [openai] }',
    'workers: 0',
  ];
  writeFileSync(join(folder, `${name}.yaml`), `${lines.join('\n')}\n`);
}

const reverie = (...args: string[]) => commandHere(args);

describe('a dream by induced operators', () => {
  it('is had in three commands, and its states are the real ones', async () => {
    const seen = join(folder, 'runs', 'seen');
    expect(await reverie('collect', join(folder, 'real.yaml'), '--out', seen, '--json')).toMatchObject({ code: 0 });
    const file = join(folder, 'operators.json');
    const induced = await reverie('induce', seen, '--operators', file, '--json');
    expect(induced).toMatchObject({ code: 0 });
    const found = JSON.parse(induced.stdout);
    expect(found).toMatchObject({ file, episodes: 18, refused: [] });
    expect(found.operators).toContain('act: take {item} from {crate}');
    expect(JSON.parse(readFileSync(file, 'utf8')).operators).toHaveLength(found.operators.length);

    const simulated = await reverie(
      ...['synth', join(folder, 'dream.yaml'), '--out', join(folder, 'runs', 'simulated')],
      ...['--set', 'synth.episodes=2', '--json'],
    );
    expect(simulated).toMatchObject({ code: 0 });
    const steps = jsonLines(join(folder, 'runs', 'simulated', 'data', 'episodes.jsonl')).flatMap(({ steps }) => steps);
    const answers = steps.flatMap(({ predictions }) => predictions);
    const answered = answers.filter(({ refused }) => refused === undefined);
    expect(answered.length).toBeGreaterThan(0.8 * answers.length);
    expect(new Set(answered.map(({ backend }) => backend))).toEqual(new Set(['operators']));
  });

  it('tells what cannot be', async () => {
    const file = join(folder, 'none.json');
    const desk = await reverie('induce', 'helpdesk', '--logs', folder, '--operators', file);
    expect(desk.stderr).toMatch(/^error\[DOMAIN_UNFIT\]/);
    writeFileSync(join(folder, 'broken.json'), '{"format": "reverie-oper');
    const broken = await reverie(
      ...['synth', join(folder, 'dream.yaml'), '--out', join(folder, 'runs', 'broken')],
      ...['--set', 'model.operators.file=broken.json'],
    );
    expect(broken.stderr).toMatch(/^error\[FILE_INVALID\].*broken\.json/);
    const foreign = await reverie(
      ...['synth', 'helpdesk', '--out', join(folder, 'runs', 'foreign'), '--set', 'model.backends=[operators]'],
      ...['--set', `model.operators.file=${join(folder, 'operators.json')}`],
    );
    expect(foreign.stderr).toMatch(/^error\[SCENARIO_UNFIT\].*no facts about objects/m);
    const unfit = await reverie(
      'collect',
      'helpdesk',
      '--out',
      join(folder, 'runs', 'unfit'),
      ...set('agent.kind=explorer'),
    );
    expect(unfit.stderr).toMatch(/^error\[DOMAIN_UNFIT\]/m);
  });
});
