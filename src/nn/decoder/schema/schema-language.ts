// The texts of a JSON Schema as a language of tokens: in each state of the schema's automaton the tokens that some text goes on with,
// found once (Willard and Louf, 2307.09702). A text may be cut into tokens in any way, so it has several sequences; which one was
// generated is what counts in scoring and training.

import type { JsonObject } from '../../../core/json.js';
import { notAllowed, requireRoom, type TokenConstraint, type TokenLanguage } from '../constraint.js';
import type { Tokenizer } from '../tokenizer.js';
import { jsonAutomaton } from './json-grammar.js';
import { type ByteState, TextAutomaton } from './text-automaton.js';
import { type ByteNode, type Vocabulary, vocabularyOf } from './vocabulary.js';

/** What may come in a state. */
interface Open {
  /** Ascending, the end among them. */
  readonly tokens: readonly number[];
  /** Fewest tokens that a whole text still takes after each, the end included; 0 after the end. */
  readonly least: readonly number[];
  readonly most: number;
}

export class SchemaLanguage implements TokenLanguage {
  private readonly automaton: TextAutomaton;
  private readonly vocabulary: Vocabulary;
  private readonly opens = new Map<ByteState, Open>();

  /**
   * @param schema of JSON: every text that is generated is valid by it. The text is compact, has the properties that the schema names
   * in its order and no others; docs/learners.md lists the keywords.
   * @param what whose schema it is, for messages
   * @throws DECODER_SCHEMA_UNSUPPORTED for what cannot be written under; DECODER_VOCABULARY_UNFIT for tokens that cannot write JSON
   */
  constructor(schema: JsonObject, tokenizer: Tokenizer, what = 'the text') {
    this.vocabulary = vocabularyOf(tokenizer);
    this.automaton = new TextAutomaton(jsonAutomaton(schema, what));
  }

  /** See `TokenLanguage`. */
  get choices(): number {
    return this.vocabulary.count + 1;
  }

  /** Tokens that are enough for the shortest text, the end included. */
  get least(): number {
    return this.automaton.initial.least + 1;
  }

  /** Whether a text is one of these. */
  has(text: string): boolean {
    let state: ByteState | undefined = this.automaton.initial;
    for (const byte of new TextEncoder().encode(text)) state = state && this.automaton.after(state, byte);
    return state?.least === 0;
  }

  /** See `TokenLanguage`. */
  constraint(room = Number.POSITIVE_INFINITY): TokenConstraint {
    requireRoom('The shortest text of the schema', this.least, room);
    let state: ByteState | undefined = this.automaton.initial;
    let left = room;
    return {
      allowed: () => (state === undefined ? [] : this.within(state, left)),
      accept: (token) => {
        state = this.after(state, token);
        left--;
      },
      get isComplete() {
        return state === undefined;
      },
    };
  }

  /** The state after a token; undefined after the end. */
  private after(state: ByteState | undefined, token: number): ByteState | undefined {
    if (token === this.vocabulary.end && state?.least === 0) return undefined;
    const bytes = this.vocabulary.bytes[token] ?? [];
    let at = bytes.length === 0 ? undefined : state;
    for (const byte of bytes) at = at && this.automaton.after(at, byte);
    if (at === undefined) throw notAllowed(token);
    return at;
  }

  /** Of the tokens that may come those after which a whole text still fits. */
  private within(state: ByteState, left: number): readonly number[] {
    const { tokens, least, most } = this.openOf(state);
    return most < left ? tokens : tokens.filter((_, i) => least[i] < left);
  }

  private openOf(state: ByteState): Open {
    let open = this.opens.get(state);
    if (open === undefined) {
      const found: (readonly [token: number, least: number])[] = [];
      this.follow(state, this.vocabulary.root, found);
      if (state.least === 0) found.push([this.vocabulary.end, 0]);
      found.sort(([a], [b]) => a - b);
      const least = found.map(([, bytes]) => bytes);
      open = { tokens: found.map(([token]) => token), least, most: least.reduce((a, b) => Math.max(a, b), 0) };
      this.opens.set(state, open);
    }
    return open;
  }

  /** Tokens below a node that some text goes on with. */
  private follow(state: ByteState, { next }: ByteNode, found: (readonly [number, number])[]): void {
    for (const [byte, node] of next) {
      const after = this.automaton.after(state, byte);
      if (after === undefined) continue;
      // Every byte is a token, so as many tokens as bytes and the end are enough.
      if (node.token !== undefined) found.push([node.token, after.least + 1]);
      this.follow(after, node, found);
    }
  }
}
