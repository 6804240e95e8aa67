// Texts of a world: derives the rules of a grammar, with the facts as they stand.

import { pddlInvalid } from '../lists.js';
import type { WorldState } from '../world.js';
import type { TextGrammar } from './grammar-file.js';
import type { Bindings, Librarian } from './query.js';
import type { Expression, Rhs, TextSymbol } from './symbols.js';

/** How an object is spoken of. */
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
