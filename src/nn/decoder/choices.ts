// Choices: where a constraint leaves few tokens, their probabilities are those among these alone, in generating, scoring and
// training alike. They are told to the graphs as rows of ids of one size, filled up with -1.

import { reverieError } from '../../core/errors.js';

/** Tokens that could have been chosen, one of which was; undefined: any token. */
export type Choices = readonly number[] | undefined;

/** What a graph is told of a number of tokens: [tokens, size] and [tokens]. */
export interface ChoiceRows {
  readonly choices: Int32Array;
  readonly chosen: Int32Array;
}

/** Rows without choices. */
export function noChoices(rows: number, size: number): ChoiceRows {
  return { choices: new Int32Array(rows * size).fill(-1), chosen: new Int32Array(rows) };
}

/**
 * Says which tokens could be chosen in a row, and, if it is known, which was.
 * @throws DECODER_INPUT_INVALID for more tokens than fit, none, or a chosen one that is not among them
 */
export function setChoices(rows: ChoiceRows, row: number, choices: Choices, token?: number): void {
  if (choices === undefined) return;
  const size = rows.choices.length / rows.chosen.length;
  if (choices.length > size || choices.length === 0) {
    const hint = 'Let `choices` be as many as the constraint ever leaves, and at least one.';
    throw reverieError('DECODER_INPUT_INVALID', { problem: `${choices.length} choices where 1 to ${size} fit`, hint });
  }
  rows.choices.set(choices, row * size);
  if (token === undefined) return;
  const at = choices.indexOf(token);
  if (at < 0) {
    const hint = 'Give the choices that there were when the token was chosen.';
    throw reverieError('DECODER_INPUT_INVALID', { problem: `token ${token}, which is none of its choices`, hint });
  }
  rows.chosen[row] = at;
}
