// The right side of a text rule: words, #symbols#, {expressions}, {expressions | for these facts} and [lists of them].
// The form is TextWorld's (textworld/envs/pddl/textgen/textgen.ebnf), its treatment of white space and strays included.

import { pddlInvalid } from '../lists.js';
import { type Query, readQuery } from './query.js';

/** An entity's property, a text, or a sum or choice of such. */
export type Expression =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'property'; readonly variable: string; readonly property: string }
  | { readonly kind: 'sum'; readonly parts: readonly Expression[] }
  | { readonly kind: 'either'; readonly parts: readonly Expression[] };

export type TextSymbol =
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
const VALUE = /[^|[\]{}\n<>]+/y;
const GIVEN = /\s*\|\s*([^;|{}\n[\]#]+)/y;
const QUOTED = /"([^;|"<>[\]#{}]*)"/y;
const PLAIN = /[^;|"<>[\]#{}]+/y;

/** @throws PDDL_UNFIT for an expression or a query that cannot be read */
export function readSymbols(text: string, what: string): Rhs {
  return new SymbolReader(text, what).all();
}

class SymbolReader {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly what: string,
  ) {}

  all(): Rhs {
    const symbols: TextSymbol[] = [];
    while (this.at < this.text.length) {
      this.skip();
      const start = this.at;
      let found: TextSymbol | undefined;
      for (const read of [this.list, this.single, this.rule, this.words]) {
        this.at = start;
        found = read.call(this);
        if (found !== undefined) break;
      }
      // What fits no rule ends the text there.
      if (found === undefined) break;
      symbols.push(found);
    }
    return symbols;
  }

  private skip(): void {
    for (let before = -1; before !== this.at; ) {
      before = this.at;
      this.match(TABS);
      if (this.at === 0 || this.text[this.at - 1] === '\n') this.match(LINE_START);
    }
  }

  private list(): TextSymbol | undefined {
    if (!this.eat('[')) return undefined;
    const found = this.each(true);
    return found !== undefined && this.eat(']') ? found : undefined;
  }

  private single(): TextSymbol | undefined {
    return this.each(false);
  }

  private each(isList: boolean): TextSymbol | undefined {
    if (!this.eat('{')) return undefined;
    let symbol = this.rule();
    if (symbol === undefined) {
      const found = this.match(VALUE);
      if (found === undefined) return undefined;
      symbol = { kind: 'value', expression: readExpression(found[0], this.what) };
    }
    const given = this.match(GIVEN);
    if (!this.eat('}')) return undefined;
    return { kind: 'each', symbol, isList, ...(given && { given: readQuery(given[1], this.what) }) };
  }

  private rule(): TextSymbol | undefined {
    const found = this.match(RULE);
    return found && { kind: 'rule', name: found[1] };
  }

  private words(): TextSymbol | undefined {
    const quoted = this.match(QUOTED);
    const words = quoted === undefined ? this.match(PLAIN)?.[0] : quoted[1];
    return words === undefined ? undefined : { kind: 'words', words: words.replaceAll('\\n', '\n') };
  }

  private match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at += found[0].length;
    return found ?? undefined;
  }

  private eat(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
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

/** What an entity may be asked for. */
export const PROPERTIES: readonly string[] = ['id', 'name', 'type', 'definite', 'indefinite'];
