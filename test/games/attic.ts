// A small game of our own for tests: boxes in an attic, some locked; lamps that go on and off; a goal of two parts.

import { type GameSource, TextGame } from '../../src/games/pddl/text-game.js';

export const ATTIC_DOMAIN = `
; boxes, lamps and things in them
(define (domain attic)
  (:requirements :adl :typing :action-costs)
  (:types box thing - item  lamp - thing  room item)
  (:predicates
    (here ?r - room) (next ?a - room ?b - room) (stands ?b - box ?r - room)
    (locked ?b - box) (opened ?b - box) (in ?t - thing ?b - box) (held ?t - thing) (lit ?l - lamp) (dusty ?i - item))
  (:functions (total-cost) - number)
  (:action go :parameters (?from - room ?to - room)
    :precondition (and (here ?from) (next ?from ?to))
    :effect (and (not (here ?from)) (here ?to) (increase (total-cost) 1)))
  (:action open :parameters (?b - box ?r - room)
    :precondition (and (here ?r) (stands ?b ?r) (not (locked ?b)) (not (opened ?b)))
    :effect (and (opened ?b) (forall (?t - thing) (when (in ?t ?b) (dusty ?t)))))
  (:action take :parameters (?t - thing ?b - box ?r - room)
    :precondition (and (here ?r) (stands ?b ?r) (in ?t ?b) (opened ?b) (forall (?o - thing) (not (held ?o))))
    :effect (and (held ?t) (not (in ?t ?b))))
  (:action put :parameters (?t - thing ?b - box ?r - room)
    :precondition (and (held ?t) (here ?r) (stands ?b ?r) (opened ?b))
    :effect (and (in ?t ?b) (not (held ?t))))
  (:action switch :parameters (?l - lamp)
    :precondition (or (held ?l) (exists (?b - box ?r - room) (and (in ?l ?b) (opened ?b) (stands ?b ?r) (here ?r))))
    :effect (and (when (lit ?l) (not (lit ?l))) (when (not (lit ?l)) (lit ?l))))
  (:action examine :parameters (?b - box ?r - room)
    :precondition (and (here ?r) (stands ?b ?r) (opened ?b))
    :effect (dusty ?b))
  (:action look :parameters () :precondition () :effect (and (dusty crate))))
`;

export const ATTIC_PROBLEM = `
(define (problem one) (:domain attic)
  (:objects north south - room  crate chest safe - box  book - thing  torch - lamp)
  (:init (here north) (next north south) (next south north)
    (stands crate north) (stands safe north) (stands chest south) (locked safe)
    (in book crate) (in torch crate) (= (total-cost) 0))
  (:goal (and (in book chest) (exists (?l - lamp) (and (lit ?l) (not (in ?l crate)))))))
`;

export const ATTIC_GRAMMAR = `
# how the attic sounds
grammar :: """
{
  "intro": [{ "rhs": "Up in the attic.\\n\\n#around#" }],
  "around": [{ "rhs": "You see [{b.indefinite + ' ' + b.name | here(r:room) & stands(b:box, r:room)}]." }],
  "inside": [
    { "condition": "in(x:thing, b:box)", "rhs": "In it: [{x.name | in(x:thing, b:box)}].#back#" },
    { "rhs": "It is empty.#back#" }
  ],
  "back": [
    { "condition": "not_in(x:thing, b:box)", "rhs": "\\" \\"Gone: [{x.name | not_in(x:thing, b:box)}]." },
    { "rhs": "" }
  ],
  "list_empty": [{ "rhs": "nothing" }],
  "list_separator": [{ "rhs": ", " }],
  "list_last_separator": [{ "rhs": ", and " }]
}
""";
action go { template :: "go to {to}"; feedback :: "You are in the {to.name} now. #around#"; }
action open { template :: "open {b}"; feedback :: "#inside#"; }
action take { template :: "take {t} from {b}"; feedback :: "Taken: {t.name}."; }
action put { template :: "put {t} into {b}"; feedback :: "Done."; }
action examine { template :: "examine {b}"; feedback :: "#inside#"; }
action switch {
  template :: "switch {l}";
  feedback :: "#switched#";
  grammar :: """
    {
      "switched": [
        { "condition": "lit(l:lamp)", "rhs": "The {l.name} is on." },
        { "rhs": "The {l.name} is off." }
      ]
    }
  """;
}
action look { template :: "look"; feedback :: "#around#"; }
`;

export const ATTIC: GameSource = { domain: ATTIC_DOMAIN, problem: ATTIC_PROBLEM, grammar: ATTIC_GRAMMAR };

export function attic(change: Partial<GameSource> = {}): TextGame {
  return new TextGame({ ...ATTIC, ...change }, { what: 'attic' });
}
