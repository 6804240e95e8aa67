// Lessons as documents of a decoder's training. The steps of an episode, as long as each prompt goes on from the one before, are one
// document: what was read is computed once, and each command is a target. What lies between counts for nothing.

import {
  type Choices,
  layOut,
  type PackedBatch,
  type PackedShape,
  planRows,
  spread,
  spreadChoices,
  type TrainingBatch,
} from '../../../nn/index.js';
import type { TextLesson } from '../text-policy.js';
import type { PER_DECISION, PER_TOKEN } from './policy-loss.js';
import { type Path, pathOf, type Transcript } from './transcript.js';
import type { WrittenTexts } from './writing.js';

interface Taught {
  readonly lesson: TextLesson;
  readonly path: Path;
  /** Place of the command's first token. */
  readonly start: number;
}

export interface LessonDocument {
  readonly tokens: readonly number[];
  readonly taught: readonly Taught[];
}

/**
 * Documents of the lessons, and of each lesson the document it is in.
 * @param texts what is written, where the policy writes
 * @throws TEXT_WRITING_UNFIT, and as `Transcript.offer`
 */
export function documentsOf(
  lessons: readonly TextLesson[],
  transcript: Transcript,
  texts?: WrittenTexts,
): { documents: LessonDocument[]; owners: number[] } {
  const documents: { tokens: number[]; taught: Taught[] }[] = [];
  const owners = lessons.map((lesson) => {
    const { path, longest } = texts === undefined ? chosen(lesson, transcript) : written(lesson, texts);
    const { tokens } = transcript.prompt(lesson.situation, longest);
    const taught = { lesson, path, start: tokens.length };
    const last = documents.at(-1);
    if (last !== undefined && isBeginning(last.tokens, tokens)) {
      last.tokens.push(...tokens.slice(last.tokens.length), ...path.tokens);
      last.taught.push(taught);
    } else {
      documents.push({ tokens: [...tokens, ...path.tokens], taught: [taught] });
    }
    return documents.length - 1;
  });
  return { documents, owners };
}

/** The way to what was chosen, and the room that was kept for any choice. */
interface Way {
  readonly path: Path;
  readonly longest: number;
}

function chosen({ situation, choice }: TextLesson, transcript: Transcript): Way {
  const offer = transcript.offer(situation);
  return { path: pathOf(offer, choice), longest: offer.longest };
}

function written(lesson: TextLesson, texts: WrittenTexts): Way {
  return { path: texts.path(lesson), longest: texts.room };
}

function isBeginning(shorter: readonly number[], longer: readonly number[]): boolean {
  return shorter.length < longer.length && shorter.every((token, i) => token === longer[i]);
}

export interface LessonBatch {
  readonly batch: TrainingBatch;
  readonly lessons: number;
}

export interface BatchOptions {
  readonly shape: PackedShape;
  /** Most choices of a token. */
  readonly choices: number;
  /** The order in which documents are taken. */
  readonly order: readonly number[];
  /** Log-probabilities under the reference, of a document's tokens but the first; absent: they count for nothing. */
  readonly reference?: readonly Float32Array[];
  readonly hasCritic: boolean;
}

/** Batches of gradient steps. @throws CONTEXT_TOO_LONG, DECODER_INPUT_INVALID for a token with more choices */
export function lessonBatches(documents: readonly LessonDocument[], options: BatchOptions): LessonBatch[] {
  const { shape, order } = options;
  const plans = planRows(
    documents.map(({ tokens }) => tokens.length),
    order,
    shape,
  );
  const training = documents.map(weighted);
  const batches: LessonBatch[] = [];
  for (let start = 0; start < plans.length; start += shape.rows) {
    const packed = layOut(training, plans.slice(start, start + shape.rows), shape);
    const lessons = packed.places.reduce((sum, { document }) => sum + documents[document].taught.length, 0);
    batches.push({ batch: filled(documents, packed, lessons, options), lessons });
  }
  return batches;
}

function weighted(document: LessonDocument): { tokens: readonly number[]; weights: Float32Array } {
  const weights = new Float32Array(document.tokens.length);
  weights.set(
    overTokens(document, ({ lesson: { weight = 1 } }) => weight),
    1,
  );
  return { tokens: document.tokens, weights };
}

function filled(
  documents: readonly LessonDocument[],
  packed: PackedBatch,
  lessons: number,
  { shape, choices, reference, hasCritic }: BatchOptions,
): TrainingBatch {
  const tokens = (value: (taught: Taught, term: number) => number) =>
    spread(packed, shape, (document) => overTokens(documents[document], value));
  const decisions = (value: (lesson: TextLesson) => number) =>
    spread(packed, shape, (document) => overDecisions(documents[document], value));
  const nothing = () => new Float32Array(packed.tokens.length);
  const perToken: Record<(typeof PER_TOKEN)[number], Float32Array> = {
    old: tokens(({ lesson }, term) => lesson.terms?.[term] ?? 0),
    reference: reference === undefined ? nothing() : spread(packed, shape, (document) => reference[document]),
    advantage: tokens(({ lesson }) => lesson.advantage ?? 0),
    imitated: tokens(({ lesson }) => (isOwn(lesson) ? 0 : 1)),
    share: tokens(({ path }) => 1 / path.choices.filter(isOpen).length),
  };
  const weightOf = ({ weight = 1 }: TextLesson) => weight;
  const perDecision: Partial<Record<(typeof PER_DECISION)[number], Float32Array>> = hasCritic
    ? {
        target: decisions(({ target = 0 }) => target),
        valued: decisions((lesson) => (isOwn(lesson) && lesson.target !== undefined ? weightOf(lesson) : 0)),
      }
    : {};
  return {
    ...packed,
    perToken: { ...perToken, ...perDecision },
    perStep: { lessons: Float32Array.of(lessons) },
    choices: spreadChoices(packed, shape, choices, (document) => choicesOf(documents[document])),
  };
}

const isOpen = (choices: readonly number[]) => choices.length > 1;

function isOwn({ logProb }: TextLesson): boolean {
  return logProb !== undefined;
}

/** Of each token but the first: what could have stood in its place, where that was one of several. */
export function choicesOf({ tokens, taught }: LessonDocument): Choices[] {
  const choices: Choices[] = new Array(tokens.length - 1).fill(undefined);
  for (const { start, path } of taught) {
    path.choices.forEach((allowed, i) => {
      if (isOpen(allowed)) choices[start + i - 1] = allowed;
    });
  }
  return choices;
}

/** Log-probability of each command of a document, of those of its tokens but the first: a sum over those of which there was a choice. */
export function commandLogProbs({ taught }: LessonDocument, logProbs: Float32Array): number[] {
  return taught.map(({ start, path }) =>
    path.choices.reduce((sum, allowed, i) => (isOpen(allowed) ? sum + logProbs[start + i - 1] : sum), 0),
  );
}

/** Of each token but the first: a number where there was a choice, by its place among these; else 0. */
function overTokens({ tokens, taught }: LessonDocument, value: (taught: Taught, term: number) => number): Float32Array {
  const out = new Float32Array(tokens.length - 1);
  for (const one of taught) {
    let term = 0;
    one.path.choices.forEach((allowed, i) => {
      if (isOpen(allowed)) out[one.start + i - 1] = value(one, term++);
    });
  }
  return out;
}

/** Of each token but the first: a number where a command begins; else 0. */
function overDecisions({ tokens, taught }: LessonDocument, value: (lesson: TextLesson) => number): Float32Array {
  const out = new Float32Array(tokens.length - 1);
  for (const { start, lesson } of taught) out[start - 1] = value(lesson);
  return out;
}
