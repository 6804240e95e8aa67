// How a world of one kind is put into words: what of its state is shown around a call, and how changes of it are written and read.

import type { JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, FactTable, Scene } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { Names, Piece, Splitter } from './script.js';

/** Facts about objects; entities in collections, such as `tickets["T-1"].status`; elements of a screen; or a state that is not seen, and text alone. */
export const WORLD_KINDS = ['facts', 'values', 'elements', 'unseen'] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

/** A state to be asked about. */
export interface World {
  readonly values: JsonObject;
  /** Where it is facts about objects. */
  readonly scene?: Scene;
}

export const factsOf = ({ values }: World): FactTable => values.facts as FactTable;

export interface Around {
  readonly pieces: readonly Piece[];
  /** Takes texts apart where names of the question stand. */
  readonly split: Splitter;
}

export interface WorldForm {
  /** What is shown around a call; gives names their slots, those of the call first. @param said  the call in words */
  around(call: CallSpec, said: string, world: World | undefined, names: Names): Around;
  /** undefined where there are no words for an operation. */
  write(operations: readonly Operation[], names: Names, split: Splitter): Piece[] | undefined;
  /** undefined where they cannot be read. @param done the call, where it is carried out */
  read(
    pieces: readonly Piece[],
    names: Names,
    world: World | undefined,
    done: CallSpec | undefined,
  ): Operation[] | undefined;
}
