// What one user of a task says, drawn from the domain's phrases: the task's opening and script in other words, now and then with
// a number mistyped and put right, half an answer, or a question on the side.

import { Rng } from '../../../core/rng.js';
import type { ToolsDomain, ToolsTask, UserSpec } from '../domain.js';
import { Phrases } from './phrases.js';

export type ScriptLine = NonNullable<UserSpec['script']>[number];

/** How often a user asks something on the side before they leave, where the phrases know of anything to ask. */
const ASIDE_SHARE = 0.3;
/** How often a user writes without capitals and full stops. */
const CASUAL_SHARE = 0.12;

const ASKED_TO_CONFIRM = 'shall i|should i|do you want me to';

export interface VariedUser {
  readonly opening: string;
  readonly script: readonly ScriptLine[];
}

/** The same domain, task and seed: the same user. */
export function variedUser(domain: ToolsDomain, task: ToolsTask, seed: number): VariedUser {
  const phrases = Phrases.of(domain);
  const rng = Rng.fromSeed(seed).split('varied user');
  const written = rng.split('style').uniform() < CASUAL_SHARE ? casual : (text: string) => text;
  const framed = () => {
    const [text] = phrases.reworded(task.user.opening ?? task.user.goal, 'user', rng.split('opening'));
    return written(phrases.say('opening', { text }, rng.split('frame')));
  };
  const lines = (task.user.script ?? []).flatMap((line, at) => {
    const said = phrases.reworded(line.say, 'user', rng.split('line', at));
    return said.map((say, part) => ({ ...line, say: written(say), done: line.done && part === said.length - 1 }));
  });
  const agreed = { when: ASKED_TO_CONFIRM, say: written(phrases.say('agreed', {}, rng.split('agreed'))) };
  return {
    opening: phrases.book.narratedOpening && task.user.opening ? task.user.opening : framed(),
    script: [agreed, ...withAside(lines, phrases, rng.split('aside'), written)],
  };
}

/** A question before the first line that ends the conversation, in its place. */
function withAside(
  lines: readonly ScriptLine[],
  { book: { asides } }: Phrases,
  rng: Rng,
  written: (text: string) => string,
): readonly ScriptLine[] {
  const last = lines.findIndex(({ done }) => done);
  if (asides.length === 0 || last < 0 || rng.uniform() >= ASIDE_SHARE) return lines;
  const aside = { when: lines[last].when, say: written(asides[rng.int(asides.length)]) };
  return [...lines.slice(0, last), aside, ...lines.slice(last)];
}

/** As somebody types in a hurry; ids keep their letters. */
function casual(text: string): string {
  const words = text
    .split(' ')
    .map((word) => (/\d/.test(word) || /^[A-Z]+\W?$/.test(word) ? word : word.toLowerCase()));
  return words.join(' ').replace(/\.$/, '');
}
