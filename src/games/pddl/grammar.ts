// The file that says how a game sounds: templates of commands and of what is answered to them, and the rules of a text grammar.
// The form is TextWorld's for PDDL games (textworld/envs/pddl/logic/logic.ebnf).

import type { WorldPlan, WorldState } from './ground.js';
import { addTo, pddlInvalid } from './read-task.js';

interface GrammarRule {
  /** What must hold for the rule to be taken; absent: it always may be. */
  readonly condition?: Query;
  readonly rhs: Rhs;
}

export interface ActionText {
  readonly template: Rhs;
  readonly feedback: Rhs;
}

export interface TextGrammar {
  /** By the action's name in lower case. */
  readonly actions: ReadonlyMap<string, ActionText>;
  /** By symbol. The first whose condition holds is taken. */
  readonly rules: ReadonlyMap<string, readonly GrammarRule[]>;
}

const TOKEN = /\s+|#[^\n]*|"""[\s\S]*?"""|"[^"]*"|::|[{};]|[\w/-]+|[\s\S]/g;

/** @throws PDDL_UNFIT */
export function readGrammar(text: string, what: string): TextGrammar {
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token).filter((token) => !/^(\s|#)/.test(token));
  const actions = new Map<string, ActionText>();
  const rules = new Map<string, readonly GrammarRule[]>();
  let at = 0;
  const take = (wanted?: string): string => {
    const token = tokens[at++];
    if (token === undefined) throw pddlInvalid(what, `it ends where ${wanted ?? 'more'} should follow`);
    if (wanted !== undefined && token !== wanted) throw pddlInvalid(what, `"${token}" stands where "${wanted}" should`);
    return token;
  };
  const field = () => {
    take('::');
    const value = take();
    take(';');
    if (!value.startsWith('"')) throw pddlInvalid(what, `"${value}" stands where a text in quotes should`);
    return value.startsWith('"""') ? value.slice(3, -3) : value.slice(1, -1);
  };
  while (at < tokens.length) {
    const head = take();
    if (head === 'grammar') addRules(field(), rules, what);
    else if (head === 'action') {
      const name = take();
      take('{');
      const fields = new Map<string, string>();
      while (tokens[at] !== '}') fields.set(take(), field());
      take('}');
      const own = fields.get('grammar');
      if (own !== undefined) addRules(own.replace(/^\s*#.*$/gm, ''), rules, what);
      const [template, feedback] = ['template', 'feedback'].map((key) => fields.get(key));
      if (template === undefined || feedback === undefined) {
        throw pddlInvalid(what, `action "${name}" needs a template and a feedback`);
      }
      actions.set(name.toLowerCase(), { template: readSymbols(template, what), feedback: readSymbols(feedback, what) });
    } else throw pddlInvalid(what, `"${head}" stands where "action" or "grammar" should`);
  }
  return { actions, rules };
}

function addRules(json: string, into: Map<string, readonly GrammarRule[]>, what: string): void {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (cause) {
    throw pddlInvalid(what, `a block of rules is no JSON: ${(cause as Error).message}`);
  }
  for (const [symbol, alternatives] of Object.entries(parsed as object)) {
    if (!Array.isArray(alternatives)) throw pddlInvalid(what, `the rules of "${symbol}" are no list`);
    into.set(
      symbol,
      alternatives.map(({ rhs, condition }: { rhs?: unknown; condition?: unknown }) => {
        if (typeof rhs !== 'string') throw pddlInvalid(what, `a rule of "${symbol}" has no text "rhs"`);
        const when = condition ? { condition: readQuery(String(condition), what) } : {};
        return { ...when, rhs: readSymbols(rhs, what) };
      }),
    );
  }
}

/** A placeholder is told from others by name and type. */
interface Placeholder {
  readonly name: string;
  readonly type: string;
  readonly key: string;
}

interface QueryLiteral {
  readonly predicate: string;
  /** Asks for facts that were made false (`not_opened`), which is not the same as all that are not true. */
  readonly denied: boolean;
  readonly placeholders: readonly Placeholder[];
}

type Query = readonly QueryLiteral[];

/** Objects by the placeholder's key; the order is that in which they were bound. */
export type Bindings = ReadonlyMap<string, number>;

/** `openable(r:receptacle) & not_opened(r:receptacle)`. @throws PDDL_UNFIT */
function readQuery(text: string, what: string): Query {
  return text.split('&').map((part) => {
    const [, name, inside] = /^\s*(!?[\w/]+)\s*\(([^()]*)\)\s*$/.exec(part) ?? [];
    if (name === undefined)
      throw pddlInvalid(what, `"${part.trim()}" in "${text.trim()}" is no predicate(placeholders)`);
    const written = inside.split(',').map((one) => one.trim());
    const placeholders = written.filter((one) => one !== '').map((one) => placeholder(one));
    const denied = name.startsWith('not_');
    return { predicate: denied ? name.slice('not_'.length) : name, denied, placeholders };
  });
}

function placeholder(written: string): Placeholder {
  const [name, type = name.replace(/'+$/, '')] = written.split(':').map((part) => part.trim());
  return { name, type, key: `${name}:${type}` };
}

/** Facts that could ever answer one literal, in the order in which they are to be found. */
interface Answers {
  readonly objects: readonly (readonly number[])[];
  /** Their atoms; -1: always true. */
  readonly atoms: readonly number[];
  /** By argument, then by object: places in the two lists. */
  readonly at: readonly ReadonlyMap<number, readonly number[]>[];
}

/** Answers queries about worlds of one plan; what it works out of a query is kept with it. */
export class Librarian {
  private readonly known = new WeakMap<QueryLiteral, Answers>();
  private readonly byPredicate = new Map<string, { objects: readonly number[]; atom: number }[]>();

  /** `types`: each type's supertype. */
  constructor(
    private readonly plan: WorldPlan,
    private readonly types: ReadonlyMap<string, string>,
  ) {
    const { task } = plan;
    for (const { predicate, args } of task.constant) addTo(this.byPredicate, predicate, { objects: args, atom: -1 });
    task.predicates.forEach((predicate, atom) => {
      addTo(this.byPredicate, predicate, { objects: task.args[atom], atom });
    });
  }

  /** Whether the query holds in some way that extends the bindings. */
  holds(query: Query, state: WorldState, bindings: Bindings): boolean {
    return this.search(query, state, bindings, () => true);
  }

  /** All ways in which the query holds that extend the bindings. */
  all(query: Query, state: WorldState, bindings: Bindings): Bindings[] {
    const found: Bindings[] = [];
    this.search(query, state, bindings, (one) => {
      found.push(new Map(one));
      return false;
    });
    return found;
  }

  /** Different placeholders stand for different objects. Ends, with true, when `found` answers true. */
  private search(query: Query, state: WorldState, given: Bindings, found: (bound: Bindings) => boolean): boolean {
    const bound = new Map(given);
    const used = new Set(given.values());
    const ask = (depth: number): boolean => {
      if (depth === query.length) return found(bound);
      const { placeholders, denied } = query[depth];
      const answers = this.answersTo(query[depth]);
      const bits = denied ? state.denied : state.truth;
      const isFact = (atom: number) => (atom < 0 ? !denied : bits[atom] === 1);
      return candidates(answers, placeholders, bound).some((place) => {
        if (!isFact(answers.atoms[place])) return false;
        const fresh: string[] = [];
        const fits = answers.objects[place].every((object, i) => {
          const { key } = placeholders[i];
          const before = bound.get(key);
          if (before !== undefined) return before === object;
          if (used.has(object)) return false;
          bound.set(key, object);
          used.add(object);
          fresh.push(key);
          return true;
        });
        const isDone = fits && ask(depth + 1);
        for (const key of fresh) {
          used.delete(bound.get(key)!);
          bound.delete(key);
        }
        return isDone;
      });
    };
    return ask(0);
  }

  private answersTo(literal: QueryLiteral): Answers {
    const known = this.known.get(literal);
    if (known !== undefined) return known;
    const { universe } = this.plan.task;
    const ranks = this.signatureRanks(literal);
    const signature = (objects: readonly number[]) => objects.map((object) => universe.types[object]).join(' ');
    const facts = (this.byPredicate.get(literal.predicate) ?? [])
      .filter(({ objects }) => objects.length === literal.placeholders.length && ranks.has(signature(objects)))
      .map((fact) => ({ ...fact, rank: ranks.get(signature(fact.objects))! }))
      .sort((a, b) => a.rank - b.rank || compareNames(a.objects, b.objects, universe.names));
    const at = literal.placeholders.map((_, position) => {
      const index = new Map<number, number[]>();
      facts.forEach(({ objects }, place) => {
        addTo(index, objects[position], place);
      });
      return index;
    });
    const answers = { objects: facts.map(({ objects }) => objects), atoms: facts.map(({ atom }) => atom), at };
    this.known.set(literal, answers);
    return answers;
  }

  /** The types asked for, then those below them, breadth first: facts are found in this order. */
  private signatureRanks({ placeholders }: QueryLiteral): ReadonlyMap<string, number> {
    const below = new Map<string, string[]>();
    for (const [type, above] of [...this.types].sort(([a], [b]) => (a < b ? -1 : 1))) {
      below.set(above, [...(below.get(above) ?? []), type]);
    }
    const ranks = new Map<string, number>();
    const queue = [placeholders.map(({ type }) => type)];
    for (let next = 0; next < queue.length; next++) {
      const types = queue[next];
      if (ranks.has(types.join(' '))) continue;
      ranks.set(types.join(' '), ranks.size);
      types.forEach((type, i) => {
        for (const sub of below.get(type) ?? []) queue.push(types.with(i, sub));
      });
    }
    return ranks;
  }
}

function candidates(
  { objects, at }: Answers,
  placeholders: readonly Placeholder[],
  bound: Bindings,
): readonly number[] {
  let best: readonly number[] | undefined;
  placeholders.forEach(({ key }, position) => {
    const object = bound.get(key);
    if (object === undefined) return;
    const list = at[position].get(object) ?? [];
    if (best === undefined || list.length < best.length) best = list;
  });
  return best ?? [...objects.keys()];
}

function compareNames(a: readonly number[], b: readonly number[], names: readonly string[]): number {
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) return names[a[i]] < names[b[i]] ? -1 : 1;
  }
  return 0;
}

export type Expression =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'property'; readonly variable: string; readonly property: string }
  | { readonly kind: 'sum'; readonly parts: readonly Expression[] }
  | { readonly kind: 'either'; readonly parts: readonly Expression[] };

type TextSymbol =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'value'; readonly expression: Expression }
  /** Once for every way in which `given` holds; as a list, with separators between. */
  | { readonly kind: 'each'; readonly symbol: TextSymbol; readonly given?: Query; readonly isList: boolean };

export type Rhs = readonly TextSymbol[];

/** At the beginning of a line white space and comments between symbols are passed over. */
const LINE_START = /(?:\/\/.*|\s*)\n?/y;
const TABS = /\t+/y;
const RULE = /#([\w()/!<>\-\s,.]+)#/y;
/** `{#rule# | query}` or `{expression | query}`: once for every way in which the query holds. */
const EACH = /\{(?:#([\w()/!<>\-\s,.]+)#|([^|[\]{}\n<>]+))(?:\s*\|\s*([^;|{}\n[\]#]+))?\}/y;
const LIST = new RegExp(`\\[${EACH.source}\\]`, 'y');
const QUOTED = /"([^;|"<>[\]#{}]*)"/y;
const PLAIN = /([^;|"<>[\]#{}]+)/y;

/** @throws PDDL_UNFIT for an expression or a query that cannot be read */
function readSymbols(text: string, what: string): Rhs {
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text) ?? undefined;
    at += found?.[0].length ?? 0;
    return found;
  };
  const each = ([, rule, expression, given]: RegExpExecArray, isList: boolean): TextSymbol => {
    const symbol: TextSymbol =
      rule === undefined
        ? { kind: 'value', expression: readExpression(expression, what) }
        : { kind: 'rule', name: rule };
    return { kind: 'each', symbol, isList, ...(given !== undefined && { given: readQuery(given, what) }) };
  };
  const next = (): TextSymbol | undefined => {
    const list = match(LIST);
    const single = list ?? match(EACH);
    if (single !== undefined) return each(single, list !== undefined);
    const rule = match(RULE);
    if (rule !== undefined) return { kind: 'rule', name: rule[1] };
    const words = match(QUOTED) ?? match(PLAIN);
    return words && { kind: 'words', words: words[1].replaceAll('\\n', '\n') };
  };
  const symbols: TextSymbol[] = [];
  for (;;) {
    for (let before = -1; before !== at; ) {
      before = at;
      match(TABS);
      if (at === 0 || text[at - 1] === '\n') match(LINE_START);
    }
    const symbol = next();
    // What fits no rule ends the text there.
    if (symbol === undefined) return symbols;
    symbols.push(symbol);
  }
}

/** `o.name`, `o.indefinite + ' ' + o.name`, `r.name or r.id`. */
function readExpression(source: string, what: string): Expression {
  const refuse = () => pddlInvalid(what, `the expression {${source}} is none of entity.property, 'text', + and or`);
  const parts = [...source.matchAll(/'[^']*'|"[^"]*"|\+|[A-Za-z_]\w*(?:\.\w+)?|\S/g)].map(([part]) => part);
  const sums: Expression[][] = [[]];
  let isOperand = true;
  for (const part of parts) {
    if (isOperand) {
      const operand = readOperand(part);
      if (operand === undefined) throw refuse();
      sums.at(-1)!.push(operand);
    } else if (part === 'or') sums.push([]);
    else if (part !== '+') throw refuse();
    isOperand = !isOperand;
  }
  if (isOperand) throw refuse();
  const either = sums.map((sum): Expression => (sum.length === 1 ? sum[0] : { kind: 'sum', parts: sum }));
  return either.length === 1 ? either[0] : { kind: 'either', parts: either };
}

function readOperand(part: string): Expression | undefined {
  if (/^['"]/.test(part)) return { kind: 'words', words: part.slice(1, -1) };
  const [variable, property = 'name'] = part.split('.');
  const isKnown = /^[A-Za-z_]/.test(part) && part !== 'or' && PROPERTIES.includes(property);
  return isKnown ? { kind: 'property', variable, property } : undefined;
}

export const PROPERTIES: readonly string[] = ['id', 'name', 'type', 'definite', 'indefinite'];

export interface Entity {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

export class Teller {
  constructor(
    private readonly grammar: TextGrammar,
    private readonly librarian: Librarian,
    private readonly entities: readonly Entity[],
    private readonly what: string,
  ) {}

  /** @throws PDDL_UNFIT for a symbol or variable that is not there, and where no rule of a symbol applies */
  tell(rhs: Rhs, state: WorldState, bindings: Bindings): string {
    return rhs.map((symbol) => this.one(symbol, state, bindings)).join('');
  }

  private one(symbol: TextSymbol, state: WorldState, bindings: Bindings): string {
    if (symbol.kind === 'words') return symbol.words;
    if (symbol.kind === 'value') return this.value(symbol.expression, bindings);
    if (symbol.kind === 'rule') return this.rule(symbol.name, state, bindings);
    const { symbol: inner, given, isList } = symbol;
    const ways = given === undefined ? [bindings] : this.librarian.all(given, state, bindings);
    const texts = ways.map((each) => this.one(inner, state, each));
    return isList ? this.list(texts, state, bindings) : texts.join('');
  }

  private rule(name: string, state: WorldState, bindings: Bindings): string {
    const rules = this.grammar.rules.get(name);
    if (rules === undefined) throw pddlInvalid(this.what, `the grammar has no rules for "#${name}#"`);
    const rule = rules.find(
      ({ condition }) => condition === undefined || this.librarian.holds(condition, state, bindings),
    );
    if (rule === undefined) throw pddlInvalid(this.what, `no rule for "#${name}#" applies`);
    return this.tell(rule.rhs, state, bindings);
  }

  /** "a", "a, and b", "a, b, and c", in the words of the grammar. */
  private list(texts: readonly string[], state: WorldState, bindings: Bindings): string {
    if (texts.length === 0) return this.rule('list_empty', state, bindings);
    if (texts.length === 1) return texts[0];
    const last = this.rule('list_last_separator', state, bindings);
    const between = texts.length > 2 ? this.rule('list_separator', state, bindings) : '';
    return `${texts.slice(0, -1).join(between)}${last}${texts.at(-1)}`;
  }

  private value(expression: Expression, bindings: Bindings): string {
    if (expression.kind === 'words') return expression.words;
    if (expression.kind === 'sum') return expression.parts.map((part) => this.value(part, bindings)).join('');
    if (expression.kind === 'either') {
      const values = expression.parts.map((part) => this.value(part, bindings));
      return values.find((value) => value !== '') ?? values.at(-1)!;
    }
    const object = objectOf(expression.variable, bindings);
    if (object === undefined)
      throw pddlInvalid(this.what, `nothing stands for "${expression.variable}" in the grammar`);
    return propertyOf(this.entities[object], expression.property);
  }
}

/** Expressions know placeholders by name alone; of two with one name the later counts. */
function objectOf(variable: string, bindings: Bindings): number | undefined {
  let found: number | undefined;
  for (const [key, object] of bindings) {
    if (key.length > variable.length && key[variable.length] === ':' && key.startsWith(variable)) found = object;
  }
  return found;
}

function propertyOf(entity: Entity, property: string): string {
  if (property === 'indefinite') return 'a';
  if (property === 'definite') return 'the';
  return entity[property as keyof Entity];
}
