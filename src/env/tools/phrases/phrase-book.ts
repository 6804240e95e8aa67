// How people and agents of a domain put things, the file phrases.yaml of a domain: ways to say the same, what arguments are
// called, what calls do in words, what a user may ask on the side. Data alone; `phrases.ts` speaks it.

import { z } from 'zod';
import type { JsonObject } from '../../../core/canonical-json.js';
import { ENGLISH } from './english.js';

/** A text in which `{name}` stands for another way of the grammar, or for what is being spoken of. */
const text = z.string();
const texts = z.array(text).min(1);
const expression = z.string().min(1).describe('regular expression of the whole text');
const call = { name: z.string().min(1), arguments: z.record(z.string(), z.json()).default({}) };

export const phrasesFileSchema = z.strictObject({
  /** Names of the grammar; those that are given here take the place of the standard ones. */
  ways: z.record(z.string(), texts).default({}),
  /** What an argument of a call is called when the user is asked for it. */
  arguments: z.record(z.string(), texts).default({}),
  /** What is said, a text or a sentence of it, and how else it may be said; named groups are names in `as`. */
  rewordings: z
    .array(
      z.strictObject({
        says: expression,
        by: z.enum(['user', 'agent']).optional(),
        as: z.array(z.union([text, z.array(text).min(2)])).min(1),
        moves: z.boolean().optional(),
      }),
    )
    .default([]),
  /** Calls in words: what is going to be done (`todo`) and what was done (`done`); values of arguments are expressions. */
  deeds: z
    .array(
      z.strictObject({
        name: call.name,
        arguments: z.record(z.string(), expression).default({}),
        todo: texts.optional(),
        done: texts.optional(),
      }),
    )
    .default([]),
  /** What the agent answers to something that a user says beside the matter. */
  replies: z.array(z.strictObject({ to: expression, say: texts })).default([]),
  /** What a user may ask on the side; each is answered by one of `replies`. */
  asides: z.array(text).default([]),
  /** Calls that an agent may make to look around; `{name}` is an argument of that name of the solution, `{/collection}` a key of the state. */
  detours: z.array(z.strictObject(call)).default([]),
  /** Whether the opening of a task is the world's narration and not the user's words: then it is said as it is written. */
  narratedOpening: z.boolean().default(false),
  /** Answers of tools by which nothing was done, where they are no errors. */
  refusals: z.array(expression).default([]),
});

export type PhraseBook = z.output<typeof phrasesFileSchema>;
export type Rewording = PhraseBook['rewordings'][number];

/** What is spoken of, by the places that speak. */
const SLOTS = ['text', 'what', 'deed', 'report', 'value', 'problem'];

/** The standard ways, with those of a domain in their place. */
export function withStandard(book: PhraseBook | undefined): PhraseBook {
  const own = book ?? phrasesFileSchema.parse({});
  return { ...own, ways: { ...ENGLISH, ...own.ways } };
}

/** What is wrong with a book, in one sentence; undefined: nothing. */
export function problemOfPhrases(book: PhraseBook): string | undefined {
  const { ways, rewordings, deeds, replies, asides, refusals } = withStandard(book);
  const written = [
    ...rewordings.map(({ says }) => says),
    ...deeds.flatMap((deed) => Object.values(deed.arguments)),
    ...replies.map(({ to }) => to),
    ...refusals,
  ];
  for (const pattern of written) {
    try {
      wholly(pattern);
    } catch (error) {
      return (error as Error).message;
    }
  }
  const known = new Set([...Object.keys(ways), ...SLOTS]);
  const uses: (readonly [string, readonly string[], readonly string[]])[] = [
    // A way may be spoken of within a rewording, with its groups.
    ...Object.entries(ways).map(([name, all]) => [`ways.${name}`, all, written.flatMap(groupsOf)] as const),
    ...rewordings.map(({ says, as }) => [`the rewording of /${says}/`, as.flat(), groupsOf(says)] as const),
    ...replies.map(({ to, say }) => [`the reply to /${to}/`, say, groupsOf(to)] as const),
    ...deeds.map((deed) => {
      const groups = Object.values(deed.arguments).flatMap(groupsOf);
      return [`the deed ${deed.name}`, [...(deed.todo ?? []), ...(deed.done ?? [])], groups] as const;
    }),
  ];
  for (const [where, all, groups] of uses) {
    const unknown = all.flatMap(namesIn).find((name) => !known.has(name) && !groups.includes(name));
    if (unknown !== undefined) return `${where}: nothing is called {${unknown}}`;
  }
  const lonely = asides.find((aside) => !replies.some(({ to }) => wholly(to, 'i').test(aside)));
  return lonely === undefined ? undefined : `asides: no reply answers "${lonely}"`;
}

/** Names that a text has places for; `{name~}` is a slip of the pen in `{name}`. */
function namesIn(written: string): string[] {
  return [...written.matchAll(/\{([^{}~]+)~?\}/g)].map(([, name]) => name);
}

function groupsOf(pattern: string): string[] {
  return [...pattern.matchAll(/\(\?<(\w+)>/g)].map(([, name]) => name);
}

const compiled = new Map<string, RegExp>();

/** The expression, to match a text as a whole; with flag `i` without case. */
export function wholly(pattern: string, flags: '' | 'i' = ''): RegExp {
  const key = `${flags}/${pattern}`;
  const known = compiled.get(key) ?? new RegExp(`^(?:${pattern})$`, flags);
  compiled.set(key, known);
  return known;
}

/** Strings within JSON, each changed. */
export function mapTexts(value: JsonObject, change: (text: string) => string): JsonObject {
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? change(part) : part)) as JsonObject;
}
