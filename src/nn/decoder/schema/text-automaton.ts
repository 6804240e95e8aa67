// An automaton of characters as one of UTF-8 bytes, which is what tokens are made of: a token may end within a character. It also knows
// the fewest bytes from each state to an end, so that texts can be kept within a length.

import type { DFA, ReadonlyDFA } from 'refa';

/** A state between characters, or within one. */
export interface ByteState {
  /** Fewest bytes to an end; 0: the text may end here. */
  readonly least: number;
}

interface Edge {
  readonly min: number;
  readonly max: number;
  readonly to: number;
}

interface Whole extends ByteState {
  readonly id: number;
}

interface Within extends ByteState {
  readonly id: number;
  /** Bits of the character that are known, how many bytes are missing, and the least character of so many bytes. */
  readonly known: number;
  readonly missing: number;
  readonly from: number;
}

type State = Whole | Within;

const LAST_OF_LENGTH = [0x7f, 0x7ff, 0xffff, 0x10ffff];
const bytesOf = (character: number) => LAST_OF_LENGTH.findIndex((last) => character <= last) + 1;

export class TextAutomaton {
  readonly initial: ByteState;
  private readonly edges: readonly (readonly Edge[])[];
  private readonly wholes: readonly Whole[];
  private readonly withins = new Map<string, Within>();

  constructor(characters: ReadonlyDFA) {
    const nodes = new Map<DFA.ReadonlyNode, number>([[characters.initial, 0]]);
    for (const node of characters.nodes()) if (!nodes.has(node)) nodes.set(node, nodes.size);
    this.edges = [...nodes.keys()].map(({ out }) =>
      [...out].map(([{ min, max }, to]): Edge => ({ min, max, to: nodes.get(to)! })),
    );
    const least = leastToEnds(
      this.edges,
      [...characters.finals].flatMap((node) => nodes.get(node) ?? []),
    );
    this.wholes = least.map((bytes, id) => ({ id, least: bytes }));
    this.initial = this.wholes[0];
  }

  /** The state after a byte; undefined where no text goes on so. */
  after(state: ByteState, byte: number): ByteState | undefined {
    const at = state as State;
    if ('missing' in at) {
      if ((byte & 0xc0) !== 0x80) return undefined;
      const known = (at.known << 6) | (byte & 0x3f);
      return at.missing > 1
        ? this.within(at.id, known, at.missing - 1, at.from)
        : known < at.from
          ? undefined
          : this.whole(at.id, known);
    }
    if (byte < 0x80) return this.whole(at.id, byte);
    if (byte >= 0xc2 && byte < 0xe0) return this.within(at.id, byte & 0x1f, 1, 0x80);
    if (byte >= 0xe0 && byte < 0xf0) return this.within(at.id, byte & 0x0f, 2, 0x800);
    return byte >= 0xf0 && byte < 0xf5 ? this.within(at.id, byte & 0x07, 3, 0x10000) : undefined;
  }

  private whole(id: number, character: number): Whole | undefined {
    const edge = this.edges[id].find(({ min, max }) => min <= character && character <= max);
    return edge === undefined ? undefined : this.living(this.wholes[edge.to]);
  }

  private within(id: number, known: number, missing: number, from: number): Within | undefined {
    const key = `${id} ${known} ${missing} ${from}`;
    const met = this.withins.get(key);
    if (met !== undefined) return this.living(met);
    const low = Math.max(from, known << (6 * missing));
    const high = ((known + 1) << (6 * missing)) - 1;
    const ends = this.edges[id].filter(({ min, max }) => Math.max(min, low) <= Math.min(max, high));
    const least = missing + Math.min(Number.POSITIVE_INFINITY, ...ends.map(({ to }) => this.wholes[to].least));
    const state = { id, known, missing, from, least };
    this.withins.set(key, state);
    return this.living(state);
  }

  private living<S extends ByteState>(state: S): S | undefined {
    return state.least === Number.POSITIVE_INFINITY ? undefined : state;
  }
}

/** Fewest bytes from each state to one that ends; Infinity where there is no way. */
function leastToEnds(edges: readonly (readonly Edge[])[], ends: readonly number[]): number[] {
  const before: { readonly from: number; readonly bytes: number }[][] = edges.map(() => []);
  edges.forEach((out, from) => {
    for (const { min, to } of out) before[to].push({ from, bytes: bytesOf(min) });
  });
  const least = edges.map(() => Number.POSITIVE_INFINITY);
  for (const end of ends) least[end] = 0;
  // Breadth first; a state that is found nearer later is gone on from again.
  const open = [...ends];
  for (let i = 0; i < open.length; i++) {
    for (const { from, bytes } of before[open[i]]) {
      if (least[open[i]] + bytes >= least[from]) continue;
      least[from] = least[open[i]] + bytes;
      open.push(from);
    }
  }
  return least;
}
