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

/** Objects by the placeholders of queries (`r:receptacle`), and by name alone (`r`), as expressions have them. */
interface Context {
  readonly bindings: Bindings;
  readonly variables: ReadonlyMap<string, number>;
}

export class Teller {
  constructor(
    private readonly grammar: TextGrammar,
    private readonly librarian: Librarian,
    private readonly entities: readonly Entity[],
    private readonly what: string,
  ) {}

  /** @throws PDDL_INVALID for a symbol or variable that is not there, and where no rule of a symbol applies */
  tell(rhs: Rhs, state: WorldState, bindings: Bindings): string {
    return this.derive(rhs, state, contextOf(bindings));
  }

  private derive(rhs: Rhs, state: WorldState, context: Context): string {
    return rhs.map((symbol) => this.one(symbol, state, context)).join('');
  }

  private one(symbol: TextSymbol, state: WorldState, context: Context): string {
    if (symbol.kind === 'words') return symbol.words;
    if (symbol.kind === 'value') return this.value(symbol.expression, context);
    if (symbol.kind === 'rule') return this.rule(symbol.name, state, context);
    const { symbol: inner, given, isList } = symbol;
    const contexts =
      given === undefined ? [context] : this.librarian.all(given, state, context.bindings).map(contextOf);
    const texts = contexts.map((each) => this.one(inner, state, each));
    return isList ? this.list(texts, state, context) : texts.join('');
  }

  private rule(name: string, state: WorldState, context: Context): string {
    const rules = this.grammar.rules.get(name);
    if (rules === undefined) throw pddlInvalid(this.what, `the grammar has no rules for "#${name}#"`);
    const rule = rules.find(
      ({ condition }) => condition === undefined || this.librarian.holds(condition, state, context.bindings),
    );
    if (rule === undefined) throw pddlInvalid(this.what, `no rule for "#${name}#" applies`);
    return this.derive(rule.rhs, state, context);
  }

  /** "a", "a, and b", "a, b, and c", in the words of the grammar. */
  private list(texts: readonly string[], state: WorldState, context: Context): string {
    if (texts.length === 0) return this.rule('list_empty', state, context);
    if (texts.length === 1) return texts[0];
    const last = this.rule('list_last_separator', state, context);
    const between = texts.length > 2 ? this.rule('list_separator', state, context) : '';
    return `${texts.slice(0, -1).join(between)}${last}${texts.at(-1)}`;
  }

  private value(expression: Expression, context: Context): string {
    if (expression.kind === 'words') return expression.words;
    if (expression.kind === 'sum') return expression.parts.map((part) => this.value(part, context)).join('');
    if (expression.kind === 'either') {
      const values = expression.parts.map((part) => this.value(part, context));
      return values.find((value) => value !== '') ?? values.at(-1)!;
    }
    const object = context.variables.get(expression.variable);
    if (object === undefined)
      throw pddlInvalid(this.what, `nothing stands for "${expression.variable}" in the grammar`);
    return propertyOf(this.entities[object], expression.property);
  }
}

function contextOf(bindings: Bindings): Context {
  return {
    bindings,
    variables: new Map([...bindings].map(([key, object]) => [key.slice(0, key.indexOf(':')), object])),
  };
}

function propertyOf(entity: Entity, property: string): string {
  if (property === 'indefinite') return 'a';
  if (property === 'definite') return 'the';
  return entity[property as keyof Entity];
}
