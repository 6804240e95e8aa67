// One tool call as it is remembered, and an episode of them: what retrieval searches and what datasets are made of.
// Nothing synthetic is remembered without saying which model version answered.

import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import { reverieError } from '../../core/errors.js';
import type { Verdict } from '../../env/tools/domain.js';
import type { AssistantMessage, Message } from '../../env/tools/message.js';
import type { AttemptOutcome } from '../../env/tools/outcome.js';
import type { Operation, Prediction } from '../../env/tools/prediction.js';
import type { TurnTokens, WalkNote } from '../../env/tools/tools-family.js';
import type { Source } from '../transition.js';
import { callText, MAX_HISTORY } from './terms.js';

export interface ExperienceStep {
  readonly source: Source;
  /** Who answered, as in `Prediction`; `real` for records. */
  readonly backend: string;
  readonly modelVersion: string;
  readonly scenario: string;
  readonly task: string;
  readonly episode: string;
  /** Number of the call within the episode. */
  readonly step: number;
  /** Row of the job that it is from; -1 for records. */
  readonly row: number;
  readonly call: { readonly name: string; readonly arguments: JsonObject };
  /** Calls made before it in the episode, oldest first, each `name(arguments)`; at most the last eight. */
  readonly history: readonly string[];
  readonly observation: string;
  readonly isError: boolean;
  /** Where known. */
  readonly operations?: readonly Operation[];
  /** Canonical hash of the state it was made in; absent where the state is not known. */
  readonly stateHash?: string;
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly confidence: number;
  /** Whether the episode it belongs to was found right by exact checks (always true for records). */
  readonly verified: boolean;
}

/** Everything one episode was. Plain JSON: a row of a job's journal. */
export interface EpisodeRecord {
  /** 16 hex digits, made from run, row and what decides the episode: the same row has the same id. */
  readonly id: string;
  readonly row: number;
  readonly source: Source;
  readonly scenario: string;
  readonly scenarioHash: string;
  readonly task: string;
  readonly family: string;
  readonly split: 'train' | 'validation' | 'test';
  readonly seed: number;
  /** Episodes of one group start from one state: rows for group-relative learners. -1: none. */
  readonly group: number;
  /** The episode and step it was forked from. */
  readonly parent?: { readonly episode: string; readonly step: number };
  readonly policyVersion: string;
  readonly userVersion: string;
  readonly responderVersion: string;
  /** The whole conversation, the policy first. */
  readonly messages: readonly Message[];
  readonly steps: readonly EpisodeStep[];
  readonly verdict: Verdict;
  /** The outcome and its cause. */
  readonly outcome: AttemptOutcome;
  /** Outcomes of earlier attempts, which do not reflect on the policy; absent if there were none. */
  readonly retried?: readonly AttemptOutcome[];
  /** Sum of rewards; null where the episode could not be judged. */
  readonly return: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** What there was to see before the first step; as `EpisodeStep` has it. */
  readonly picture?: KeptPicture;
  /** The step, from 0, that lost a failed episode; as many as there are steps where it was only cut off. */
  readonly lostStep?: number;
  /** What lost it, by kind and tool, as `left-out verify_employee`; absent where nothing exact can be said. */
  readonly lostBy?: string;
  /** How it came about, where no task was given and none was known. */
  readonly walk?: WalkNote;
  /** Weight of the episode in training, lowered by disagreement; 1 = full. */
  readonly weight: number;
  /** Messages of the agent (places in `messages`) that are not to be learnt from, ascending; absent: none. */
  readonly masked?: readonly number[];
  readonly cost: Cost;
}

export interface EpisodeStep {
  /** Where in `messages` the agent's message lies. */
  readonly message: number;
  readonly action: Omit<AssistantMessage, 'role'>;
  /** The agent's turn as tokens; absent where it is no language model, or its server gives none. */
  readonly tokens?: TurnTokens;
  /** Its reply ended at the most tokens that one may have; absent: it did not. */
  readonly cut?: true;
  readonly predictions: readonly Prediction[];
  /** Answers to calls of the user's own tools; absent if it made none. */
  readonly userPredictions?: readonly Prediction[];
  readonly reward: number;
  readonly stateHash: string;
  /** What there was to see afterwards; absent where the world has no look, or it was not asked for. */
  readonly picture?: KeptPicture;
}

