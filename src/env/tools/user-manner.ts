// Difficult users: a share of their turns is short, vague, impatient or withholding, drawn by seed and turn.

import { Rng } from '../../core/rng.js';

const MANNERS = ['short', 'vague', 'impatient', 'withholding'] as const;
export type Manner = (typeof MANNERS)[number];

/** Instructions to the model for a turn in this manner. */
export const MANNER_TEXTS: Readonly<Record<Manner, string>> = {
  short: 'Answer in five words at most.',
  vague: 'Be vague this time: leave out ids and figures, and speak of things only roughly, until you are asked again.',
  impatient: 'You are losing patience, and say so. Answer all the same.',
  withholding: 'Hold back details that you were not asked for by name; ask what they are needed for.',
};

/** Replies in place of an answer, which follows when the agent asks again. */
const STALLING: Readonly<Partial<Record<Manner, string>>> = {
  vague: 'Well, it is about what I said. What exactly do you need?',
  withholding: 'Why do you need that? Please say exactly what you want to know.',
};
const HURRY = 'Please hurry up, this takes too long already.';

/** The manner of a turn; undefined if it is plain. `friction`: the share of turns with a manner. */
export function mannerOf(seed: number, turn: number, friction: number): Manner | undefined {
  if (friction <= 0) return undefined;
  const rng = Rng.fromSeed(seed).split('user-manner', turn);
  return rng.uniform() < friction ? MANNERS[rng.int(MANNERS.length)] : undefined;
}

/** A script's line in a manner; `isStalling`: the line itself follows later, so that nothing is lost. */
export function inManner(
  line: string,
  manner: Manner | undefined,
): { readonly say: string; readonly isStalling: boolean } {
  const stalling = manner && STALLING[manner];
  if (stalling !== undefined) return { say: stalling, isStalling: true };
  const polite = /(?:^|(?<=[.!?] ))(?:hello|hi|thanks|thank you|sure|of course|please)\b[^.!?]{0,20}[.!?,] ?/gi;
  const short = manner === 'short' ? line.replace(polite, '').trim() : line;
  return { say: manner === 'impatient' ? `${line} ${HURRY}` : short || line, isStalling: false };
}

export const GIVES_UP = 'I have no more time for this. I will try elsewhere. Goodbye.';
