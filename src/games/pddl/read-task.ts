// Domains and problems of PDDL: the typed part of ADL, without numbers, time and derived predicates.

import { reverieError } from '../../core/errors.js';
import { listOf, pddlInvalid, readTerms, shown, type TermList, wordOf } from './lists.js';
import { readCondition, readEffects, readLiteral, readTyped, type Vocabulary } from './read-condition.js';
import type { ActionSchema, Literal, PddlDomain, PddlProblem, Typed } from './task.js';
import { TRUE } from './task.js';

/** What a domain may require. Costs of actions are read and passed over. */
export const PDDL_REQUIREMENTS: readonly string[] = [
  ':strips',
  ':typing',
  ':equality',
  ':negative-preconditions',
  ':disjunctive-preconditions',
  ':existential-preconditions',
  ':universal-preconditions',
  ':quantified-preconditions',
  ':conditional-effects',
  ':adl',
  ':action-costs',
];

/** @throws PDDL_UNFIT, PDDL_UNFIT; both name the text as `what` */
export function readDomain(text: string, what: string): PddlDomain {
  const sections = sectionsOf(text, what, 'domain');
  const requirements = sections.words(':requirements');
  const types = readTypes(sections.one(':types'), what);
  const predicates = readPredicates(sections.one(':predicates'), types, what);
  const vocabulary = { what, types, predicates };
  return {
    name: sections.name,
    requirements,
    types,
    predicates,
    constants: readTyped(sections.one(':constants'), vocabulary),
    actions: sections.all(':action').map((list) => readAction(list, vocabulary)),
  };
}

/** @throws PDDL_UNFIT, PDDL_UNFIT */
export function readProblem(text: string, domain: PddlDomain, what: string): PddlProblem {
  const sections = sectionsOf(text, what, 'problem');
  const [of] = sections.words(':domain');
  if (of !== domain.name) throw pddlInvalid(what, `it belongs to domain "${of}", not to "${domain.name}"`);
  sections.words(':requirements');
  const vocabulary = { what, types: domain.types, predicates: domain.predicates };
  const objects = readTyped(sections.one(':objects'), vocabulary);
  const known = new Set([...domain.constants, ...objects].map(({ name }) => name));
  if (known.size < domain.constants.length + objects.length) throw pddlInvalid(what, twice(domain.constants, objects));
  const init = readInit(sections.one(':init'), vocabulary, known);
  const [goal] = sections.all(':goal');
  if (goal === undefined) throw pddlInvalid(what, 'it has no goal');
  return { name: sections.name, objects, init, goal: readCondition(goal[1], vocabulary) };
}

const DOMAIN_SECTIONS = [':requirements', ':types', ':constants', ':predicates', ':functions', ':action'];
const PROBLEM_SECTIONS = [':domain', ':requirements', ':objects', ':init', ':goal', ':metric'];

interface Sections {
  readonly name: string;
  all(section: string): TermList[];
  /** What the section holds, empty where there is none. */
  one(section: string): TermList;
  words(section: string): string[];
}

function sectionsOf(text: string, what: string, kind: 'domain' | 'problem'): Sections {
  const [define, head, ...rest] = readTerms(text, what);
  const title = Array.isArray(head) ? (head as TermList) : [];
  if (define !== 'define' || title[0] !== kind) throw pddlInvalid(what, `it does not begin with (define (${kind} ...)`);
  const known = kind === 'domain' ? DOMAIN_SECTIONS : PROBLEM_SECTIONS;
  const lists = rest.map((term) => listOf(term, what, `a section of the ${kind}`));
  for (const list of lists) {
    const section = wordOf(list[0], what, 'the name of a section');
    if (!known.includes(section)) throw unsupported(what, section, known);
    if (section !== ':requirements') continue;
    const unknown = list.slice(1).find((word) => !PDDL_REQUIREMENTS.includes(word as string));
    if (unknown !== undefined) throw unsupported(what, shown(unknown), PDDL_REQUIREMENTS);
  }
  const all = (section: string) => lists.filter(([tag]) => tag === section);
  const one = (section: string) => all(section)[0]?.slice(1) ?? [];
  const words = (section: string) => one(section).map((word) => wordOf(word, what, section));
  return { name: wordOf(title[1], what, `the name of the ${kind}`), all, one, words };
}

function unsupported(what: string, value: string, known: readonly string[]) {
  return reverieError('PDDL_UNFIT', {
    problem: `${what} asks for "${value}", which is not supported here.`,
    hint: `Known: ${known.join(', ')}. Write the domain without it: what follows from other facts can be an effect of the actions, numbers can be objects.`,
  });
}

/** Supertypes by type. `object` may be declared again, as some domains do. */
function readTypes(list: TermList, what: string): Map<string, string> {
  const names = new Map(list.map((word) => [wordOf(word, what, 'a type'), 'object']));
  const declared = readTyped(list, { what, types: names });
  const types = new Map<string, string>();
  for (const { name, type } of declared) if (name !== 'object') types.set(name, type);
  for (const { type } of declared) if (type !== 'object' && !types.has(type)) types.set(type, 'object');
  return types;
}

function readPredicates(
  list: TermList,
  types: ReadonlyMap<string, string>,
  what: string,
): Map<string, readonly string[]> {
  return new Map(
    list.map((term) => {
      const [name, ...args] = listOf(term, what, 'a predicate');
      const typed = readTyped(args, { what, types });
      return [wordOf(name, what, 'the name of a predicate'), typed.map(({ type }) => type)] as const;
    }),
  );
}

function readAction([, name, ...rest]: TermList, vocabulary: Vocabulary): ActionSchema {
  const { what } = vocabulary;
  const action = wordOf(name, what, 'the name of an action');
  const fields = new Map<string, TermList>();
  for (let i = 0; i < rest.length; i += 2) {
    const field = wordOf(rest[i], what, `a field of action "${action}"`);
    const known = [':parameters', ':precondition', ':effect'];
    if (!known.includes(field)) throw unsupported(what, field, known);
    fields.set(field, listOf(rest[i + 1], what, `${field} of action "${action}"`));
  }
  const parameters = readTyped(fields.get(':parameters') ?? [], vocabulary);
  const stray = parameters.find((parameter) => !parameter.name.startsWith('?'));
  if (stray !== undefined) throw pddlInvalid(what, `parameter "${stray.name}" of action "${action}" has no "?"`);
  const precondition = fields.get(':precondition');
  return {
    name: action,
    parameters,
    precondition: precondition === undefined ? TRUE : readCondition(precondition, vocabulary),
    effects: readEffects(fields.get(':effect') ?? [], vocabulary),
  };
}

function readInit(list: TermList, vocabulary: Vocabulary, known: ReadonlySet<string>): Literal[] {
  const { what } = vocabulary;
  return list.flatMap((term) => {
    const fact = listOf(term, what, 'a fact of :init');
    // A value of a function: costs and distances, which decide nothing here.
    if (fact[0] === '=') return [];
    const literal = readLiteral(fact, vocabulary);
    const stranger = literal.args.find((arg) => !known.has(arg));
    if (stranger !== undefined) throw pddlInvalid(what, `${shown(fact)} names "${stranger}", which is no object`);
    return [literal];
  });
}

function twice(constants: readonly Typed[], objects: readonly Typed[]): string {
  const names = [...constants, ...objects].map(({ name }) => name);
  return `object "${names.find((name, i) => names.indexOf(name) !== i)}" is declared twice`;
}
