// The texts of JSON that a schema allows, as an automaton of characters (Willard and Louf, 2307.09702). Texts are compact, as
// `JSON.stringify` writes them, properties in the schema's order and no others than those it names. Whatever is written is valid; not
// all that is valid can be written.

import type { CharSet, DFA, ENFA, ReadonlyDFA } from 'refa';
import type { JsonObject } from '../../../core/json.js';
import { refa } from '../../../core/late-packages.js';
import { type NumberBounds, numbers, wholeNumbers } from './digits.js';
import { type Place, SchemaReading, type TypeName } from './reading.js';
import { ESCAPES, LAST_CHARACTER, PatternProblem, patternValues, plainCharacters, stringValues } from './strings.js';

/** States of one schema's automaton. */
const MOST_STATES = 200_000;
/** Elements of a list that are counted; a longer bound is taken as this one. */
const MOST_ITEMS = 32;

type State = ENFA.Node;

/**
 * The automaton of a schema.
 * @param what whose schema it is, for messages
 * @throws DECODER_SCHEMA_UNSUPPORTED
 */
export function jsonAutomaton(schema: JsonObject, what: string): ReadonlyDFA {
  const reading = new SchemaReading(schema, what);
  const { DFA, ENFA, TooManyNodesError } = refa();
  try {
    const grammar = new JsonGrammar(reading);
    const nodes = ENFA.fromBuilder(grammar.builder, { maxCharacter: LAST_CHARACTER });
    const automaton = DFA.fromFA(nodes, new DFA.LimitedNodeFactory(MOST_STATES));
    if (automaton.isEmpty) reading.refuse({ at: '#' }, 'allows nothing that can be written');
    return automaton;
  } catch (error) {
    if (!(error instanceof TooManyNodesError)) throw error;
    return reading.refuse({ at: '#' }, 'has patterns and bounds that together make too large an automaton');
  }
}

class JsonGrammar {
  readonly builder: ENFA.Builder;
  private readonly plain = plainCharacters();
  /** Automata of scalars by their bounds; the same ones recur in a schema. */
  private readonly scalars = new Map<string, DFA | undefined>();

  constructor(private readonly reading: SchemaReading) {
    const { ENFA } = refa();
    this.builder = new ENFA.Builder(new ENFA.LimitedNodeFactory(MOST_STATES));
    const end = this.value(this.builder.initial, reading.whole());
    this.builder.linkNodes(end, this.builder.final, null);
  }

  /** The state after a value that begins in `from`. */
  private value(from: State, place: Place): State {
    const end = this.builder.createNode();
    for (const way of this.reading.ways(place)) this.builder.linkNodes(this.one(from, way), end, null);
    return end;
  }

  private one(from: State, way: Place): State {
    const end = this.builder.createNode();
    const values = this.reading.values(way);
    for (const value of values ?? []) this.builder.linkNodes(this.text(from, JSON.stringify(value)), end, null);
    if (values === undefined)
      for (const type of this.reading.types(way)) this.builder.linkNodes(this.ofType(from, type, way), end, null);
    return end;
  }

  private ofType(from: State, type: TypeName, way: Place): State {
    const { schema } = way;
    if (type === 'null') return this.text(from, 'null');
    if (type === 'boolean') return this.oneOf(from, ['true', 'false']);
    if (type === 'integer') return this.number(from, way, wholeNumbers);
    if (type === 'number') return this.number(from, way, numbers);
    if (type === 'string') return this.string(from, way);
    if (type === 'array') return this.list(from, way);
    // An object or list of which nothing is said, where nothing is said of the type either, is left to the scalars.
    return schema.type === undefined && schema.properties === undefined && schema.required === undefined
      ? this.builder.createNode()
      : this.object(from, way);
  }

  private object(from: State, way: Place): State {
    const { properties = {}, required = [] } = way.schema;
    const unknown = required.find((name) => !Object.hasOwn(properties, name));
    if (unknown !== undefined) this.reading.refuse(way, `requires "${unknown}", of which it says nothing`);
    // Nothing written yet, and something: a comma stands before all properties but the first.
    let none: State | undefined = this.text(from, '{');
    let some: State | undefined;
    for (const [name, schema] of Object.entries(properties)) {
      const isNeeded = required.includes(name);
      if (schema === false && !isNeeded) continue;
      const key = this.builder.createNode();
      if (none !== undefined) this.builder.linkNodes(none, key, null);
      if (some !== undefined) this.builder.linkNodes(this.text(some, ','), key, null);
      const written = this.text(key, `${JSON.stringify(name)}:`);
      const after = this.builder.createNode();
      this.builder.linkNodes(this.value(written, this.reading.below(way, `properties/${name}`, schema)), after, null);
      if (isNeeded) none = undefined;
      else if (some !== undefined) this.builder.linkNodes(some, after, null);
      some = after;
    }
    return this.closed([none, some], '}');
  }