/** A picture in a file beside the records. */
export interface KeptPicture {
  /** Path of a PNG, relative to the folder of the records: by its content, so that equal pictures are one file. */
  readonly image: string;
  readonly width: number;
  readonly height: number;
  /** As `Picture` has them. */
  readonly boxes: Readonly<Record<string, readonly [number, number, number, number]>>;
}

export interface RetrievalQuery {
  readonly call: { readonly name: string; readonly arguments: JsonObject };
  readonly history: readonly string[];
  /** Hash of the state now, for exact matches. */
  readonly stateHash?: string;
  /** `real`: records only. `both`: also what was simulated, as far as it is kept. */
  readonly sources: 'real' | 'both';
  /** Synthetic steps of rows below this one only, so that what is seen does not depend on timing; absent: all. */
  readonly beforeRow?: number;
  /** Steps of this task are left out (no peeking at the answer when it is measured). */
  readonly exceptTask?: string;
}

export interface RetrievedStep {
  readonly step: ExperienceStep;
  /** Larger is nearer; comparable within one answer only. */
  readonly score: number;
}

/** Read side of the store, which a world model sees. */
export interface ExperienceIndex {
  readonly size: number;
  /** Up to `k` nearest, nearest first; ties by order of insertion. */
  retrieve(query: RetrievalQuery, k: number): readonly RetrievedStep[];
  /** A real step with the same call in the same state (equal hash), or undefined. */
  exact(query: RetrievalQuery): ExperienceStep | undefined;
}

/** The section `experience` of a scenario: what is remembered. */
export const experienceSchema = z
  .strictObject({
    enrich: z
      .enum(['never', 'verified', 'always'])
      .default('never')
      .describe(
        'Which simulated steps are remembered beside the records: none, those of episodes that exact checks found right, or all.',
      ),
    maxSteps: z
      .int()
      .min(0)
      .default(100_000)
      .describe('Simulated steps that count at most: those of the newest rows. Records always count.'),
    maxBytes: z
      .int()
      .min(1)
      .default(2_000_000_000)
      .describe('Size all remembered steps may have; a run that would go beyond it stops with an error.'),
    logs: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Records of the real environment: files or folders of .jsonl or .json, relative to the scenario. OpenAI or Anthropic messages, ShareGPT, τ-bench, ATIF, ADP or sessions of Claude Code, recognized by their keys.',
      ),
    tolerant: z
      .boolean()
      .default(false)
      .describe('Skip records that cannot be read, and count them; otherwise the first one is an error.'),
  })
  .prefault({})
  .describe('Remembered steps: what a language model is shown of the past.');

export type ExperienceConfig = z.infer<typeof experienceSchema>;

/** What is known of the state around a call. */
export interface CallState {
  /** Of the state it was made in. */
  readonly stateHash?: string;
  readonly operations?: readonly Operation[];
}

/**
 * Steps of a real or simulated episode, in order. A simulated one counts as verified if exact checks alone found it right.
 * @param states one for each answered call, where they are not to be read off the episode
 */
export function episodeSteps(
  episode: EpisodeRecord,
  states: readonly CallState[] = statesOf(episode),
): ExperienceStep[] {
  const { verdict, source, scenario, task, row } = episode;
  const verified = source === 'real' || (verdict.reward === 1 && verdict.judge === undefined);
  const answered = episode.steps.flatMap(({ action, predictions }) =>
    predictions.map((prediction, i) => ({ prediction, call: (action.toolCalls ?? [])[i] })),
  );
  const history = answered.map(({ call }) => callText(call));
  // An answer changed by a fault is not the world's behaviour.
  const isTrue = (_: unknown, step: number) => (answered[step].prediction.fault?.kind ?? 'latency') === 'latency';
  const steps = answered.map(({ prediction, call }, step) => ({
    source,
    backend: prediction.backend,
    modelVersion: prediction.modelVersion,
    scenario,
    task,
    episode: episode.id,
    step,
    row,
    call: { name: call.name, arguments: call.arguments },
    history: history.slice(Math.max(0, step - MAX_HISTORY), step),
    observation: prediction.observation,
    isError: prediction.isError,
    ...states[step],
    reward: prediction.reward,
    terminated: prediction.terminated,
    confidence: prediction.confidence,
    verified,
  }));
  return steps.filter(isTrue);
}

