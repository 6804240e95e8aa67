// One tool call as it is remembered, and an episode of them: what retrieval searches and what datasets are made of.
// Nothing synthetic is remembered without saying which model version answered.

import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import type { Verdict } from '../../env/tools/domain.js';
import type { AssistantMessage, Message } from '../../env/tools/message.js';
import type { Operation, Prediction } from '../../env/tools/prediction.js';
import type { TurnTokens, WalkNote } from '../../env/tools/tools-family.js';
import type { Source } from '../transition.js';

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
  /** Sum of rewards; null where the episode could not be judged. */
  readonly return: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** What there was to see before the first step; as `EpisodeStep` has it. */
  readonly picture?: KeptPicture;
  /** What is wrong with it at a glance; absent where nobody looked. */
  readonly signals?: readonly EpisodeSignal[];
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

/**
 * `stagnation`: turns on end that change nothing and learn nothing; `loop`: the same actions over and over; `contradiction`: said
 * against the typed state; `exhaustion`: cut off by a clock or by disagreement; `policy-broken`: done what may not be done; `cut-turn`:
 * a turn that ended at the most tokens a reply may have.
 */
export type EpisodeSignal = 'stagnation' | 'loop' | 'contradiction' | 'exhaustion' | 'policy-broken' | 'cut-turn';

export interface EpisodeStep {
  /** Where in `messages` the agent's message lies. */
  readonly message: number;
  readonly action: Omit<AssistantMessage, 'role'>;
  /** The agent's turn as tokens; absent where it is no language model, or its server gives none. */
  readonly tokens?: TurnTokens;
  /** Its reply ended at the most tokens that one may have; absent: it did not. */
  readonly cut?: true;
  readonly predictions: readonly Prediction[];
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
        'Records of the real environment: files or folders of .jsonl or .json, relative to the scenario. OpenAI messages, ShareGPT or τ-bench trajectories, told apart by their keys.',
      ),
    tolerant: z
      .boolean()
      .default(false)
      .describe('Skip records that cannot be read, and count them; otherwise the first one is an error.'),
  })
  .prefault({})
  .describe('Remembered steps: what a language model is shown of the past.');

export type ExperienceConfig = z.infer<typeof experienceSchema>;
