// How right a casebook is: each recorded step is put to it without its episode, or without all of its game, and held against what was
// recorded.

import { isDeepStrictEqual } from 'node:util';
import type { Casebook } from './casebook.js';
import type { RecordedStep } from './recorded-walks.js';

/** What is kept from the book when it is asked about a step. */
export type Withheld = 'episode' | 'task';

export interface JudgedStep {
  readonly changes: number;
  readonly isAnswered: boolean;
  readonly isSeenRight: boolean;
  readonly isTextRight: boolean;
  readonly areCommandsRight: boolean;
  readonly isEndRight: boolean;
  /** All of the state. */
  readonly isStateRight: boolean;
  readonly claimsWin: boolean;
  readonly isWin: boolean;
  readonly evidence: number;
}

/** Parts of the state that a step may change. */
const SHOWN = ['look', 'inventory', 'score', 'done', 'success', 'admissible'] as const;

export function judged(book: Casebook, step: RecordedStep, withheld: Withheld): JudgedStep {
  const { before, after, text, isError, observation } = step;
  const said = book.say(before, text, (one) => one[withheld] !== step[withheld]);
  const dreamt = said?.after;
  const isRight = (key: (typeof SHOWN)[number]) => isDeepStrictEqual(dreamt?.[key], after[key]);
  return {
    changes: SHOWN.filter((key) => !isDeepStrictEqual(before[key], after[key])).length,
    isAnswered: said !== undefined,
    isSeenRight: isRight('look') && isRight('inventory'),
    isTextRight: said?.observation === observation && said.isError === isError,
    areCommandsRight: isRight('admissible'),
    isEndRight: isRight('score') && isRight('done') && isRight('success'),
    isStateRight: SHOWN.every(isRight),
    claimsWin: dreamt?.success === true,
    isWin: after.success,
    evidence: said?.evidence ?? 0,
  };
}
