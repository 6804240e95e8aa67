// One step, teacher-forced: each question is asked of an arm after the true conversation in the true state, and what the
// call changed is read back through the same simulator.

import { concurrently } from '../src/concurrently.js';
import {
  applyOperations,
  type CallSpec,
  type Message,
  type Prediction,
  type Responder,
  stateHash,
} from '../src/env/index.js';
import { ReverieError } from '../src/errors.js';
import { comparableObservation } from '../src/worldmodel/tools/observation-text.js';
import type { Arm } from './experience-ablation-arms.js';
import { CHANGE_GROUPS, type ChangeGroup, changeGroup, type Question } from './experience-ablation-questions.js';
import type { Share } from './experience-ablation-share.js';

export interface StepScores {
  readonly observation: Share;
  readonly errorFlag: Share;
  readonly refused: Share;
  /** Repaired after a first proposal was refused. */
  readonly repaired: Share;
  /** No answer came of the model's server: counted as wrong everywhere. */
  readonly unanswered: Share;
  /** State after the call equals the true one, by number of changes; text has none. */
  readonly state?: Readonly<Record<ChangeGroup, Share>>;
  /** All reads of what changed answer as they truly would; changes that no read shows are left out. */
  readonly readBack: Readonly<Record<ChangeGroup | 'all', Share>>;
  readonly answeredBy: Readonly<Record<string, number>>;
}

interface Outcome {
  readonly question: Question;
  readonly prediction: Prediction | undefined;
  readonly isObservationRight: boolean;
  readonly isErrorRight: boolean;
  readonly isStateRight: boolean;
  readonly isReadBack: boolean | undefined;
}

export interface AskOptions {
  readonly seed: number;
  readonly concurrency: number;
  /** Whether failures of the server are counted instead of ending everything. */
  readonly tolerant?: boolean;
  /** Questions that would begin later (`performance.now()`) are left out. */
  readonly until?: number;
  readonly onAnswer?: (prediction: Prediction | undefined) => void;
}

export async function scoreSteps(
  arm: Arm,
  responder: Responder,
  questions: readonly Question[],
  options: AskOptions,
): Promise<StepScores> {
  const asked = await concurrently(questions, options.concurrency, async (question) =>
    performance.now() > (options.until ?? Number.POSITIVE_INFINITY) ? undefined : ask(responder, question, options),
  );
  const outcomes = asked.filter((outcome) => outcome !== undefined);
  const shareOf = (isHit: (outcome: Outcome) => boolean | undefined, among = outcomes): Share => ({
    hits: among.filter((outcome) => isHit(outcome) === true).length,
    of: among.length,
  });
  const read = outcomes.filter(({ isReadBack }) => isReadBack !== undefined);
  const byGroup = (among: readonly Outcome[], isHit: (outcome: Outcome) => boolean | undefined) =>
    Object.fromEntries(
      CHANGE_GROUPS.map((group) => [
        group,
        shareOf(
          isHit,
          among.filter(({ question }) => changeGroup(question) === group),
        ),
      ]),
    ) as Record<ChangeGroup, Share>;
  const isReadBack = (outcome: Outcome) => outcome.isReadBack;
  return {
    observation: shareOf((outcome) => outcome.isObservationRight),
    errorFlag: shareOf((outcome) => outcome.isErrorRight),
    refused: shareOf(({ prediction }) => prediction?.refused !== undefined),
    repaired: shareOf(({ prediction }) => prediction?.repaired),
    unanswered: shareOf(({ prediction }) => prediction === undefined),
    ...(arm.mode === 'typed' ? { state: byGroup(outcomes, (outcome) => outcome.isStateRight) } : {}),
    readBack: { ...byGroup(read, isReadBack), all: shareOf(isReadBack, read) },
    answeredBy: countBackends(outcomes),
  };
}

async function ask(responder: Responder, question: Question, options: AskOptions): Promise<Outcome> {
  const { query, truth, after } = question;
  const prediction = await answer(responder, { ...query, seed: options.seed }, options);
  if (prediction === undefined) {
    const isReadBack = question.readBacks.length === 0 ? undefined : false;
    return { question, prediction, isObservationRight: false, isErrorRight: false, isStateRight: false, isReadBack };
  }
  return {
    question,
    prediction,
    isObservationRight: isSame(prediction.observation, truth.observation),
    isErrorRight: prediction.isError === truth.isError,
    isStateRight: stateHash(applyOperations(query.state, prediction.operations)) === after,
    isReadBack: await isReadBackRight(responder, question, prediction, options),
  };
}

async function isReadBackRight(
  responder: Responder,
  { query, readBacks }: Question,
  prediction: Prediction,
  options: AskOptions,
): Promise<boolean | undefined> {
  if (readBacks.length === 0) return undefined;
  const { observation, isError, operations } = prediction;
  const told: Message = {
    role: 'tool',
    toolCallId: query.call.id,
    name: query.call.name,
    content: observation,
    isError,
  };
  const state = applyOperations(query.state, operations);
  const messages = [...query.messages, told];
  for (const [i, read] of readBacks.entries()) {
    const call = { id: `read_back_${i}`, ...(read.call as CallSpec) };
    const asked: Message = { role: 'assistant', content: null, toolCalls: [call] };
    const question = {
      ...query,
      state,
      messages: [...messages, asked],
      call,
      step: query.step + 1,
      seed: options.seed,
    };
    const found = await answer(responder, question, options);
    if (found === undefined || !isSame(found.observation, read.observation)) return false;
  }
  return true;
}

async function answer(
  responder: Responder,
  query: Question['query'],
  { tolerant = false, onAnswer }: AskOptions,
): Promise<Prediction | undefined> {
  try {
    const prediction = await responder.answer(query);
    onAnswer?.(prediction);
    return prediction;
  } catch (error) {
    if (!tolerant || !(error instanceof ReverieError)) throw error;
    onAnswer?.(undefined);
    return undefined;
  }
}

function isSame(a: string, b: string): boolean {
  return comparableObservation(a) === comparableObservation(b);
}

function countBackends(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { prediction } of outcomes) {
    const name = prediction?.refused === undefined ? (prediction?.backend ?? 'nobody') : 'nobody';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
