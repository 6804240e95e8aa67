// A user without a language model: says the lines of the task's script, in an order that depends only on what it is told.

import { LRUCache } from 'lru-cache';
import { NO_COST } from '../../core/cost.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { matchesInTime } from '../state/state.js';
import type { ToolsDomain, ToolsTask, UserSpec } from './domain.js';
import { spokenMessages } from './message.js';
import { Phrases } from './phrases.js';
import type { UserQuery, UserSimulator, UserTurn } from './tools-family.js';
import { inManner, mannerOf } from './user-manner.js';

/** Said once to a message that no line of the script fits; at the next such message the user leaves. */
export const NOTHING_TO_ADD = 'I have nothing to add to that. Please go on with what I asked for.';
export const FAREWELL = 'That is all from me. Thank you, goodbye.';

/**
 * Opens with the task's opening, or else its goal. Each message of the agent is answered by the first line that fits it
 * and was not said before; where none fits, by `NOTHING_TO_ADD`, and the next time by `FAREWELL`, which ends it.
 */
export class ScriptedUser implements UserSimulator {
  readonly version: string;

  /**
   * @param varied whether to rephrase the lines with the domain's phrases, as another user for each seed
   * @param friction share of turns in which the user is short, vague, impatient or withholding
   */
  constructor(
    private readonly varied = false,
    private readonly friction = 0,
  ) {
    this.version = `scripted-1${varied ? ', varied' : ''}${friction > 0 ? `, friction ${friction}` : ''}`;
  }

  open({ domain, task, seed }: UserQuery): UserTurn {
    const opening = this.varied ? variedUser(domain, task, seed).opening : task.user.opening;
    return { content: opening ?? task.user.goal, done: false, cost: NO_COST };
  }

  /** @throws DOMAIN_FILE_INVALID if a `when` of the script is no regular expression or takes too long */
  reply({ domain, task, messages, seed, calls }: UserQuery): UserTurn {
    const script = this.varied ? variedUser(domain, task, seed).script : (task.user.script ?? []);
    const left = [...agreements(task), ...script, { say: NOTHING_TO_ADD }, { say: FAREWELL, done: true }];
    let line: ScriptLine = left[left.length - 1];
    for (const [turn, { content }] of spokenMessages(messages)
      .filter(({ role }) => role === 'assistant')
      .entries()) {
      const at = left.findIndex(({ when }) => when === undefined || matches(when, content, task));
      if (at < 0) continue;
      const found = left[at];
      const { say, isStalling } = inManner(found.say, found.done ? undefined : mannerOf(seed, turn, this.friction));
      line = isStalling ? { say } : { ...found, say };
      if (!isStalling) left.splice(at, 1);
    }
    if (line.calls !== undefined && calls === undefined)
      return { content: '', done: false, calls: line.calls, cost: NO_COST };
    const content = line.say.replaceAll('{answer}', () => calls?.at(-1)?.answer ?? '');
    return { content, done: line.done ?? false, cost: NO_COST };
  }
}

/** Agrees to proposals of calls that need consent, as often as the reference makes the call. */
function agreements({ verifier: { confirmed = [] }, reference }: ToolsTask): readonly ScriptLine[] {
  const calls = reference?.calls.filter(({ name }) => confirmed.includes(name)) ?? [];
  return calls.map(() => ({ when: ASKED_TO_CONFIRM, say: 'Yes, please.' }));
}

const MATCHED_CHARACTERS = 20_000;

/** Words and choices between them, with no repetition, no reference and few groups, are tried once at each place. */
const CANNOT_BACKTRACK =
  /^(?=.{0,200}$)(\\[bBdDwWsS]|[\w\s|,.;:!'"#%&@/-])*(\((?:\\[bBdDwWsS]|[\w\s|,.;:!'"#%&@/-])*\)(\\[bBdDwWsS]|[\w\s|,.;:!'"#%&@/-])*){0,2}$/;
const simple = new LRUCache<string, RegExp>({ max: 1_000 });

function matches(pattern: string, text: string, task: ToolsTask): boolean {
  const known = simple.get(pattern) ?? (CANNOT_BACKTRACK.test(pattern) ? new RegExp(pattern, 'i') : undefined);
  const read = text.slice(0, MATCHED_CHARACTERS);
  if (known !== undefined) {
    simple.set(pattern, known);
    return known.test(read);
  }
  try {
    return matchesInTime(pattern, 'i', read);
  } catch (failure) {
    const problem = `task ${task.id}, the script's /${pattern}/ cannot be used: ${(failure as Error).message}`;
    const hint = 'Give "when" a simple regular expression, without repetitions of repetitions.';
    throw reverieError('DOMAIN_FILE_INVALID', { problem: `Domain file "tasks": ${problem}`, hint }, failure);
  }
}

type ScriptLine = NonNullable<UserSpec['script']>[number];

/** How often a user asks something on the side before they leave, where the phrases know of anything to ask. */
const ASIDE_SHARE = 0.3;
/** How often a user writes without capitals and full stops. */
const CASUAL_SHARE = 0.12;

const ASKED_TO_CONFIRM = 'shall i|should i|do you want me to';

/** The same domain, task and seed: the same user. */
export function variedUser(
  domain: ToolsDomain,
  task: ToolsTask,
  seed: number,
): { readonly opening: string; readonly script: readonly ScriptLine[] } {
  const phrases = Phrases.of(domain);
  const rng = Rng.fromSeed(seed).split('varied user');
  const written = rng.split('style').uniform() < CASUAL_SHARE ? casual : (text: string) => text;
  const framed = () => {
    const [text] = phrases.reworded(task.user.opening ?? task.user.goal, 'user', rng.split('opening'));
    return written(phrases.say('opening', { text }, rng.split('frame')));
  };
  const lines = (task.user.script ?? []).flatMap((line, at) => {
    const said = phrases.reworded(line.say, 'user', rng.split('line', at));
    return said.map((say, part) => {
      const { calls, ...spoken } = line;
      const own = calls !== undefined && part === 0 && { calls };
      return { ...spoken, ...own, say: written(say), done: line.done && part === said.length - 1 };
    });
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
