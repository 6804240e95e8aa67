// PDDL as nested lists of words: the reader below domains and problems. Words are lower-case, as PDDL knows no case.

import { type ReverieError, reverieError } from '../../core/errors.js';

// A planning task as PDDL states it: types, predicates, actions; objects, what is true at first, and the goal.

/** A variable (`?x`) or an object, with the type it is declared with. */
export interface Typed {
  readonly name: string;
  readonly type: string;
}

/** Arguments are variables (`?x`) or names of objects. */
export interface Literal {
  readonly predicate: string;
  readonly args: readonly string[];
  readonly negated: boolean;
}

/** A condition with negations pushed down to its literals. */
export type Condition =
  | ({ readonly kind: 'literal' } & Literal)
  | { readonly kind: 'and'; readonly parts: readonly Condition[] }
  | { readonly kind: 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'forall'; readonly variables: readonly Typed[]; readonly part: Condition }
  | { readonly kind: 'exists'; readonly variables: readonly Typed[]; readonly part: Condition };

/** One literal made true or false, for all values of `variables`, where `condition` held before. */
export interface Effect {
  readonly variables: readonly Typed[];
  readonly condition: Condition;
  readonly literal: Literal;
}

export interface ActionSchema {
  readonly name: string;
  readonly parameters: readonly Typed[];
  readonly precondition: Condition;
  readonly effects: readonly Effect[];
}

export interface PddlDomain {
  readonly name: string;
  /** Each type's direct supertype; `object` is above all. */
  readonly types: ReadonlyMap<string, string>;
  /** Types of the arguments of each predicate. */
  readonly predicates: ReadonlyMap<string, readonly string[]>;
  readonly constants: readonly Typed[];
  readonly actions: readonly ActionSchema[];
}

export interface PddlProblem {
  readonly name: string;
  readonly objects: readonly Typed[];
  /** Positive literals without variables. */
  readonly init: readonly Literal[];
  readonly goal: Condition;
}

/** Puts it into the list of its key. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}

export const TRUE: Condition = { kind: 'and', parts: [] };

/** The type and all above it. */
export function supertypes(types: ReadonlyMap<string, string>, type: string): string[] {
  const found = [type];
  for (let up = types.get(type); up !== undefined && !found.includes(up); up = types.get(up)) found.push(up);
  return found;
}

/** A word, or a list of them and of further lists. */
type Term = string | TermList;
interface TermList extends ReadonlyArray<Term> {}

/** `what` names the text in errors: a file, or the part of one. */
export function pddlInvalid(what: string, problem: string): ReverieError {
  return reverieError('PDDL_UNFIT', {
    problem: `${what}: ${problem}.`,
    hint: 'Correct it there, or take the file from where it came once more if it was cut off; docs/text-games.md says what a game consists of.',
  });
}

/**
 * The one list a text consists of; comments run from a semicolon to the end of the line.
 * @throws PDDL_UNFIT if a bracket is missing, or something stands after the list
 */
function readTerms(text: string, what: string): TermList {
  const open: Term[][] = [];
  let whole: Term[] | undefined;
  let line = 1;
  for (const [token] of text.matchAll(/;[^\n]*|\n|[()]|[^\s();]+/g)) {
    if (token === '\n') line += 1;
    else if (token.startsWith(';')) continue;
    else if (whole !== undefined) throw pddlInvalid(what, `"${token}" stands after its end, in line ${line}`);
    else if (token === '(') open.push([]);
    else if (open.length === 0)
      throw pddlInvalid(what, `it begins with "${token}" instead of a bracket, in line ${line}`);
    else if (token === ')') {
      const list = open.pop()!;
      const outer = open.at(-1);
      if (outer === undefined) whole = list;
      else outer.push(list);
    } else open.at(-1)!.push(token.toLowerCase());
  }
  if (whole === undefined) throw pddlInvalid(what, `it ends in line ${line} with ${open.length} brackets still open`);
  return whole;
}

/** @throws PDDL_UNFIT unless the term is a word */
function wordOf(term: Term | undefined, what: string, role: string): string {
  if (typeof term === 'string') return term;
  throw pddlInvalid(what, `${role} should be a word, not ${shown(term)}`);
}

/** @throws PDDL_UNFIT unless the term is a list */
export function listOf(term: Term | undefined, what: string, role: string): TermList {
  if (Array.isArray(term)) return term;
  throw pddlInvalid(what, `${role} should be a list in brackets, not ${shown(term)}`);
}

