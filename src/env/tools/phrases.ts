// How people and agents of a domain put things, the file phrases.yaml of a domain: ways to say the same, what arguments are
// called, what calls do in words, what a user may ask on the side.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import { packageRoot } from '../../core/packs.js';
import type { Rng } from '../../core/rng.js';

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

interface SpokenDomain {
  readonly phrases?: PhraseBook;
  readonly initialState: JsonObject;
}

type Rewording = PhraseBook['rewordings'][number];

/** What is spoken of, by the places that speak. */
const SLOTS = ['text', 'what', 'deed', 'report', 'value', 'problem'];

let english: PhraseBook['ways'] | undefined;

/** The standard ways, with those of a domain in their place. */
function withStandard(book: PhraseBook | undefined): PhraseBook {
  english ??= (parse(readFileSync(join(packageRoot(), 'data/phrases.yaml'), 'utf8')) as PhraseBook).ways;
  const own = book ?? phrasesFileSchema.parse({});
  return { ...own, ways: { ...english, ...own.ways } };
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
  try {
    for (const pattern of written) wholly(pattern);
  } catch (error) {
    return (error as Error).message;
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
function wholly(pattern: string, flags: '' | 'i' = ''): RegExp {
  const key = `${flags}/${pattern}`;
  const known = compiled.get(key) ?? new RegExp(`^(?:${pattern})$`, flags);
  compiled.set(key, known);
  return known;
}

/** Strings within JSON, each changed. */
export function mapTexts(value: JsonObject, change: (text: string) => string): JsonObject {
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? change(part) : part)) as JsonObject;
}

export type Slots = Readonly<Record<string, string>>;

/** Ways within ways end somewhere: a name that leads back to itself stays as it is. */
const MOST_NESTED = 8;

const known = new WeakMap<JsonObject, Phrases>();

export class Phrases {
  readonly book: PhraseBook;
  private readonly ids: string;

  private constructor(private readonly domain: SpokenDomain) {
    this.book = withStandard(domain.phrases);
    this.ids = JSON.stringify(domain.initialState);
  }

  /** Those of a domain, or the standard ones; made once. */
  static of(domain: SpokenDomain): Phrases {
    const before = known.get(domain.initialState);
    if (before !== undefined && before.domain.phrases === domain.phrases) return before;
    const phrases = new Phrases(domain);
    known.set(domain.initialState, phrases);
    return phrases;
  }

  say(name: string, slots: Slots, rng: Rng): string {
    return this.fill(`{${name}}`, slots, rng);
  }

  /** A text of the book, or one of the user's or agent's, with its names replaced. */
  fill(text: string, slots: Slots, rng: Rng): string {
    return tidy(this.filled(text, slots, rng));
  }

  /** The same, said in another way: one text, or several to be said one after the other. */
  reworded(text: string, by: 'user' | 'agent', rng: Rng): readonly string[] {
    const whole = this.ruleFor(text, by);
    if (whole !== undefined) return this.alternative(whole, text, rng);
    const front: string[] = [];
    const middle: string[] = [];
    const back: string[] = [];
    for (const sentence of text.split(/(?<=[.!?])\s+/)) {
      const rule = this.ruleFor(sentence, by);
      const said = rule === undefined ? sentence : this.alternative(rule, sentence, rng).join(' ');
      const place = rule?.moves ? [front, middle, back][rng.int(3)] : middle;
      place.push(said);
    }
    return [tidy([...front, ...middle, ...back].join(' '))];
  }

  /** What a call does, in words, before (`todo`) or after it; undefined where the book has none. */
  deed(
    { name, arguments: given }: { readonly name: string; readonly arguments: JsonObject },
    tense: 'todo' | 'done',
    rng: Rng,
  ): string | undefined {
    for (const deed of this.book.deeds) {
      const ways = deed[tense];
      if (deed.name !== name || ways === undefined) continue;
      const found = Object.entries(deed.arguments).map(([key, value]) => wholly(value).exec(String(given[key] ?? '')));
      if (found.some((match) => match === null)) continue;
      const groups = Object.assign({}, ...found.map((match) => match?.groups ?? {})) as Slots;
      return this.filled(ways[rng.int(ways.length)], groups, rng);
    }
    return undefined;
  }

  /** What the agent answers to what a user says beside the matter; undefined where the book has no reply. */
  reply(said: string, rng: Rng): string | undefined {
    const reply = this.book.replies.find(({ to }) => wholly(to, 'i').test(said));
    if (reply === undefined) return undefined;
    const groups = wholly(reply.to, 'i').exec(said)?.groups ?? {};
    return this.fill(reply.say[rng.int(reply.say.length)], groups, rng);
  }

  /** What an argument is called; by default its name, in words. */
  argument(name: string, rng: Rng): string {
    const ways = this.book.arguments[name] ?? [name.replaceAll('_', ' ')];
    return ways[rng.int(ways.length)];
  }

  isRefusal(answer: string): boolean {
    return this.book.refusals.some((pattern) => wholly(pattern).test(answer));
  }

  /** The id with two neighbouring digits exchanged or one mistaken, so that it names nothing that exists. */
  slip(id: string, rng: Rng): string {
    const digits = [...id.matchAll(/\d/g)].map(({ index }) => index);
    if (digits.length === 0) return id;
    for (let trial = 0; trial < 8; trial++) {
      const at = digits[rng.int(digits.length)];
      const slipped = id.slice(0, at) + ((Number(id[at]) + 1 + rng.int(9)) % 10) + id.slice(at + 1);
      if (!this.ids.includes(slipped)) return slipped;
    }
    return `${id}${rng.int(10)}`;
  }

  private ruleFor(text: string, by: 'user' | 'agent'): Rewording | undefined {
    return this.book.rewordings.find((rule) => (rule.by ?? by) === by && wholly(rule.says).test(text));
  }

  private alternative({ says, as }: Rewording, text: string, rng: Rng): readonly string[] {
    const groups = { text, ...wholly(says).exec(text)?.groups };
    const chosen = [as[rng.int(as.length)]].flat();
    const slips = rng.split('slip');
    return chosen.map((way) => {
      const slipped = way.replaceAll(/\{(\w+)~\}/g, (_, name: string) =>
        this.slip(groups[name as 'text'] ?? '', slips),
      );
      return this.fill(slipped, groups, rng);
    });
  }

  private filled(text: string, slots: Slots, rng: Rng, depth = 0): string {
    return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => {
      if (Object.hasOwn(slots, name)) return slots[name];
      const ways = this.book.ways[name];
      if (ways === undefined || depth >= MOST_NESTED) return place;
      return this.filled(ways[rng.int(ways.length)], slots, rng, depth + 1);
    });
  }
}

/** One space between words, none before a stop, a capital after a full stop. */
function tidy(text: string): string {
  const spaced = text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.,;:!?])/g, '$1')
    .trim();
  return spaced.replaceAll(
    /(^|[.!?] )(\p{Ll})/gu,
    (_, before: string, letter: string) => before + letter.toUpperCase(),
  );
}