/**
 * Between calls of one action the hash is known only as long as nothing changed the state.
 * @param begins hash of the state that the episode began in; without it that of the first call is not known
 */
export function statesOf({ steps }: EpisodeRecord, begins?: string): CallState[] {
  let hash = begins;
  return steps.flatMap(({ predictions, stateHash }) => {
    const states = predictions.map(({ operations }) => {
      const state = { operations, ...(hash === undefined ? {} : { stateHash: hash }) };
      if (operations.length > 0) hash = undefined;
      return state;
    });
    hash = stateHash;
    return states;
  });
}

/** Levels of lists and objects in arguments. */
export const MAX_ARGUMENT_DEPTH = 100;
const MAX_OBSERVATION = 1_000_000;

/** Throws DATA_MISMATCH or SETTING_INVALID, naming the step. */
export function checkStep(step: ExperienceStep): void {
  const what = `step ${step.step} of episode "${step.episode}"`;
  const problem = provenanceProblem(step);
  if (problem !== undefined) {
    const hint =
      'A real step has row -1 and no model version; a synthetic one names its backend, model version and row.';
    throw reverieError('DATA_MISMATCH', {
      problem: `Provenance of the batch is not acceptable: ${what} ${problem}`,
      hint,
    });
  }
  const fault = shapeProblem(step);
  if (fault !== undefined) throw experienceInvalid(`${what} ${fault}`);
}

/** The error SETTING_INVALID for a step that cannot be kept, or a query that cannot be answered. */
export function experienceInvalid(problem: string): Error {
  return reverieError('SETTING_INVALID', {
    problem: `Experience: ${problem}.`,
    hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
  });
}

function provenanceProblem({ source, backend, modelVersion, row, scenario, task, episode }: ExperienceStep) {
  if (source !== 'real' && source !== 'synthetic') return `has the source "${source}"`;
  if (![scenario, task, episode].every((name) => typeof name === 'string')) return 'names no scenario, task or episode';
  if (source === 'real') return row === -1 && modelVersion === '' ? undefined : `is real, but from row ${row}`;
  if (!Number.isSafeInteger(row) || row < 0 || row > 2 ** 31 - 1) return `is synthetic, but from row ${row}`;
  if (typeof backend !== 'string' || backend === '' || backend === 'real')
    return `was simulated by backend "${backend}"`;
  return typeof modelVersion === 'string' && modelVersion !== '' ? undefined : 'was simulated by no model version';
}

function shapeProblem({ call, history, observation, confidence, step }: ExperienceStep): string | undefined {
  if (!Number.isSafeInteger(step) || step < 0) return `has the number ${step}`;
  if (typeof call?.name !== 'string' || call.name === '') return 'calls no tool';
  if (!isJsonObject(call.arguments)) return 'has arguments that are no object';
  if (isTooDeep(call.arguments)) return `has arguments nested deeper than ${MAX_ARGUMENT_DEPTH}`;
  if (typeof observation !== 'string') return 'has an observation that is no text';
  if (observation.length > MAX_OBSERVATION) return `has an observation of more than ${MAX_OBSERVATION} characters`;
  if (!Array.isArray(history) || history.length > MAX_HISTORY)
    return `has a history of ${history?.length} calls; at most ${MAX_HISTORY} are remembered`;
  return confidence >= 0 && confidence <= 1 ? undefined : `has confidence ${confidence}`;
}

export function isTooDeep(value: unknown, left = MAX_ARGUMENT_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((part) => isTooDeep(part, left - 1));
}
