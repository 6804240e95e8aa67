// Games of PDDL and a text grammar: what can be done, what is said, when it is won, and what is told of broken ones.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { GamePlay, NOTHING_HAPPENS, type TextGame } from '../../src/games/pddl/text-game.js';
import { ATTIC, ATTIC_PROBLEM, attic } from './attic.js';

function play(game: TextGame, ...commands: string[]): string[] {
  const one = new GamePlay(game);
  return [one.reset(), ...commands.map((command) => one.step(command))];
}

describe('a text game', () => {
  const game = attic();

  it('says what its grammar says, and lists what can be done', () => {
    const one = new GamePlay(game);
    expect(one.reset()).toBe('Up in the attic.\n\nYou see a crate, and a safe.');
    expect(one.admissible()).toEqual(['go to south', 'look', 'open crate']);
    expect(one.step(' open crate ')).toBe('In it: book, and torch.');
    expect(one.admissible()).toEqual([
      'examine crate',
      'go to south',
      'look',
      'switch torch',
      'take book from crate',
      'take torch from crate',
    ]);
  });

  it('is won where the goal holds, whatever else is done', () => {
    const solution = [
      'open crate',
      'switch torch',
      'take book from crate',
      'go to south',
      'open chest',
      'put book into chest',
    ];
    const rest = ['go to north', 'take torch from crate'];
    const one = new GamePlay(game);
    one.reset();
    const won = [...solution, ...rest].map((command) => {
      one.step(command);
      return one.isWon;
    });
    expect(won).toEqual([false, false, false, false, false, false, false, true]);
  });

  it('carries out "for all" and "when" on the state before', () => {
    const one = new GamePlay(game);
    one.reset();
    one.step('open crate');
    expect(one.facts().filter((fact) => fact.startsWith('dusty'))).toEqual(['dusty book', 'dusty torch']);
    expect([one.step('switch torch'), one.step('switch torch')]).toEqual(['The torch is on.', 'The torch is off.']);
  });

  it('remembers what was made false where the grammar asks for it', () => {
    const told = play(game, 'open crate', 'take book from crate', 'put book into crate', 'examine crate');
    expect(told.at(-1)).toBe('In it: book, and torch.');
    const parted = play(
      game,
      'open crate',
      'take book from crate',
      'go to south',
      'open chest',
      'put book into chest',
      'go to north',
      'examine crate',
    );
    expect(parted.at(-1)).toBe('In it: torch. Gone: book.');
  });

  it('is the same from a saved state on, with the same hash', () => {
    const [one, other] = [new GamePlay(game), new GamePlay(game)];
    one.reset();
    other.reset();
    const rng = Rng.fromSeed(1);
    for (let step = 0; step < 200; step++) {
      const commands = one.admissible();
      const command = commands[rng.int(commands.length)];
      other.load(one.save());
      expect(other.stateHash()).toBe(one.stateHash());
      expect(other.step(command)).toBe(one.step(command));
      expect(other.admissible()).toEqual(one.admissible());
      expect(other.isWon).toBe(one.isWon);
    }
    expect(one.reset()).toBe(play(game)[0]);
  });
});

interface OfficialPlay {
  readonly commands: readonly string[];
  readonly observations: readonly string[];
  readonly admissible: readonly string[];
  readonly won: readonly boolean[];
}

/** Random walks in this game, played by TextWorld 1.7.0 (`benchmarks/peers/alfworld_games.py`, names="ids"). */
const official: readonly OfficialPlay[] = JSON.parse(
  readFileSync(new URL('attic-official.json', import.meta.url), 'utf8'),
);

it.each(official.map((recorded, i) => ({ recorded, i })))(
  'a text game, beside TextWorld is played the same, walk $i',
  ({ recorded }) => {
    const one = new GamePlay(attic());
    const { commands, observations, admissible, won } = recorded;
    observations.forEach((wanted, i) => {
      const told = i === 0 ? one.reset() : one.step(commands[i - 1]);
      // TextWorld's texts take every conditional effect of an action as if it had happened: its lamp is always told to be off.
      const isTold = i === 0 || !commands[i - 1].startsWith('switch') || wanted === NOTHING_HAPPENS;
      if (isTold) expect(told).toBe(wanted);
      expect(one.admissible().join('; ')).toBe(admissible[i]);
      expect(one.isWon).toBe(won[i]);
    });
  },
);

describe('a text game that is broken', () => {
  const changed = (file: 'domain' | 'problem' | 'grammar', from: string, to: string) => ({
    [file]: ATTIC[file].replace(from, to),
  });
  const broken: [string, Parameters<typeof attic>[0], string][] = [
    [
      'is cut in half',
      { problem: ATTIC_PROBLEM.slice(0, 200) },
      'attic, problem: it ends in line 5 with 3 brackets still open',
    ],
    ['has an unknown section', changed('domain', '(:predicates', '(:derived) (:predicates'), '":derived"'],
    ['has an unknown predicate', changed('domain', '(here ?from)', '(hear ?from)'), 'no predicate "hear"'],
    ['has an unknown type', changed('problem', '- room', '- rooms'), 'no type "rooms"'],
    ['declares an object twice', changed('problem', 'safe - box', 'crate - box'), '"crate" is declared twice'],
    ['belongs to another domain', changed('problem', ':domain attic', ':domain cellar'), '"cellar"'],
    ['lacks an action in its grammar', changed('grammar', 'action look', 'action lurk'), 'no action "look"'],
    ['has an expression of Python', changed('grammar', '{to.name}', '{to.name.upper()}'), 'to.name.upper()'],
    [
      'has commands that change',
      changed('grammar', '"switch {l}"', '"[{l.name | lit(l:lamp)}]"'),
      'depends on facts that change',
    ],
  ];

  it.each(broken)('%s', (_, change, words) => {
    const error = expect.objectContaining({ code: 'PDDL_UNFIT', message: expect.stringContaining(words) });
    expect(() => attic(change)).toThrow(error);
  });
});
