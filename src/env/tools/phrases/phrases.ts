// Speaks a phrase book: all that is chosen comes from the stream that is given, so equal streams say the same.

import type { JsonObject } from '../../../core/canonical-json.js';
import type { Rng } from '../../../core/rng.js';
import type { CallSpec, ToolsDomain } from '../domain.js';
import { type PhraseBook, type Rewording, wholly, withStandard } from './phrase-book.js';

export type Slots = Readonly<Record<string, string>>;

/** Ways within ways end somewhere: a name that leads back to itself stays as it is. */
const MOST_NESTED = 8;

export class Phrases {
  readonly book: PhraseBook;
  private readonly ids: string;

  private constructor({ phrases, initialState }: ToolsDomain) {
    this.book = withStandard(phrases);
    this.ids = JSON.stringify(initialState);
  }

  private static readonly known = new WeakMap<JsonObject, Map<PhraseBook | undefined, Phrases>>();

  /** Those of a domain, or the standard ones; made once. */
  static of(domain: ToolsDomain): Phrases {
    const known = Phrases.known.get(domain.initialState) ?? new Map<PhraseBook | undefined, Phrases>();
    Phrases.known.set(domain.initialState, known);
    const phrases = known.get(domain.phrases) ?? new Phrases(domain);
    known.set(domain.phrases, phrases);
    return phrases;
  }

  /** One way to say what `name` stands for. */
  say(name: string, slots: Slots, rng: Rng): string {
    return tidy(this.filled(`{${name}}`, slots, rng));
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
    for (const sentence of sentencesOf(text)) {
      const rule = this.ruleFor(sentence, by);
      const said = rule === undefined ? sentence : this.alternative(rule, sentence, rng).join(' ');
      const place = rule?.moves ? [front, middle, back][rng.int(3)] : middle;
      place.push(said);
    }
    return [tidy([...front, ...middle, ...back].join(' '))];
  }

  /** What a call does, in words, before (`todo`) or after it; undefined where the book has none. */
  deed({ name, arguments: given }: CallSpec, tense: 'todo' | 'done', rng: Rng): string | undefined {
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

  /** Whether a tool's answer says that nothing was done. */
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

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?])\s+/);
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
