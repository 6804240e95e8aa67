// One question asked of one model: what was right, how far it was off, and what an episode would have become of it.

import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { Operation, Prediction } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { idPatternOf, unknownIds } from '../../worldmodel/tools/checks.js';
import { type LeafDifference, observationDistance, stateDistance, tokensOf } from './distances.js';
import { isReadBackRight, isSameObservation, type ToolsQuestion } from './question.js';

/** Kept as JSON. `null`: not known, or not to be known of this model. */
export type StepRow = {
  readonly question: number;
  /** 0, or the number of the repeat. */
  readonly attempt: number;
  /** false: no answer came, and everything else is null. */
  readonly answered: boolean;
  readonly backend: string | null;
  readonly confidence: number | null;
  readonly refused: boolean | null;
  readonly repaired: boolean | null;
  readonly observation: boolean | null;
  readonly observationDistance: number | null;
  readonly error: boolean | null;
  readonly state: boolean | null;
  readonly stateDistance: number | null;
  readonly readBack: boolean | null;
  /** Ids in the answer that neither state, call nor conversation knows, nor the true answer. */
  readonly unknown: readonly string[];
  /** Of the state afterwards, first 16 digits of its hash. */
  readonly hash: string | null;
  /** The same for answers that are the same. */
  readonly outcome: string | null;
  /** What was answered, where it was wrong. */
  readonly wrong: WrongAnswer | null;
};

export type WrongAnswer = {
  readonly observation: string;
  readonly isError: boolean;
  readonly operations: Json;
  readonly differences: readonly { readonly path: string; readonly real?: Json; readonly dreamt?: Json }[];
};

/**
 * Says of a section, in its report, that all its answers are those of the truth itself: such figures are right by construction.
 *
 * @param answering backends of the answers; what the environment refuses by itself (`schema`) was asked of nobody
 * @param truthBackend who answers by what is also the truth; undefined where nobody does
 */
export function constructed(
  answering: readonly string[],
  truthBackend: string | undefined,
): { readonly byConstruction?: string } {
  const asked = answering.filter((backend) => backend !== 'schema');
  if (asked.length === 0 || asked.some((backend) => backend !== truthBackend)) return {};
  return {
    byConstruction: `all ${asked.length} answers are by ${truthBackend}, which are the truth here: nothing can be wrong.`,
  };
}

/** Characters of an observation and differences of a state that are kept of a wrong answer. */
const KEPT_CHARS = 20_000;
const KEPT_DIFFERENCES = 100;

export interface StepOptions {
  readonly seed: number;
  /** Number of the repeat; another one is another seed. */
  readonly attempt?: number;
  readonly signal?: AbortSignal;
  /** Whether what changed is read back through the model, too: one more answer a read. */
  readonly readBack?: boolean;
}

/** Throws what is no fault of the question: see `patientAnswer`. */
export async function askQuestion(
  responder: Responder,
  question: ToolsQuestion,
  index: number,
  options: StepOptions,
): Promise<StepRow> {
  const { attempt = 0, signal, readBack = attempt === 0 } = options;
  const query = { ...question.query, seed: attemptSeed(options) };
  const answer = (asked: CallQuery) => patientAnswer(responder, asked, signal);
  const prediction = await answer(query);
  if (prediction === undefined) return unanswered(index, attempt);
  const { readBacks } = question;
  const isRead = readBack ? await isReadBackRight({ query, prediction, readBacks, answer }) : undefined;
  return stepRow(question, prediction, { index, attempt, isRead });
}

/** One seed for all questions of an attempt, as for all calls of an episode. */
function attemptSeed({ seed, attempt = 0 }: StepOptions): number {
  if (attempt === 0) return seed;
  return Rng.fromSeed(seed)
    .split('fidelity-attempt', attempt)
    .int(2 ** 31 - 1);
}

interface RowFacts {
  readonly index: number;
  readonly attempt: number;
  readonly isRead: boolean | undefined;
}

function stepRow(question: ToolsQuestion, prediction: Prediction, { index, attempt, isRead }: RowFacts): StepRow {
  const { query, truth } = question;
  const dreamt = applyOperations(query.state, prediction.operations);
  const observation = isSameObservation(prediction.observation, truth.observation);
  const error = prediction.isError === truth.isError;
  const compared = comparedState(question, dreamt, prediction);
  const isWrong = !observation || !error || compared?.isRight === false;
  const hash = prediction.stateless ? null : stateHash(dreamt).slice(0, 16);
  return {
    question: index,
    attempt,
    answered: true,
    backend: prediction.backend,
    confidence: prediction.confidence,
    refused: prediction.refused !== undefined,
    repaired: prediction.repaired === true,
    observation,
    observationDistance: observation ? 0 : observationDistance(truth.observation, prediction.observation),
    error,
    state: compared?.isRight ?? null,
    stateDistance: compared?.distance ?? null,
    readBack: isRead ?? null,
    unknown: observation ? [] : madeUpIds(question, prediction),
    hash,
    outcome: digestOf([hash, prediction.isError, tokensOf(prediction.observation).join(' ')]),
    wrong: isWrong ? wrongAnswer(prediction, compared?.wrong ?? []) : null,
  };
}

