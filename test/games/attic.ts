// A small game of our own for tests: boxes in an attic, some locked; lamps that go on and off; a goal of two parts.

import { readFileSync } from 'node:fs';
import { type GameSource, TextGame } from '../../src/games/pddl/text-game.js';

const read = (name: string) => readFileSync(new URL(`attic/${name}`, import.meta.url), 'utf8');

export const ATTIC_PROBLEM = read('problem.pddl');

export const ATTIC: GameSource = { domain: read('domain.pddl'), problem: ATTIC_PROBLEM, grammar: read('grammar.twl') };

export function attic(change: Partial<GameSource> = {}): TextGame {
  return new TextGame({ ...ATTIC, ...change }, { what: 'attic' });
}