  private list(from: State, way: Place): State {
    const {
      items,
      minItems = 0,
      maxItems,
    } = way.schema as {
      readonly items?: unknown;
      readonly minItems?: number;
      readonly maxItems?: number;
    };
    if (way.schema.type === undefined && items === undefined && minItems === 0) return this.builder.createNode();
    const open = this.text(from, '[');
    if (items === false || maxItems === 0) return this.closed([minItems > 0 ? undefined : open], ']');
    if (minItems > MOST_ITEMS) this.reading.refuse(way, `asks for more than ${MOST_ITEMS} elements`);
    const item = this.reading.below(way, 'items', items ?? true);
    const ends: (State | undefined)[] = [minItems === 0 ? open : undefined];
    // Elements are written out one by one up to a bound; where there is none, the last goes round.
    const most = maxItems === undefined ? Math.max(1, minItems) : Math.min(maxItems, MOST_ITEMS);
    let at = open;
    for (let count = 1; count <= most; count++) {
      at = this.value(count === 1 ? at : this.text(at, ','), item);
      if (count >= minItems) ends.push(at);
    }
    if (maxItems === undefined) this.builder.linkNodes(this.value(this.text(at, ','), item), at, null);
    return this.closed(ends, ']');
  }

  private number(from: State, way: Place, source: (bounds: NumberBounds) => string | undefined): State {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = way.schema;
    const bounds = { minimum, maximum, exclusiveMinimum, exclusiveMaximum };
    const digits = source(bounds);
    if (digits === undefined)
      this.reading.refuse(way, 'has bounds between which there is no number that can be written');
    const automaton = this.scalar(digits, () => patternValues(`^(?:${digits})$`))!;
    return this.embedded(from, automaton, (a, b, set) => this.builder.linkNodes(a, b, set));
  }

  private string(from: State, way: Place): State {
    const { minLength, maxLength, pattern, format } = way.schema;
    const bounds = { minLength, maxLength, pattern, format };
    const open = this.text(from, '"');
    let end: State;
    try {
      const values = this.scalar(JSON.stringify(bounds), () => stringValues(bounds));
      end = values === undefined ? open : this.embedded(open, values, (a, b, set) => this.characters(a, b, set));
      if (values === undefined) this.characters(open, open, refa().CharSet.all(LAST_CHARACTER));
    } catch (error) {
      if (!(error instanceof PatternProblem)) throw error;
      this.reading.refuse(way, error.message);
    }
    return this.text(end, '"');
  }

  /** A character of a string's value, as it is written. */
  private characters(from: State, to: State, set: CharSet): void {
    const plain = set.intersect(this.plain);
    if (!plain.isEmpty) this.builder.linkNodes(from, to, plain);
    const escaped = ESCAPES.filter(([character]) => set.has(character.codePointAt(0)!));
    if (escaped.length === 0) return;
    const after = this.text(from, '\\');
    for (const [, letter] of escaped) this.builder.linkNodes(this.text(after, letter), to, null);
  }

  /** An automaton's copy between two states. */
  private embedded(from: State, automaton: DFA, link: (from: State, to: State, set: CharSet) => void): State {
    const copies = new Map<DFA.ReadonlyNode, State>();
    const copyOf = (node: DFA.ReadonlyNode) => {
      if (!copies.has(node)) copies.set(node, this.builder.createNode());
      return copies.get(node)!;
    };
    const end = this.builder.createNode();
    this.builder.linkNodes(from, copyOf(automaton.initial), null);
    for (const node of automaton.nodes()) {
      for (const [to, set] of setsOf(node)) link(copyOf(node), copyOf(to), set);
      if (automaton.finals.has(node)) this.builder.linkNodes(copyOf(node), end, null);
    }
    return end;
  }

  private scalar(key: string, make: () => DFA | undefined): DFA | undefined {
    if (!this.scalars.has(key)) this.scalars.set(key, make());
    return this.scalars.get(key);
  }

  private closed(ends: readonly (State | undefined)[], bracket: string): State {
    const before = this.builder.createNode();
    for (const end of ends) if (end !== undefined) this.builder.linkNodes(end, before, null);
    return this.text(before, bracket);
  }

  private oneOf(from: State, texts: readonly string[]): State {
    const end = this.builder.createNode();
    for (const text of texts) this.builder.linkNodes(this.text(from, text), end, null);
    return end;
  }

  private text(from: State, text: string): State {
    const { CharSet } = refa();
    return [...text].reduce((at, character) => {
      const next = this.builder.createNode();
      this.builder.linkNodes(at, next, CharSet.fromCharacter(LAST_CHARACTER, character.codePointAt(0)!));
      return next;
    }, from);
  }
}

/** A state's ways on: where to, by which characters. */
function setsOf({ out }: DFA.ReadonlyNode): Map<DFA.ReadonlyNode, CharSet> {
  const sets = new Map<DFA.ReadonlyNode, CharSet>();
  for (const [range, to] of out) {
    const known = sets.get(to) ?? refa().CharSet.empty(LAST_CHARACTER);
    sets.set(to, known.union([range]));
  }
  return sets;
}
