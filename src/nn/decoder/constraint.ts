// What holds generation to a language: a set of token sequences, such as the commands of a trie or the JSON texts of a schema. Generation,
// scoring and training know this contract alone.

import { reverieError } from '../../core/errors.js';

/** What may be generated in one row; asked and told token by token. */
export interface TokenConstraint {
  /** The tokens that may come next, ascending; none: the text is complete; undefined: any. */
  allowed(): readonly number[] | undefined;
  /** Takes in the token that was chosen. @throws DECODER_INPUT_INVALID for one that is not allowed */
  accept(token: number): void;
  /** Whether the text is complete, and nothing is allowed any more. */
  readonly isComplete: boolean;
}

/** A set of token sequences; each ends with a token that ends it. */
export interface TokenLanguage {
  /** Tokens that are at most allowed at once: what `choices` must be at least in generating, scoring and training. */
  readonly choices: number;
  /**
   * A constraint that begins at the beginning.
   * @param room most tokens, the end included: a token is allowed only if the text can still be completed within it, so that whoever
   * generates `room` tokens has a whole text. Any number unless given.
   * @throws CONTEXT_TOO_LONG if not even the shortest text fits
   */
  constraint(room?: number): TokenConstraint;
}

/**
 * What could have stood in the place of each token of a sequence, as `Decoder.score` and `spreadChoices` take it.
 * @param room as it was when the sequence was generated
 * @throws DECODER_INPUT_INVALID for a sequence that is not of the language
 */
export function choicesAlong(language: TokenLanguage, tokens: Iterable<number>, room?: number): (readonly number[])[] {
  const constraint = language.constraint(room);
  const choices: (readonly number[])[] = [];
  for (const token of tokens) {
    choices.push(constraint.allowed() ?? []);
    constraint.accept(token);
  }
  if (!constraint.isComplete) throw outside('a sequence that stops before its end');
  return choices;
}

/** The error for a token that is not allowed. */
export function notAllowed(token: number): Error {
  return outside(`token ${token}, which its constraint does not allow`);
}

/** @throws CONTEXT_TOO_LONG for less room than the shortest text takes */
export function requireRoom(what: string, least: number, room: number): void {
  if (least > room) throw reverieError('CONTEXT_TOO_LONG', { what, tokens: least, limit: room });
}

function outside(problem: string): Error {
  return reverieError('DECODER_INPUT_INVALID', { problem, hint: 'Give sequences of the language, the end included.' });
}