export function shown(term: Term | undefined): string {
  const text = term === undefined ? 'nothing' : write(term);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

function write(term: Term): string {
  return typeof term === 'string' ? term : `(${term.map(write).join(' ')})`;
}

export interface Clause {
  /** Variables beside those in scope: it holds if some objects make it hold. */
  readonly variables: readonly Typed[];
  readonly literals: readonly Literal[];
}

export interface Scope {
  /** Names the place in errors. */
  readonly what: string;
  /** Variables that may be used, and objects. */
  readonly known: ReadonlySet<string>;
  readonly objectsOf: (type: string) => readonly string[];
}

/** More clauses than this are a domain that could not be played. */
const MAX_CLAUSES = 20_000;

/** @throws PDDL_UNFIT for a variable or object that was not declared, and for more clauses than can be handled */
export function clausesOf(condition: Condition, scope: Scope): Clause[] {
  let fresh = 0;
  const walk = (one: Condition, names: ReadonlyMap<string, string>): Clause[] => {
    if (one.kind === 'literal') return [{ variables: [], literals: [named(one, names, scope)] }];
    if (one.kind === 'or') {
      const cases = one.parts.flatMap((part) => walk(part, names));
      limit(cases.length);
      return cases;
    }
    if (one.kind === 'and') return one.parts.map((part) => walk(part, names)).reduce(product, ALWAYS);
    if (one.kind === 'exists') {
      const variables = one.variables.map(({ name, type }) => ({ name: `${name}:${fresh++}`, type, old: name }));
      const inner = new Map([...names, ...variables.map(({ name, old }) => [old, name] as const)]);
      const added = variables.map(({ name, type }) => ({ name, type }));
      return walk(one.part, inner).map(({ variables: more, literals }) => ({
        variables: [...added, ...more],
        literals,
      }));
    }
    return everyBinding(one.variables, scope)
      .map((values) => walk(one.part, new Map([...names, ...values])))
      .reduce(product, ALWAYS);
  };
  const limit = (count: number): void => {
    if (count > MAX_CLAUSES) throw pddlInvalid(scope.what, `its condition has more than ${MAX_CLAUSES} cases`);
  };
  const product = (left: readonly Clause[], right: readonly Clause[]): Clause[] => {
    limit(left.length * right.length);
    return left.flatMap((a) =>
      right.map((b) => ({
        variables: [...a.variables, ...b.variables],
        literals: [...a.literals, ...b.literals],
      })),
    );
  };
  return walk(condition, new Map());
}

const ALWAYS: Clause[] = [{ variables: [], literals: [] }];

function everyBinding(variables: readonly Typed[], { objectsOf }: Scope): (readonly (readonly [string, string])[])[] {
  return variables.reduce<(readonly (readonly [string, string])[])[]>(
    (found, { name, type }) =>
      found.flatMap((one) => objectsOf(type).map((object) => [...one, [name, object] as const])),
    [[]],
  );
}

function named({ predicate, args, negated }: Literal, names: ReadonlyMap<string, string>, scope: Scope): Literal {
  const resolved = args.map((arg) => {
    const found = names.get(arg) ?? arg;
    if (names.has(arg) || scope.known.has(found)) return found;
    const kind = arg.startsWith('?') ? 'variable' : 'object';
    throw pddlInvalid(scope.what, `there is no ${kind} "${arg}", as in (${predicate} ${args.join(' ')})`);
  });
  return { predicate, args: resolved, negated };
}

export interface Vocabulary {
  /** Names the text in errors. */
  readonly what: string;
  readonly types: ReadonlyMap<string, string>;
  readonly predicates: ReadonlyMap<string, readonly string[]>;
}

/** `a b - type c`: without a type, `object`. */
function readTyped(list: TermList, { what, types }: Pick<Vocabulary, 'what' | 'types'>): Typed[] {
  const found: Typed[] = [];
  let names: string[] = [];
  for (let i = 0; i < list.length; i++) {
    const word = wordOf(list[i], what, 'a name in a typed list');
    if (word === '-') {
      const type = wordOf(list[++i], what, 'a type');
      // `?l - location, ?r - receptacle` is no PDDL. ALFWorld's domain has it, and Fast Downward, whose reading is what the games
      // are played by, takes "location," for a type that nothing is of.
      if (!types.has(type) && type !== 'object' && !type.endsWith(','))
        throw pddlInvalid(what, `there is no type "${type}"`);
      found.push(...names.map((name) => ({ name, type })));
      names = [];
    } else names.push(word);
  }
  return [...found, ...names.map((name) => ({ name, type: 'object' }))];
}

/** @throws PDDL_UNFIT */
function readCondition(term: Term | undefined, vocabulary: Vocabulary, negated = false): Condition {
  const list = listOf(term, vocabulary.what, 'a condition');
  if (list.length === 0) return TRUE;
  const tag = wordOf(list[0], vocabulary.what, 'the head of a condition');
  const parts = list.slice(1);
  const only = (count: number) => {
    if (parts.length !== count) throw pddlInvalid(vocabulary.what, `${shown(list)} should have ${count} parts`);
  };
  if (tag === 'not') {
    only(1);
    return readCondition(parts[0], vocabulary, !negated);
  }
  if (tag === 'and' || tag === 'or') {
    const kind = (tag === 'and') !== negated ? 'and' : 'or';
    return { kind, parts: parts.map((part) => readCondition(part, vocabulary, negated)) };
  }
  if (tag === 'imply') {
    only(2);
    const [when, then] = [readCondition(parts[0], vocabulary, !negated), readCondition(parts[1], vocabulary, negated)];
    return { kind: negated ? 'and' : 'or', parts: [when, then] };
  }
  if (tag === 'forall' || tag === 'exists') {
    only(2);
    const variables = readTyped(listOf(parts[0], vocabulary.what, `the variables of ${tag}`), vocabulary);
    const kind = (tag === 'forall') !== negated ? 'forall' : 'exists';
    return { kind, variables, part: readCondition(parts[1], vocabulary, negated) };
  }
  return { kind: 'literal', ...readLiteral(list, vocabulary, negated) };
}

/** `(predicate argument ...)`, with as many arguments as it is declared with. */
export function readLiteral(list: TermList, { what, predicates }: Vocabulary, negated = false): Literal {
  const predicate = wordOf(list[0], what, 'a predicate');
  const args = list.slice(1).map((arg) => wordOf(arg, what, `an argument of "${predicate}"`));
  const arity = predicate === '=' ? 2 : predicates.get(predicate)?.length;
  if (arity === undefined) throw pddlInvalid(what, `there is no predicate "${predicate}", as in ${shown(list)}`);
  if (arity !== args.length) {
    throw pddlInvalid(what, `"${predicate}" takes ${arity} arguments, ${shown(list)} has ${args.length}`);
  }
  return { predicate, args, negated };
}

/** @throws PDDL_UNFIT */
function readEffects(term: Term | undefined, vocabulary: Vocabulary): Effect[] {
  const list = listOf(term, vocabulary.what, 'an effect');
  if (list.length === 0) return [];
  const { what } = vocabulary;
  const tag = wordOf(list[0], what, 'the head of an effect');
  if (tag === 'and') return list.slice(1).flatMap((part) => readEffects(part, vocabulary));
  // What an action costs decides nothing that can be seen or done.
  if (tag === 'increase') return [];
  if (tag === 'forall') {
    const variables = readTyped(listOf(list[1], what, 'the variables of forall'), vocabulary);
    return readEffects(list[2], vocabulary).map((effect) => ({
      ...effect,
      variables: [...variables, ...effect.variables],
    }));
  }
  if (tag === 'when') {
    const condition = readCondition(list[1], vocabulary);
    return readEffects(list[2], vocabulary).map((effect) => ({
      ...effect,
      condition: { kind: 'and', parts: [condition, effect.condition] },
    }));
  }
  const isNegated = tag === 'not';
  const literal = readLiteral(isNegated ? listOf(list[1], what, 'what is negated') : list, vocabulary, isNegated);
  if (literal.predicate === '=') throw pddlInvalid(what, `an effect cannot change ${shown(list)}`);
  return [{ variables: [], condition: TRUE, literal }];
}

/** @throws PDDL_UNFIT, which names the text as `what` */
export function readDomain(text: string, what: string): PddlDomain {
  const sections = sectionsOf(text, what, 'domain');
  const types = readTypes(sections.one(':types'), what);
  const predicates = readPredicates(sections.one(':predicates'), types, what);
  const vocabulary = { what, types, predicates };
  return {
    name: sections.name,
    types,
    predicates,
    constants: readTyped(sections.one(':constants'), vocabulary),
    actions: sections.all(':action').map((list) => readAction(list, vocabulary)),
  };
}

/** @throws PDDL_UNFIT */
export function readProblem(text: string, domain: PddlDomain, what: string): PddlProblem {
  const sections = sectionsOf(text, what, 'problem');
  const of = wordOf(sections.one(':domain')[0], what, ':domain');
  if (of !== domain.name) throw pddlInvalid(what, `it belongs to domain "${of}", not to "${domain.name}"`);
  const vocabulary = { what, types: domain.types, predicates: domain.predicates };
  const objects = readTyped(sections.one(':objects'), vocabulary);
  const names = [...domain.constants, ...objects].map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw pddlInvalid(what, `object "${twice}" is declared twice`);
  const known = new Set(names);
  const init = readInit(sections.one(':init'), vocabulary, known);
  const [goal] = sections.all(':goal');
  if (goal === undefined) throw pddlInvalid(what, 'it has no goal');
  return { name: sections.name, objects, init, goal: readCondition(goal[1], vocabulary) };
}

const DOMAIN_SECTIONS = [':requirements', ':types', ':constants', ':predicates', ':functions', ':action'];
const PROBLEM_SECTIONS = [':domain', ':requirements', ':objects', ':init', ':goal', ':metric'];

function sectionsOf(text: string, what: string, kind: 'domain' | 'problem') {
  const [define, head, ...rest] = readTerms(text, what);
  const title = Array.isArray(head) ? (head as TermList) : [];
  if (define !== 'define' || title[0] !== kind) throw pddlInvalid(what, `it does not begin with (define (${kind} ...)`);
  const known = kind === 'domain' ? DOMAIN_SECTIONS : PROBLEM_SECTIONS;
  const lists = rest.map((term) => listOf(term, what, `a section of the ${kind}`));
  for (const list of lists) {
    const section = wordOf(list[0], what, 'the name of a section');
    if (!known.includes(section)) throw unsupported(what, section, known);
  }
  const all = (section: string) => lists.filter(([tag]) => tag === section);
  /** What the section holds, empty where there is none. */
  const one = (section: string): TermList => all(section)[0]?.slice(1) ?? [];
  return { name: wordOf(title[1], what, `the name of the ${kind}`), all, one };
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
