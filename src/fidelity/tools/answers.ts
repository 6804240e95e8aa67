// A model's answers to questions: what was right, how far it was off, and what an episode would have become of it. Asked once for
// all instruments that look at them.

import { createHash } from 'node:crypto';
import type { Json } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { Prediction } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { idPatternOf, unknownIds } from '../../worldmodel/tools/checks.js';
import {
  isSameObservation,
  type LeafDifference,
  leafDifferences,
  observationDistance,
  stateDistance,
  type ToolsQuestion,
  tokensOf,
} from './question.js';

/** Kept as JSON. `null`: no answer came, not known, or not to be known of this model. */
export type StepRow = {
  readonly question: number;
  /** 0, or the number of the repeat. */
  readonly attempt: number;
  readonly answered: boolean;
  readonly backend: string | null;
  readonly confidence: number | null;
  readonly refused: boolean | null;
  readonly observation: boolean | null;
  readonly observationDistance: number | null;
  readonly error: boolean | null;
  readonly state: boolean | null;
  readonly stateDistance: number | null;
  /** Ids in the answer that neither state, call nor conversation knows, nor the true answer. */
  readonly unknown: readonly string[];
  readonly hasState: boolean;
  /** The same for answers that are the same. */
  readonly outcome: string | null;
  /** What was answered, where it was wrong. */
  readonly wrong: WrongAnswer | null;
};

type WrongAnswer = {
  readonly observation: string;
  readonly isError: boolean;
  readonly operations: Json;
  readonly differences: readonly LeafDifference[];
};

/**
 * Says of a section, in its report, that all its answers are those of the truth itself: such figures are right by construction.
 *
 * @param answering backends of the answers; what the environment refuses by itself (`schema`) was asked of no backend
 * @param truthBackend the backend that answers by what is also the truth, if any
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

/** Units of work that one chunk holds. */
export const CHUNK = 10;

interface AskedOptions {
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

  /** @throws what is no fault of the question: see `patiently` */
  row(index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const key = `${index}/${attempt}`;
    const made = this.rows.get(key) ?? this.asked(index, attempt, signal);
    this.rows.set(key, made);
    // What failed is asked anew.
    made.catch(() => this.rows.delete(key));
    return made;
  }

  private async asked(index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const { responder, questions, seed } = this.options;
    // One seed for all questions of an attempt, as for all calls of an episode.
    const own = Rng.fromSeed(seed).split('fidelity-attempt', attempt);
    const query = { ...questions[index].query, seed: attempt === 0 ? seed : own.int(2 ** 31 - 1) };
    const prediction = await patientAnswer(responder, query, signal);
    return { question: index, attempt, ...judged(questions[index], prediction) };
  }
}

const UNANSWERED = {
  ...{ answered: false, backend: null, confidence: null, refused: null, observation: null, observationDistance: null },
  ...{ error: null, state: null, stateDistance: null, unknown: [], hasState: false, outcome: null, wrong: null },
};

/** Characters of an observation and differences of a state that are kept of a wrong answer. */
const KEPT_CHARS = 20_000;
const KEPT_DIFFERENCES = 100;

function judged(
  { query, truth, after }: ToolsQuestion,
  prediction: Prediction | undefined,
): Omit<StepRow, 'question' | 'attempt'> {
  if (prediction === undefined) return UNANSWERED;
  const { backend, confidence, operations, stateless } = prediction;
  const simulated = applyOperations(query.state, operations);
  const observation = isSameObservation(prediction.observation, truth.observation);
  const error = prediction.isError === truth.isError;
  const isKnown = after !== undefined && !stateless;
  const state = isKnown ? stateHash(simulated) === stateHash(after) : null;
  const isWrong = !observation || !error || state === false;
  const outcome = [
    stateless ? null : stateHash(simulated),
    prediction.isError,
    tokensOf(prediction.observation).join(' '),
  ];
  return {
    ...{ answered: true, backend, confidence, refused: prediction.refused !== undefined, observation, error, state },
    observationDistance: observation ? 0 : observationDistance(truth.observation, prediction.observation),
    stateDistance: state === false ? stateDistance(query.state, after!, simulated) : state === null ? null : 0,
    unknown: observation ? [] : madeUpIds(query, truth.observation, prediction),
    hasState: !stateless,
    outcome: createHash('sha256').update(JSON.stringify(outcome)).digest('hex').slice(0, 16),
    wrong: isWrong ? wrongAnswer(prediction, state === false ? leafDifferences(after!, simulated) : []) : null,
  };
}

function madeUpIds(query: CallQuery, real: string, { observation, operations }: Prediction): string[] {
  const { domain, state, call, messages } = query;
  const known = new Set(real.match(/[^\s"',:;()[\]{}]+/g) ?? []);
  const asked = { domain, state, call, messages, observation, operations };
  return unknownIds(asked, idPatternOf(domain)).filter((id) => !known.has(id));
}

function wrongAnswer(
  { observation, isError, operations }: Prediction,
  differences: readonly LeafDifference[],
): WrongAnswer {
  return {
    observation: observation.slice(0, KEPT_CHARS),
    isError,
    operations: operations.slice(0, KEPT_DIFFERENCES) as unknown as Json,
    differences: differences.slice(0, KEPT_DIFFERENCES),
  };
}

// Asking a model one thing, and bearing with a server that is slow or garbles one reply: that one goes unanswered, and says
// nothing of the model. A server that is away and a spent budget end the work, which can be resumed.

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
