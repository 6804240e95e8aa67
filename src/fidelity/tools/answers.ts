// What a model of tools is asked: a call out of a real episode, in the true state after the true conversation, with what is true of
// it. And its answers, asked once for all instruments: what was right, how far it was off, what an episode would have become of it.

import { contentHash, type Json, type JsonObject, sha256 } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { Operation, Prediction } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { comparableObservation } from '../../worldmodel/tools/checks.js';

export interface ToolsQuestion {
  /** 12 hex digits of task, conversation, state and call: the same for calls that are the same question, whatever their seed. */
  readonly id: string;
  /** In the true state, after the true conversation. Its seed is replaced when it is asked. */
  readonly query: CallQuery;
  readonly truth: {
    readonly observation: string;
    readonly isError: boolean;
    /** Absent where the state after the call is not known. */
    readonly operations?: readonly Operation[];
  };
  /** The true state afterwards; absent where it is not known. */
  readonly after?: JsonObject;
}

export function questionId({ task, messages, call, state }: CallQuery): string {
  return contentHash([task.id, stateHash(state), messages.slice(1), call]).slice(0, 12);
}

/** JSON is compared as JSON, other text but for white space. */
export function isSameObservation(a: string, b: string): boolean {
  return a === b || comparableObservation(a) === comparableObservation(b);
}

// How far one typed state is from another, leaf by leaf: what should have changed and did not, or changed wrongly, or should
// not have changed.

/** A scalar or an empty container whose values differ; one that is absent has no value. */
type LeafDifference = {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly real?: Json;
  /** As saved reports call what was simulated. */
  readonly simulated?: Json;
};

/** Parts that are the same object are not looked into. Elements of lists are compared by position. */
export function leafDifferences(real: JsonObject, simulated: JsonObject): LeafDifference[] {
  const found: LeafDifference[] = [];
  compare(real, simulated, '', found);
  return found;
}

/**
 * Wrong leaves among those that changed, for real or in the simulation; 0 where nothing did.
 * @param before the state that both came from
 */
export function stateDistance(before: JsonObject, real: JsonObject, simulated: JsonObject): number {
  const wrong = leafDifferences(real, simulated);
  if (wrong.length === 0) return 0;
  const changed = [...leafDifferences(before, real), ...leafDifferences(before, simulated), ...wrong];
  return wrong.length / new Set(changed.map(({ path }) => path)).size;
}

function compare(a: Json | undefined, b: Json | undefined, path: string, found: LeafDifference[]): void {
  if (a === b) return;
  if (!isContainer(a) || !isContainer(b)) {
    // What gave way to a leaf is gone leaf by leaf, and the other way round.
    if (isContainer(a) || isContainer(b))
      for (const leaf of [...leavesOf(a, path, 'real'), ...leavesOf(b, path, 'simulated')]) found.push(leaf);
    else found.push(difference(path, a, b));
  } else if (Array.isArray(a) !== Array.isArray(b)) found.push(difference(path, a, b));
  else {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      compare((a as JsonObject)[key], (b as JsonObject)[key], pointer(path, key), found);
    }
  }
}

function isContainer(value: Json | undefined): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null;
}

/** Empty containers are leaves; nothing has none. */
function leavesOf(value: Json | undefined, path: string, side: 'real' | 'simulated'): LeafDifference[] {
  if (value === undefined) return [];
  const keys = isContainer(value) ? Object.keys(value) : [];
  if (keys.length === 0) return [{ path, [side]: value }];
  return keys.flatMap((key) => leavesOf((value as JsonObject)[key], pointer(path, key), side));
}

function difference(path: string, real: Json | undefined, simulated: Json | undefined): LeafDifference {
  return { path, ...(real === undefined ? {} : { real }), ...(simulated === undefined ? {} : { simulated }) };
}

function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

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
  readonly error: boolean | null;
  readonly state: boolean | null;
  readonly stateDistance: number | null;
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
export function constructed(answering: readonly string[], truthBackend: string | undefined) {
  const asked = answering.filter((backend) => backend !== 'schema');
  if (asked.length === 0 || asked.some((backend) => backend !== truthBackend)) return {};
  return {
    byConstruction: `all ${asked.length} answers are by ${truthBackend}, which are the truth here: nothing can be wrong.`,
  };
}

/** Units of work that one chunk holds. */
export const CHUNK = 10;

export class AskedQuestions {
  private readonly once = onlyOnce<StepRow>();

  constructor(
    private readonly responder: Responder,
    readonly questions: readonly ToolsQuestion[],
    private readonly seed: number,
  ) {}

  /** Answers of a chunk of all questions, asked `repeats` times. @throws what is no fault of a question: see `patiently` */
  async chunk(chunk: number, repeats: number, signal?: AbortSignal): Promise<StepRow[]> {
    const { length } = this.questions;
    const rows: StepRow[] = [];
    for (let unit = chunk * CHUNK; unit < Math.min((chunk + 1) * CHUNK, length * repeats); unit++)
      rows.push(await this.once(unit, () => this.asked(unit % length, Math.floor(unit / length), signal)));
    return rows;
  }

  private async asked(index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const { responder, questions, seed } = this;
    // One seed for all questions of an attempt, as for all calls of an episode.
    const own = Rng.fromSeed(seed).split('fidelity-attempt', attempt);
    const query = { ...questions[index].query, seed: attempt === 0 ? seed : own.int(2 ** 31 - 1) };
    const prediction = await patientAnswer(responder, query, signal);
    return { question: index, attempt, ...judged(questions[index], prediction) };
  }
}

/** Work that several instruments look at: done once for each key, and anew where it failed. */
export function onlyOnce<T>(): (key: string | number, work: () => Promise<T>) => Promise<T> {
  const made = new Map<string | number, Promise<T>>();
  return (key, work) => {
    const one = made.get(key) ?? work();
    made.set(key, one);
    one.catch(() => made.delete(key));
    return one;
  };
}

const UNANSWERED = {
  ...{ answered: false, backend: null, confidence: null, refused: null, observation: null },
  ...{ error: null, state: null, stateDistance: null, outcome: null, wrong: null },
};

/** Characters of an observation and differences of a state that are kept of a wrong answer. */
const KEPT_CHARS = 20_000;
const KEPT_DIFFERENCES = 100;

function judged(
  { query, truth, after }: ToolsQuestion,
  prediction: Prediction | undefined,
): Omit<StepRow, 'question' | 'attempt'> {
  if (prediction === undefined) return UNANSWERED;
  const { backend, confidence, operations } = prediction;
  const simulated = applyOperations(query.state, operations);
  const observation = isSameObservation(prediction.observation, truth.observation);
  const error = prediction.isError === truth.isError;
  const state = after === undefined ? null : stateHash(simulated) === stateHash(after);
  const isWrong = !observation || !error || state === false;
  const outcome = [stateHash(simulated), prediction.isError, comparableObservation(prediction.observation)];
  return {
    ...{ answered: true, backend, confidence, refused: prediction.refused !== undefined, observation, error, state },
    stateDistance: state === false ? stateDistance(query.state, after!, simulated) : state === null ? null : 0,
    outcome: sha256(JSON.stringify(outcome)).slice(0, 16),
    wrong: isWrong ? wrongAnswer(prediction, state === false ? leafDifferences(after!, simulated) : []) : null,
  };
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
