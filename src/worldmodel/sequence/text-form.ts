// Worlds of which only texts are known. A name is a word with a number, and is told beside its slot.

import type { CallSpec } from '../../env/tools/domain.js';
import { mark, type Names, type Piece, type Splitter } from './script.js';
import type { Around, World, WorldForm } from './world-form.js';

const NUMBERED = /\p{L}+ \d+/gu;

const split: Splitter = (text) => ({ between: text.split(NUMBERED), objects: text.match(NUMBERED) ?? [] });

export class TextForm implements WorldForm {
  around(_call: CallSpec, said: string, _world: World | undefined, names: Names): Around {
    for (const name of split(said).objects) names.assign(name);
    return { pieces: [], split };
  }

  write(): Piece[] {
    return [];
  }

  read(pieces: readonly Piece[]): [] | undefined {
    return pieces.length === 0 ? [] : undefined;
  }
}

/** What slots stand for, where names are no mere labels. */
export function namePieces(names: Names): Piece[] {
  return [mark('names'), ...names.all().flatMap((name, slot): Piece[] => [{ slot }, { text: ` ${name}` }])];
}
