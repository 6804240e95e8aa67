// How right a casebook is: each recorded step is put to it without its episode, or without all of its game, and held against what was
// recorded.

import { isDeepStrictEqual } from 'node:util';
import type { JudgedStep } from '../from-records/judging.js';
import type { Casebook } from './casebook.js';
import type { RecordedStep } from './recorded-walks.js';

/** What is kept from the book when it is asked about a step. */
export type Withheld = 'episode' | 'task';

export interface JudgedAnalogy extends JudgedStep {
  readonly isAnswered: boolean;
  readonly isSeenRight: boolean;
  readonly areCommandsRight: boolean;
  readonly claimsWin: boolean;
  readonly isWin: boolean;
  readonly evidence: number;
}

/** Parts of the state that a step may change. */
const SHOWN = ['look', 'inventory', 'score', 'done', 'success', 'admissible'] as const;

export function judged(book: Casebook, step: RecordedStep, withheld: Withheld): JudgedAnalogy {
  const { before, after, text, isError, observation } = step;
  const said = book.say(before, text, (one) => one[withheld] !== step[withheld]);
  const dreamt = said?.after;
  const isRight = (key: (typeof SHOWN)[number]) => isDeepStrictEqual(dreamt?.[key], after[key]);
  return {
    changes: SHOWN.filter((key) => !isDeepStrictEqual(before[key], after[key])).length,
    isAnswered: said !== undefined,
    isSeenRight: isRight('look') && isRight('inventory'),
    isTextExact: said?.observation === observation && said.isError === isError,
    areCommandsRight: isRight('admissible'),
    isEndExact: isRight('score') && isRight('done') && isRight('success'),
    isStateExact: SHOWN.every(isRight),
    claimsWin: dreamt?.success === true,
    isWin: after.success,
    evidence: said?.evidence ?? 0,
  };
}
