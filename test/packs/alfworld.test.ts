// ALFWorld's games: their layout and splits, on a game of our own; and, where the real ones are (ALFWORLD_DATA), every step against
// recordings of the official package. The package itself is asked anew by the benchmark alfworld.parity: half of it is compiled
// where it is installed, which takes minutes.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { alfworldNames } from '../../packs/alfworld/names.mjs';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { makeDomain } from '../../src/env/tools/domains.js';
import { GamePlay, readGame, TextGame } from '../../src/games/pddl/text-game.js';
import { answerHere } from '../e2e/reverie.js';
import { ATTIC } from '../games/attic.js';
import { temporaryFolder } from '../temporary-folder.js';
import { commandAt, hashOf } from './alfworld/play-record.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const given = process.env.ALFWORLD_DATA ?? '';
const games = existsSync(join(given, 'json_2.1.1')) ? join(given, 'json_2.1.1') : given;

const folder = temporaryFolder('alfworld');

/** A game of ours where one of ALFWorld's would lie. */
function written(split: string, name: string, change: (text: string) => string = (text) => text): string {
  const home = join(folder, 'json_2.1.1', split, name);
  mkdirSync(home, { recursive: true });
  const { domain, problem } = ATTIC;
  const grammar = ATTIC.grammar.replace('Up in the attic.', 'Your task is to: tidy up. ');
  const text = JSON.stringify({
    pddl_domain: domain,
    pddl_problem: problem,
    grammar,
    walkthrough: ['look'],
    solvable: true,
  });
  writeFileSync(join(home, 'game.tw-pddl'), change(text));
  return join(home, 'game.tw-pddl');
}

async function opened(settings: object): Promise<ToolsDomain> {
  return makeDomain({ id: 'alfworld', path: '.', ...settings }, { folder });
}

function openGame(name: string): TextGame {
  const { names: _, ...source } = readGame({ name, files: [join(games, name, 'game.tw-pddl')] });
  return new TextGame(source, { what: name, names: alfworldNames });
}

describe('the pack alfworld', () => {
  it('has the games of the splits that are named, each with its split, its kind of task and its room', async () => {
    written('train', 'pick_and_place_simple-Book-None-Shelf-1/trial_T1');
    written('train', 'pick_and_place_simple-Book-None-Shelf-1/trial_T2');
    written('train', 'pick_heat_then_place-Sliced-None-Shelf-2/trial_T1');
    written('valid_seen', 'look_at_obj_in_light-Book-None-Lamp-1/trial_T3');
    written('valid_unseen', 'look_at_obj_in_light-Book-None-Lamp-9/trial_T4');
    const of = async (settings: object) => (await opened(settings)).tasks.map(({ id }) => id);
    expect(await of({})).toEqual(['valid_seen.look_at_obj_in_light-Book-None-Lamp-1.T3']);
    expect(await of({ splits: ['train'], games: 1 })).toEqual(['train.pick_and_place_simple-Book-None-Shelf-1.T1']);
    const all = await opened({ splits: ['train', 'valid_seen', 'valid_unseen'] });
    expect(all.tasks.map(({ split }) => split)).toEqual(['train', 'train', 'validation', 'test']);
    expect(all.tasks[3]).toMatchObject({
      family: 'look_at_obj_in_light-Book-None-Lamp-9',
      tags: ['valid_unseen', 'look_at_obj_in_light'],
    });
    expect(all.tasks[0].user.goal).toBe('tidy up.');
  });

  it('has another version where a game is another', async () => {
    const file = written('train', 'pick-A/trial_T1');
    const before = await opened({ splits: ['train'] });
    writeFileSync(file, readFileSync(file, 'utf8').replace('(locked safe)', ''));
    const after = await opened({ splits: ['train'] });
    expect(after.version).not.toBe(before.version);
  });

  it('tells where games should be, and which file is cut off', async () => {
    await expect(opened({ splits: ['valid_train'] })).rejects.toMatchObject({ code: 'ENV_UNUSABLE' });
    await expect(opened({ path: 'nowhere' })).rejects.toThrow('there is no such folder');
    await expect(opened({ splits: ['valid'] })).rejects.toMatchObject({ code: 'ENV_SPEC_INVALID' });
    const file = written('valid_train', 'pick-A/trial_T1', (text) => text.slice(0, text.length / 2));
    const cut = await opened({ splits: ['valid_train'] });
    expect(() => cut.tasks[0].user.opening).toThrow(expect.objectContaining({ code: 'FILE_INVALID' }));
    expect(() => cut.tasks[0].user.opening).toThrow(file);
  });

  it('calls things as the package does', () => {
    const ids = ['desk_bar__plus_01_dot_00', 'desk_bar__minus_01_dot_00', 'sink_bar_1_bar_sinkbasin', 'desktype'];
    expect([...alfworldNames(ids)]).toEqual([
      ['desk_bar__minus_01_dot_00', 'desk 2'],
      ['desk_bar__plus_01_dot_00', 'desk 1'],
      ['desktype', 'desktype '],
      ['sink_bar_1_bar_sinkbasin', 'sinkbasin 1'],
    ]);
  });
});

