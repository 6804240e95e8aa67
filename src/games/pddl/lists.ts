// PDDL as nested lists of words: the reader below domains and problems. Words are lower-case, as PDDL knows no case.

import { type ReverieError, reverieError } from '../../core/errors.js';

/** A word, or a list of them and of further lists. */
export type Term = string | TermList;
export interface TermList extends ReadonlyArray<Term> {}

/** `what` names the text in errors: a file, or the part of one. */
export function pddlInvalid(what: string, problem: string): ReverieError {
  return reverieError('PDDL_UNFIT', {
    problem: `${what}: ${problem}.`,
    hint: 'Correct it there, or take the file from where it came once more if it was cut off; docs/text-games.md says what a game consists of.',
  });
}

/**
 * The one list a text consists of; comments run from a semicolon to the end of the line.
 * @throws PDDL_UNFIT if a bracket is missing, or something stands after the list
 */
export function readTerms(text: string, what: string): TermList {
  const open: Term[][] = [];
  let whole: Term[] | undefined;
  let line = 1;
  for (const [token] of text.matchAll(/;[^\n]*|\n|[()]|[^\s();]+/g)) {
    if (token === '\n') line += 1;
    else if (token.startsWith(';')) continue;
    else if (whole !== undefined) throw pddlInvalid(what, `"${token}" stands after its end, in line ${line}`);
    else if (token === '(') open.push([]);
    else if (open.length === 0)
      throw pddlInvalid(what, `it begins with "${token}" instead of a bracket, in line ${line}`);
    else if (token === ')') {
      const list = open.pop()!;
      const outer = open.at(-1);
      if (outer === undefined) whole = list;
      else outer.push(list);
    } else open.at(-1)!.push(token.toLowerCase());
  }
  if (whole === undefined) throw pddlInvalid(what, `it ends in line ${line} with ${open.length} brackets still open`);
  return whole;
}

/** @throws PDDL_UNFIT unless the term is a word */
export function wordOf(term: Term | undefined, what: string, role: string): string {
  if (typeof term === 'string') return term;
  throw pddlInvalid(what, `${role} should be a word, not ${shown(term)}`);
}

/** @throws PDDL_UNFIT unless the term is a list */
export function listOf(term: Term | undefined, what: string, role: string): TermList {
  if (Array.isArray(term)) return term;
  throw pddlInvalid(what, `${role} should be a list in brackets, not ${shown(term)}`);
}

const SHOWN = 60;

/** A term as it is written, cut short. */
export function shown(term: Term | undefined): string {
  const text = term === undefined ? 'nothing' : write(term);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}

function write(term: Term): string {
  return typeof term === 'string' ? term : `(${term.map(write).join(' ')})`;
}