function digestOf(outcome: Json): string {
  return createHash('sha256').update(JSON.stringify(outcome)).digest('hex').slice(0, 16);
}

/** Undefined where the truth or the model has no state. */
function comparedState({ query, after }: ToolsQuestion, dreamt: JsonObject, { stateless }: Prediction) {
  if (after === undefined || stateless) return undefined;
  const isRight = stateHash(dreamt) === stateHash(after);
  return { isRight, ...(isRight ? { distance: 0, wrong: [] } : stateDistance(query.state, after, dreamt)) };
}

function madeUpIds({ query, truth }: ToolsQuestion, { observation, operations }: Prediction): string[] {
  const { domain, state, call, messages } = query;
  const told = new Set(truth.observation.match(/[^\s"',:;()[\]{}]+/g) ?? []);
  const asked = { domain, state, call, messages, observation, operations: operations as readonly Operation[] };
  return unknownIds(asked, idPatternOf(domain)).filter((id) => !told.has(id));
}

function wrongAnswer(
  { observation, isError, operations }: Prediction,
  differences: readonly LeafDifference[],
): WrongAnswer {
  return {
    observation: observation.slice(0, KEPT_CHARS),
    isError,
    operations: operations.slice(0, KEPT_DIFFERENCES) as unknown as Json,
    differences: differences.slice(0, KEPT_DIFFERENCES).map(({ path, first, second }) => ({
      path,
      ...(first === undefined ? {} : { real: first }),
      ...(second === undefined ? {} : { dreamt: second }),
    })),
  };
}

function unanswered(question: number, attempt: number): StepRow {
  return {
    question,
    attempt,
    answered: false,
    backend: null,
    confidence: null,
    refused: null,
    repaired: null,
    observation: null,
    observationDistance: null,
    error: null,
    state: null,
    stateDistance: null,
    readBack: null,
    unknown: [],
    hash: null,
    outcome: null,
    wrong: null,
  };
}

// A model's answers to the questions, asked once for all instruments that look at them.

/** Units of work that one chunk holds. */
export const CHUNK = 10;

export interface AskedOptions {
  readonly responder: Responder;
  readonly questions: readonly ToolsQuestion[];
  readonly seed: number;
}

export class AskedQuestions {
  readonly questions: readonly ToolsQuestion[];
  private readonly rows = new Map<string, Promise<StepRow>>();

  constructor(private readonly options: AskedOptions) {
    this.questions = options.questions;
  }

  get chunks(): number {
    return Math.ceil(this.questions.length / CHUNK);
  }

  /** First answers to the questions of a chunk, one after the other. */
  async chunk(chunk: number, signal?: AbortSignal): Promise<StepRow[]> {
    const rows: StepRow[] = [];
    const end = Math.min((chunk + 1) * CHUNK, this.questions.length);
    for (let index = chunk * CHUNK; index < end; index++) rows.push(await this.row(index, 0, signal));
    return rows;
  }

  row(index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const key = `${index}/${attempt}`;
    const made = this.rows.get(key) ?? this.asked(key, index, attempt, signal);
    this.rows.set(key, made);
    return made;
  }

  private async asked(key: string, index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const { responder, questions, seed } = this.options;
    try {
      return await askQuestion(responder, questions[index], index, { seed, attempt, signal });
    } catch (error) {
      // Whoever asks again, asks anew.
      this.rows.delete(key);
      throw error;
    }
  }
}

// Asking a model one thing, and bearing with a server that is slow or garbles one reply: that one goes unanswered, and says
// nothing of the model. A server that is away and a spent budget end the work, which can be gone on with.

const SERVER_TRIES = 3;
/** A fault of one request alone, beside those of the model and of one episode, which say so themselves. */
const REQUEST_FAULT = 'LLM_TIMEOUT';

/** The answer, or undefined where none came. @throws what is no fault of this one request */
export function patientAnswer(
  responder: Responder,
  query: CallQuery,
  signal?: AbortSignal,
): Promise<Prediction | undefined> {
  return patiently(async () => responder.answer(query, signal));
}

/** What `work` gives, tried again where the server is at fault; undefined where it fails for a fault of its own. */
export async function patiently<T>(work: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      const { costs } = error.entry;
      if ((error.values.retryable === true || costs === 'attempt') && attempt < SERVER_TRIES) continue;
      if (error.values.ofModel === true || costs !== undefined || error.code === REQUEST_FAULT) return undefined;
      throw error;
    }
  }
}
