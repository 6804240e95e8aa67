// What recorded steps say of another: those most like it are carried over to its moment, and what most of them come to is the answer. What
// is seen, what it is worth and what can be done then are asked for one after the other, as different things speak for each.

import { LRUCache } from 'lru-cache';
import { placeOf, type ShownMoment } from '../../env/index.js';
import { Act, FACETS, type Moment, mentionsOf, OF_CHANGES, OF_SCORE, type Weights } from './act.js';
import { Atlas } from './atlas.js';
import { CommandBook } from './commands.js';
import { Mentions } from './phrases.js';
import type { RecordedStep } from './recorded-walks.js';
import { Retelling } from './retelling.js';
import { type Listing, listingOf, type Openings, openingsOf, SentenceReader } from './sentences.js';

/** Recorded steps that have a say. */
const VOICES = 6;
/** How much less a voice counts for each hundredth of likeness. */
const SHARPNESS = 20;

export interface Said {
  readonly after: ShownMoment;
  readonly observation: string;
  readonly isError: boolean;
  /** In (0, 1]: shares of the voices, times the likeness of the nearest. Not a probability before it is calibrated. */
  readonly evidence: number;
}

const READERS = 64;

/** A recorded step, ready to be compared. */
interface Case {
  readonly step: RecordedStep;
  readonly act: Act;
}

export class Casebook {
  private readonly byForm = new Map<string, Case[]>();
  private readonly byVerb = new Map<string, Case[]>();
  private readonly cases: readonly Case[];
  private readonly openings: Openings;
  private readonly listing: Listing;
  private readonly names: ReadonlySet<string>;
  /** Names as commands write them. */
  private readonly spelling: ReadonlyMap<string, string>;
  private readonly reader: SentenceReader;
  private readonly commands: CommandBook;
  private readonly atlas: Atlas;
  /** By the further names that they know. */
  private readonly readers = new LRUCache<string, SentenceReader>({ max: READERS });

  constructor(steps: readonly RecordedStep[]) {
    const moments = steps.flatMap(({ before, after }) => [before, after]);
    const texts = moments.flatMap((moment) => FACETS.map((facet) => [facet, moment[facet]] as const));
    this.openings = openingsOf(
      new Map(texts.map(([facet, text]) => [`${facet} ${text}`, [facet, text] as const])).values(),
    );
    this.listing = listingOf(new Set(texts.map(([, text]) => text)));
    this.spelling = new Map(steps.flatMap(({ before }) => namesOf(before)).map((name) => [name.toLowerCase(), name]));
    this.names = new Set(this.spelling.keys());
    this.reader = new SentenceReader(this.names);
    this.cases = steps.map((step) => ({ step, act: this.read(step.before, step.text, this.reader) }));
    for (const one of this.cases) {
      add(this.byForm, one.act.command.form, one);
      add(this.byVerb, verbOf(one.step.text), one);
    }
    const listed = new Map(this.cases.map(({ step: { before }, act }) => [momentKey(before), { before, act }]));
    this.commands = new CommandBook(
      [...listed.values()].map(({ before, act: { places } }) => {
        const texts = textsOf(before);
        return { commands: before.admissible.map((text) => texts.read(text)), places };
      }),
    );
    this.atlas = new Atlas(steps);
  }

  /** @param isKnown  false for what is to be left out; undefined answer: nothing like it was recorded */
  say(moment: Moment, text: string, isKnown: IsKnown = () => true): Said | undefined {
    const own = namesOf(moment).filter((name) => !this.names.has(name.toLowerCase()));
    const reader = this.readerOf(own);
    const asked = this.read(moment, text, reader);
    const changes = this.changes(asked, reader, isKnown);
    if (changes === undefined) return undefined;
    const worth = this.worth(asked, isKnown);
    const { observation, isError } = changes;
    const seen = { ...moment, ...changes.seen, ...worth.value };
    const admissible = seen.done ? [] : this.list(moment, seen, reader, isKnown);
    const { look, inventory, score, done, success } = seen;
    const after = { look, inventory, score, done, success, admissible };
    return { after, observation, isError, evidence: changes.evidence * worth.evidence };
  }

  /** One that knows further names. */
  private readerOf(own: readonly string[]): SentenceReader {
    if (own.length === 0) return this.reader;
    const key = [...new Set(own)].sort().join('\n');
    const known = this.readers.get(key) ?? new SentenceReader([...this.names, ...own]);
    this.readers.set(key, known);
    return known;
  }

  private read(moment: Moment, text: string, reader: SentenceReader): Act {
    return new Act(moment, text, textsOf(moment), { reader, openings: this.openings });
  }

  private near(asked: Act, weights: Weights, isKnown: IsKnown) {
    const { form, text } = asked.command;
    const known = (list: readonly Case[] = []) => list.filter(({ step }) => isKnown(step));
    let among = known(this.byForm.get(form));
    if (among.length === 0) among = known(this.byVerb.get(verbOf(text)));
    if (among.length === 0) among = known(this.cases);
    return among
      .map((one) => ({ ...one, likeness: asked.likeness(one.act, weights) }))
      .sort((a, b) => b.likeness - a.likeness);
  }

