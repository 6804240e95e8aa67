// A command in the moment that it is said in, and what of it tells one from another.

import { placeOf, type ShownMoment } from '../../env/index.js';
import { type Mentions, type ReadCommand, wordsOf } from './phrases.js';
import { nameOf, type Openings, type SentenceReader, sentencesOf } from './sentences.js';

/** What there is to know when a command is said. */
export interface Moment extends ShownMoment {
  readonly task: string;
  readonly goal: string;
  /** What was answered last. */
  readonly said: string;
  readonly history: readonly string[];
  readonly left: { readonly [place: string]: string };
  readonly admissible: readonly string[];
}

/** What texts are told apart as. */
export const FACETS = ['look', 'inventory'] as const;

/** Where a moment's texts mention each name: the words around it, with other lists left out. */
export type Places = ReadonlyMap<string, string>;

export function mentionsOf(
  moment: Pick<ShownMoment, (typeof FACETS)[number]>,
  reader: SentenceReader,
  openings: Openings,
): Places {
  const found = new Map<string, Set<string>>();
  for (const facet of FACETS) {
    for (const { content } of sentencesOf(moment[facet], facet, openings)) {
      const { parts, lists } = reader.sentence(content);
      lists.forEach((items, i) => {
        const left = around(parts.slice(0, i + 1)).slice(-AROUND);
        const right = around(parts.slice(i + 1)).slice(0, AROUND);
        const where = `${facet}: ${left.join(' ')} | ${right.join(' ')}`;
        for (const item of items) {
          const name = nameOf(item).toLowerCase();
          found.set(name, (found.get(name) ?? new Set()).add(where));
        }
      });
    }
  }
  return new Map([...found].map(([name, where]) => [name, [...where].sort().join('; ')]));
}

/** Sentences that a shape is made of. */
const SHAPE = 4;

/** Words on either side of a name. */
const AROUND = 3;

function around(parts: readonly string[]): string[] {
  return parts.flatMap((part, i) => [...(i > 0 ? ['_'] : []), ...wordsOf(part)]);
}

/** What is compared, each a text; where both are the same it counts, by its weight. */
const FEATURES = [
  'task',
  'text',
  'where',
  'told',
  'asked',
  'again',
  'before',
  'held',
  'place',
  'score',
  'hands',
] as const;
type Feature = (typeof FEATURES)[number];
export type Weights = Readonly<Record<Feature, number>> & { readonly look: number };

/** Of what a command does to what is seen. */
export const OF_CHANGES: Weights = {
  ...{ task: 3, text: 2, where: 6, told: 2, asked: 0.5, again: 0.5, before: 0.5, held: 0.5, place: 2, score: 0.5 },
  ...{ hands: 4, look: 2 },
};

/** Of what it is worth. */
export const OF_SCORE: Weights = {
  ...{ task: 3, text: 4, where: 3, told: 5, asked: 2, again: 2, before: 0.5, held: 1.5, place: 0.5, score: 1.5 },
  ...{ hands: 0.5, look: 1 },
};

export class Act {
  readonly command: ReadCommand;
  readonly places: Places;
  readonly features: Readonly<Record<Feature, string>>;
  private readonly seen: ReadonlySet<string>;

  constructor(
    readonly moment: Moment,
    text: string,
    texts: Mentions,
    { reader, openings }: { readonly reader: SentenceReader; readonly openings: Openings },
  ) {
    this.command = texts.read(text);
    this.places = mentionsOf(moment, reader, openings);
    this.seen = new Set(sentencesOf(moment.look, 'look', openings).map(({ content }) => content));
    this.features = this.described(reader, openings);
  }

  /** From 0 to 1: how much speaks for the same happening. */
  likeness(other: Act, weights: Weights): number {
    let [sum, total] = [weights.look * this.overlap(other), weights.look];
    for (const feature of FEATURES) {
      total += weights[feature];
      if (this.features[feature] === other.features[feature]) sum += weights[feature];
    }
    return sum / total;
  }

  private overlap({ seen }: Act): number {
    let both = 0;
    for (const one of this.seen) if (seen.has(one)) both++;
    return both / (this.seen.size + seen.size - both || 1);
  }

  /** A text without the things in it, up to a few sentences. */
  private shapeOf(text: string, reader: SentenceReader, openings: Openings): string {
    const sentences = sentencesOf(text, 'inventory', openings).slice(0, SHAPE);
    return sentences.map(({ content }) => reader.sentence(content).parts.join('_')).join('\n');
  }

  private described(reader: SentenceReader, openings: Openings): Record<Feature, string> {
    const { moment, command, places } = this;
    const { names, text } = command;
    const said = ` ${wordsOf(moment.said).join(' ')} `;
    const goal = ` ${wordsOf(moment.goal).join(' ')} `;
    const isIn = (where: string) => (name: string) => (where.includes(` ${wordsOf(name).join(' ')} `) ? '1' : '0');
    const isTold = said.trim() !== ` ${wordsOf(moment.look).join(' ')} `.trim();
    return {
      task: moment.task,
      text,
      where: names.map((name) => places.get(name.toLowerCase()) ?? 'nowhere').join(' & '),
      told: isTold ? [text, ...names].map(isIn(said)).join('') : '',
      asked: [text, ...names].map(isIn(goal)).join(''),
      again: String(moment.history.includes(text)),
      before: moment.history.at(-1)?.split(' ')[0] ?? '',
      held: moment.inventory,
      place: `${moment.task} ${placeOf(moment.look)}`,
      score: String(moment.score),
      hands: this.shapeOf(moment.inventory, reader, openings),
    };
  }
}
