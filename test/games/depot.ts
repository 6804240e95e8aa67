// A small world of our own for operators: a robot, crates with and without lids, things light and heavy, lamps that go on and off.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { type GameFile, gamesDomain } from '../../src/games/pddl/text-game.js';

const read = (name: string) => readFileSync(new URL(`depot/${name}`, import.meta.url), 'utf8');
export const DEPOT_DOMAIN = read('domain.pddl');
export const DEPOT_GRAMMAR = read('grammar.twl');

/** Problems by name: what is in which crate, and which crate stands where. */
const PLANS: Readonly<Record<string, { readonly crates: readonly string[]; readonly items: readonly string[] }>> =
  parse(read('plans.yaml'));

export function depotProblem(name: string): string {
  const { crates, items } = PLANS[name];
  const [stands, lies] = [crates, items].map((lines) => lines.map((line) => line.split(' ')));
  const places = [...new Set(stands.map(([, place]) => place))];
  const around = places.map((place, i) => [place, places[(i + 1) % places.length]]);
  const links = around.flatMap(([a, b]) => [`(linked ${a} ${b})`, `(linked ${b} ${a})`]);
  const facts = [
    ...stands.flatMap(([crate, place, ...marks]) => [
      `(stands ${crate} ${place})`,
      ...marks.map((mark) => `(${mark} ${crate})`),
    ]),
    ...lies.flatMap(([item, crate, ...marks]) => [
      `(in ${item} ${crate})`,
      ...marks.map((mark) => `(${mark} ${item})`),
    ]),
  ];
  const named = (list: readonly string[][]) => list.map(([one]) => one).join(' ');
  return `(define (problem ${name}) (:domain depot)
    (:objects robby - robot ${places.join(' ')} - place ${named(stands)} - crate ${named(lies)} - item)
    (:init (at robby ${places[0]}) ${[...new Set(links)].join(' ')} ${facts.join(' ')})
    (:goal (and (in ${lies[0][0]} ${stands[1][0]}) (lit ${lies.find((line) => line.includes('lamp'))![0]}) (seen ${places[1]}))))`;
}

export function depot(problems: readonly string[]): ToolsDomain {
  const file = (name: string): GameFile => ({
    domain: DEPOT_DOMAIN,
    problem: depotProblem(name),
    grammar: DEPOT_GRAMMAR,
  });
  return gamesDomain({ id: 'depot', version: '1', games: problems.map((id) => ({ id, read: () => file(id) })) });
}