  /** What is seen and answered then: each text as those say it that can, the most alike first. */
  private changes(asked: Act, reader: SentenceReader, isKnown: IsKnown) {
    const near = this.near(asked, OF_CHANGES, isKnown).slice(0, MOST_TRIED);
    const carried = near.flatMap(({ step, act, likeness }) => {
      const theirs = act.command.names;
      const ours = asked.command.names;
      if (theirs.length !== ours.length) return [];
      const pairs = theirs.map((name, i) => [name, ours[i]] as const);
      const readers = { theirs: this.reader, ours: reader };
      const retelling = new Retelling({ pairs, ...readers, openings: this.openings, listing: this.listing });
      return [{ step, likeness, pairs, retelling }];
    });
    const voices = (tell: (one: (typeof carried)[number]) => string | undefined): Voice<string>[] => {
      const told: Voice<string>[] = [];
      for (const one of carried) {
        const value = told.length < VOICES ? tell(one) : undefined;
        if (value !== undefined) told.push({ value, likeness: one.likeness });
      }
      return told;
    };
    const { moment } = asked;
    const look = elected(
      voices(({ step, pairs, retelling }) =>
        placeOf(step.before.look) === placeOf(step.after.look)
          ? retelling.text('look', step.before.look, step.after.look, moment.look)
          : this.atlas.arrival(step, asked, pairs, isKnown),
      ),
      String,
    );
    const inventory = elected(
      voices(({ step: { before, after }, retelling }) =>
        retelling.text('inventory', before.inventory, after.inventory, moment.inventory),
      ),
      String,
    );
    if (look === undefined || inventory === undefined) return undefined;
    const seen = { look: look.value, inventory: inventory.value };
    const observation = elected(
      voices(({ step, retelling }) => answered(step, asked, seen) ?? retelling.told(step.observation)),
      String,
    )!;
    return {
      seen,
      observation: observation.value,
      isError: near[0].step.isError,
      evidence: Math.min(look.evidence, inventory.evidence, observation.evidence),
    };
  }

  /** What the score becomes, and whether the game ends with it. */
  private worth(asked: Act, isKnown: IsKnown) {
    const { score } = asked.moment;
    const voices = this.near(asked, OF_SCORE, isKnown)
      .slice(0, VOICES)
      .map(({ step, likeness }) => {
        const gain = rounded(step.after.score - step.before.score);
        return { value: { gain, isOver: step.after.done && !step.after.success, step }, likeness };
      });
    const { value, evidence } = elected(voices, ({ gain, isOver }) => `${Math.sign(gain)} ${isOver}`)!;
    const gain = value.gain > 0 ? (this.atlas.gainOf(asked.moment.task, isKnown) ?? value.gain) : value.gain;
    const next = value.isOver && value.gain < 0 ? value.step.after.score : this.atlas.scoreNear(score + gain);
    const success = next >= 1;
    return { value: { score: next, success, done: success || value.isOver }, evidence };
  }

  private list(moment: Moment, after: ShownMoment, reader: SentenceReader, isKnown: IsKnown) {
    const recorded = this.atlas.listed(moment.task, after, isKnown);
    if (recorded !== undefined) return recorded;
    const isElsewhere = placeOf(moment.look) !== placeOf(after.look);
    return this.commands.list({
      ...{ before: moment.admissible, isElsewhere, texts: textsOf(moment), spelling: this.spelling },
      from: mentionsOf(moment, reader, this.openings),
      to: mentionsOf(after, reader, this.openings),
    });
  }
}

/** Recorded steps that are tried at most, as most of those far down have nothing to say. */
const MOST_TRIED = 24;

type Seen = Pick<ShownMoment, (typeof FACETS)[number]>;

type IsKnown = (step: RecordedStep) => boolean;

interface Voice<T> {
  readonly value: T;
  readonly likeness: number;
}

/** What most voices say, those most alike first. */
function elected<T>(
  voices: readonly Voice<T>[],
  keyOf: (value: T) => string,
): (Voice<T> & { evidence: number }) | undefined {
  const answers = new Map<string, { weight: number; first: Voice<T> }>();
  let total = 0;
  for (const voice of voices) {
    const weight = Math.exp(SHARPNESS * (voice.likeness - voices[0].likeness));
    total += weight;
    const key = keyOf(voice.value);
    const answer = answers.get(key);
    if (answer === undefined) answers.set(key, { weight, first: voice });
    else answer.weight += weight;
  }
  const [best] = [...answers.values()].sort((a, b) => b.weight - a.weight);
  return best && { ...best.first, evidence: (best.weight / total) * best.first.likeness };
}

/** What was answered, where it is a text that both moments have: what is seen then, what is held, the goal. */
function answered({ observation, before, after }: RecordedStep, { moment }: Act, seen: Seen): string | undefined {
  const sources: [string, string][] = [
    [after.look, seen.look],
    [after.inventory, seen.inventory],
    [before.look, moment.look],
    [before.inventory, moment.inventory],
    [before.goal, moment.goal],
    [before.said, moment.said],
  ];
  const source = sources.find(([theirs]) => theirs.trim().length >= LEAST && observation.includes(theirs.trim()));
  return source && observation.replace(source[0].trim(), () => source[1].trim());
}

/** A shorter text is within another by chance. */
const LEAST = 12;

/** What commands name: those that are listed, and those that led here. */
function namesOf(moment: Moment): string[] {
  const texts = textsOf(moment);
  return [...new Set([...moment.admissible, ...moment.history])].flatMap((text) => texts.read(text).names);
}

const around = new WeakMap<Moment, Mentions>();

/** The texts around a command; read once for each moment. */
function textsOf(moment: Moment): Mentions {
  const known = around.get(moment) ?? new Mentions([moment.look, moment.inventory, moment.said]);
  around.set(moment, known);
  return known;
}

function momentKey({ task, look, inventory }: Moment): string {
  return [task, look, inventory].join('\u0000');
}

function verbOf(text: string): string {
  return text.split(' ', 1)[0];
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function add<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