interface Recording {
  readonly game: string;
  /** First digits of the file's SHA-256. */
  readonly file: string;
  readonly walks: readonly { readonly commands: string; readonly steps: string }[];
}

const recordings: readonly Recording[] = JSON.parse(readFileSync(join(HERE, 'alfworld', 'recordings.json'), 'utf8'));
const here = recordings.filter(({ game }) => existsSync(join(games, game, 'game.tw-pddl')));

describe.skipIf(here.length === 0)("ALFWorld's games (skipped without ALFWORLD_DATA)", () => {
  it('are played as the official package played them when it was recorded', { timeout: 300_000 }, () => {
    for (const { game: name, file, walks } of here) {
      const bytes = readFileSync(join(games, name, 'game.tw-pddl'));
      expect(createHash('sha256').update(bytes).digest('hex').slice(0, 16), name).toBe(file);
      const play = new GamePlay(openGame(name));
      for (const { commands, steps } of walks) {
        const seen = [told(play, play.reset())];
        for (const place of commands.split(' ')) seen.push(told(play, play.step(commandAt(+place, play.admissible()))));
        expect(seen.map(hashOf).join(' '), name).toBe(steps);
      }
    }
  });

  it('go on the same from every step of a walkthrough, in a game opened anew', { timeout: 60_000 }, () => {
    const [{ game: name, walks }] = here;
    const [play, fork] = [new GamePlay(openGame(name)), new GamePlay(openGame(name))];
    play.reset();
    for (const place of walks[1].commands.split(' ')) {
      const command = commandAt(+place, play.admissible());
      fork.load(play.save());
      expect(fork.stateHash()).toBe(play.stateHash());
      expect([fork.step(command), fork.admissible()]).toEqual([play.step(command), play.admissible()]);
    }
  });

  it('do what docs/text-games.md says of the commands', { timeout: 300_000 }, async () => {
    const page = readFileSync(join(HERE, '../../docs/text-games.md'), 'utf8');
    const lines = [...page.matchAll(/^reverie (?!serve|train|quickstart)(.*? alfworld.*?) +#/gm)].map(([, line]) =>
      line.split(' '),
    );
    expect(lines.map(([command]) => command)).toEqual(['check-env', 'eval', 'collect']);
    for (const [command, ...args] of lines) {
      const out = command === 'check-env' ? [] : ['--out', join(folder, command)];
      const answer = await answerHere(command, ...args, ...out);
      if (command === 'eval') expect(answer).toMatchObject({ success: { value: 1 } });
    }
  });
});

function told(play: GamePlay, observation: string) {
  return { observation, admissible: [...play.admissible()], score: play.isWon ? 1 : 0, done: play.isWon };
}
