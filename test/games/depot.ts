// A small world of our own for operators: a robot, crates with and without lids, things light and heavy, lamps that go on and off.

import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { type GameFile, gamesDomain } from '../../src/games/pddl/text-game.js';

export const DEPOT_DOMAIN = `
(define (domain depot)
  (:requirements :adl :typing)
  (:types robot place crate item)
  (:predicates
    (at ?x - robot ?p - place) (linked ?p - place ?q - place) (stands ?c - crate ?p - place) (seen ?p - place)
    (lidded ?c - crate) (open ?c - crate) (in ?i - item ?c - crate) (light ?i - item)
    (holds ?x - robot ?i - item) (busy ?x - robot) (lamp ?i - item) (lit ?i - item))
  (:action go :parameters (?x - robot ?from - place ?to - place)
    :precondition (and (at ?x ?from) (linked ?from ?to))
    :effect (and (not (at ?x ?from)) (at ?x ?to)))
  (:action open :parameters (?x - robot ?p - place ?c - crate)
    :precondition (and (at ?x ?p) (stands ?c ?p) (lidded ?c) (not (open ?c)))
    :effect (open ?c))
  (:action close :parameters (?x - robot ?p - place ?c - crate)
    :precondition (and (at ?x ?p) (stands ?c ?p) (open ?c))
    :effect (not (open ?c)))
  (:action take :parameters (?x - robot ?p - place ?i - item ?c - crate)
    :precondition (and (at ?x ?p) (stands ?c ?p) (in ?i ?c) (light ?i) (not (busy ?x)) (or (not (lidded ?c)) (open ?c)))
    :effect (and (not (in ?i ?c)) (holds ?x ?i) (busy ?x)))
  (:action put :parameters (?x - robot ?p - place ?i - item ?c - crate)
    :precondition (and (at ?x ?p) (stands ?c ?p) (holds ?x ?i) (or (not (lidded ?c)) (open ?c)))
    :effect (and (in ?i ?c) (not (holds ?x ?i)) (not (busy ?x))))
  (:action switch :parameters (?x - robot ?i - item)
    :precondition (and (holds ?x ?i) (lamp ?i))
    :effect (and (when (lit ?i) (not (lit ?i))) (when (not (lit ?i)) (lit ?i))))
  (:action look :parameters (?x - robot ?p - place)
    :precondition (at ?x ?p)
    :effect (seen ?p)))
`;

export const DEPOT_GRAMMAR = `
grammar :: """
{
  "intro": [{ "rhs": "A depot." }],
  "inside": [{ "rhs": "In the {c.name} you see [{i.indefinite + ' ' + i.name | in(i:item, c:crate)}]." }],
  "list_empty": [{ "rhs": "nothing" }],
  "list_separator": [{ "rhs": ", " }],
  "list_last_separator": [{ "rhs": ", and " }]
}
""";
action go { template :: "go to {to}"; feedback :: "You are in the {to.name}."; }
action open { template :: "open {c}"; feedback :: "You open it. #inside#"; }
action close { template :: "close {c}"; feedback :: "The {c.name} is closed."; }
action take { template :: "take {i} from {c}"; feedback :: "You take the {i.name}. #inside#"; }
action put { template :: "put {i} into {c}"; feedback :: "You put the {i.name} into the {c.name}."; }
action switch {
  template :: "switch {i}";
  feedback :: "#switched#";
  grammar :: """
    {
      "switched": [{ "condition": "lit(i:item)", "rhs": "The {i.name} is on." }, { "rhs": "The {i.name} is off." }]
    }
  """;
}
action look {
  template :: "look";
  feedback :: "You are in the {p.name}, where [{c.indefinite + ' ' + c.name | stands(c:crate, p:place)}] can be seen.";
}
`;

/** Problems by name: what is in which crate, and which crate stands where. */
const PLANS: Readonly<Record<string, { readonly crates: readonly string[]; readonly items: readonly string[] }>> = {
  one: {
    crates: ['chest hall lidded', 'shelf hall', 'trunk cellar lidded', 'basket cellar'],
    items: [
      'torch shelf light lamp',
      'apple chest light',
      'anvil shelf',
      'lantern basket light lamp',
      'rope trunk light',
    ],
  },
  two: {
    crates: ['shelf attic', 'trunk hall lidded', 'locker attic lidded', 'rack cellar'],
    items: ['torch trunk light lamp', 'hammer shelf', 'map locker light', 'cup rack light', 'lantern rack light lamp'],
  },
  three: {
    crates: ['chest cellar lidded', 'basket hall', 'rack attic', 'locker cellar lidded'],
    items: [
      'apple basket light',
      'anvil rack',
      'cup basket light',
      'torch rack light lamp',
      'map chest light',
      'stove locker lamp',
    ],
  },
  /** Kept from learning. */
  other: {
    crates: ['bin loft', 'case yard lidded', 'tray yard'],
    items: ['pear bin light', 'globe tray light lamp', 'safe case', 'coin case light', 'plum tray light'],
  },
};

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
  const read = (name: string): GameFile => ({
    domain: DEPOT_DOMAIN,
    problem: depotProblem(name),
    grammar: DEPOT_GRAMMAR,
  });
  return gamesDomain({ id: 'depot', version: '1', games: problems.map((id) => ({ id, read: () => read(id) })) });
}
