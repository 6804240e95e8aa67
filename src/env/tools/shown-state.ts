// States of games of text that are known by what they show and by nothing else: what is seen, what is held, the score, the commands that
// are listed, and each other place as it looked when it was left. Real games and dreams of them change such a state by the same
// operations.

import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { ToolsDomain } from './domain.js';
import type { Operation } from './prediction.js';

/** What a game shows at a moment. */
export interface ShownMoment {
  readonly look: string;
  readonly inventory: string;
  /** At most 1, which is all there is to reach. */
  readonly score: number;
  readonly done: boolean;
  readonly success: boolean;
  /** Commands that do something, sorted: the order in which a game has them may be drawn anew each time. Absent: it does not tell them. */
  readonly admissible?: readonly string[];
}

export interface ShownState extends ShownMoment {
  readonly game: string;
  /** Commands since the beginning. */
  readonly history: readonly string[];
  /** How other places looked when they were left last, by `placeOf`. */
  readonly left: { readonly [place: string]: string };
}

const text: JsonObject = { type: 'string' };
const texts: JsonObject = { type: 'array', items: { type: 'string' } };

/** Of states that tell the commands, or do not. */
export function shownSchema(isListed: boolean): JsonObject {
  const properties = {
    ...{ game: text, look: text, inventory: text, score: { type: 'number' } },
    ...{ done: { type: 'boolean' }, success: { type: 'boolean' }, ...(isListed && { admissible: texts }) },
    ...{ history: texts, left: { type: 'object', additionalProperties: { type: 'string' } } },
  };
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

const NOTHING = {
  ...{ game: '', look: '', inventory: '', score: 0, done: false, success: false },
  history: Object.freeze([]) as readonly string[],
  left: Object.freeze({}),
};

/** The state of no game. */
export function nothingShown(isListed: boolean): ShownState & JsonObject {
  const listed = isListed ? { admissible: Object.freeze([]) as readonly string[] } : {};
  return Object.freeze({ ...NOTHING, ...listed }) as ShownState & JsonObject;
}

/** Whether its states tell all that an agent is shown, commands included: such a game can be dreamt without asking it. */
export function isShownDomain({ stateSchema }: Pick<ToolsDomain, 'stateSchema'>): boolean {
  return isDeepStrictEqual(stateSchema, shownSchema(true));
}

/** What a place is known by: the first sentence of what is seen there. */
export function placeOf(look: string): string {
  return /^[^\n]*?[.!?:](?=\s|$)/.exec(look)?.[0] ?? look.split('\n')[0];
}

/** From a state to the moment after a command; without one, to that which a game begins with. */
export function shownChanges(before: ShownState, moment: ShownMoment, command?: string): Operation[] {
  const shown = (['look', 'inventory', 'score', 'done', 'success', 'admissible'] as const).flatMap(
    (key): Operation[] =>
      moment[key] === undefined || isDeepStrictEqual(before[key], moment[key])
        ? []
        : [{ op: 'replace', path: `/${key}`, value: moment[key] as Json }],
  );
  if (command === undefined) return shown;
  const place = placeOf(before.look);
  const isLeft = place !== '' && place !== placeOf(moment.look);
  const path = `/left/${place.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return [
    ...shown,
    ...(isLeft ? [{ op: 'add', path, value: before.look } as const] : []),
    { op: 'add', path: '/history/-', value: command },
  ];
}
