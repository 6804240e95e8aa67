// What a sequence model reads and writes, before it is tokens: text, marks that part sections, and slots in the place of names. A slot
// stands for a name of the question, so that a name is copied and never spelt, and rooms that were never seen have no unknown words.

import type { Tokenizer } from '../../nn/decoder/tokenizer.js';

/** Names that a question can give a slot to; further ones are spelt. */
export const SLOTS = 64;

/** `replace` and `value` stand in no text: a fit gives other bytes without them. */
const MARKS = [
  ...['call', 'goal', 'facts', 'answer'],
  ...['done', 'refused', 'add', 'replace', 'remove', 'name', 'value', 'says', 'glue', 'goes-on', 'ends'],
] as const;

type Mark = (typeof MARKS)[number];

export type Piece = { readonly text: string } | { readonly slot: number } | { readonly mark: Mark };

export const mark = (name: Mark): Piece => ({ mark: name });

export function isMark(piece: Piece, name: Mark): boolean {
  return 'mark' in piece && piece.mark === name;
}

const markToken = (name: Mark) => `<|${name}|>`;
const slotToken = (slot: number) => `<|${slot}|>`;

/** Special tokens of every tokenizer of a sequence model, beside those that all have. */
export const SCRIPT_TOKENS: readonly string[] = [
  ...MARKS.map(markToken),
  ...Array.from({ length: SLOTS }, (_, slot) => slotToken(slot)),
];

/** The names of one question: the first that is spoken of has slot 0. */
export class Names {
  private readonly slots = new Map<string, number>();
  private readonly names: string[] = [];

  /** Gives a name the next slot, unless it has one or none is left. */
  assign(name: string): void {
    if (this.slots.has(name) || this.names.length === SLOTS) return;
    this.slots.set(name, this.names.length);
    this.names.push(name);
  }

  slotOf(name: string): number | undefined {
    return this.slots.get(name);
  }

  nameOf(slot: number): string | undefined {
    return this.names[slot];
  }
}

/** Takes a text apart where names stand: `between` has one more than `objects`. */
export type Splitter = (text: string) => { readonly between: readonly string[]; readonly objects: readonly string[] };

/** A text with slots for names. The space before a slot is understood, but at the beginning; where there is none, glue says so. */
export function written(text: string, split: Splitter, names: Names): Piece[] {
  const { between, objects } = split(text);
  const pieces: Piece[] = [];
  let plain = between[0];
  objects.forEach((object, i) => {
    const slot = names.slotOf(object);
    if (slot === undefined) {
      plain += object + between[i + 1];
      return;
    }
    const isFirst = pieces.length === 0 && plain === '';
    const hasSpace = plain.endsWith(' ') && (plain !== ' ' || pieces.length > 0);
    const before = hasSpace ? plain.slice(0, -1) : plain;
    if (before !== '') pieces.push({ text: before });
    if (!hasSpace && !isFirst) pieces.push(mark('glue'));
    pieces.push({ slot });
    plain = between[i + 1];
  });
  if (plain !== '') pieces.push({ text: plain });
  return pieces;
}

/** The text of what `written` wrote; undefined where a slot has no name, or a mark stands that does not belong there. */
export function readText(pieces: readonly Piece[], names: Names): string | undefined {
  let text = '';
  let isGlued = true;
  for (const piece of pieces) {
    if ('text' in piece) text += piece.text;
    else if ('slot' in piece) {
      const name = names.nameOf(piece.slot);
      if (name === undefined) return undefined;
      text += isGlued ? name : ` ${name}`;
    } else if (piece.mark !== 'glue') return undefined;
    isGlued = 'mark' in piece;
  }
  return text;
}

/** Pieces as tokens of a tokenizer that has `SCRIPT_TOKENS`, and back. */
export class ScriptCodec {
  private readonly ids = new Map<string, number>();
  private readonly special = new Map<number, Piece>();

  constructor(readonly tokenizer: Tokenizer) {
    const note = (token: string, piece: Piece) => {
      const id = tokenizer.idOf(token)!;
      this.ids.set(token, id);
      this.special.set(id, piece);
    };
    for (const name of MARKS) note(markToken(name), mark(name));
    for (let slot = 0; slot < SLOTS; slot++) note(slotToken(slot), { slot });
  }

  encode(pieces: readonly Piece[]): number[] {
    return pieces.flatMap((piece) => {
      if ('text' in piece) return this.tokenizer.encode(piece.text);
      return [this.ids.get('mark' in piece ? markToken(piece.mark) : slotToken(piece.slot))!];
    });
  }

  decode(tokens: readonly number[]): Piece[] {
    const pieces: Piece[] = [];
    let plain: number[] = [];
    const flush = () => {
      if (plain.length > 0) pieces.push({ text: this.tokenizer.decode(plain) });
      plain = [];
    };
    for (const token of tokens) {
      const piece = this.special.get(token);
      if (piece === undefined) plain.push(token);
      else {
        flush();
        pieces.push(piece);
      }
    }
    flush();
    return pieces;
  }

  idOf(name: Mark): number {
    return this.ids.get(markToken(name))!;
  }
}
