// A backend of the router of structured worlds: what it is to scenarios and plugins, and what it implements: a proposal for one
// call, or why it has none. backends.ts has the registry.

import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import type { Awaitable } from '../../core/environment.js';
import type { Entry } from '../../core/registry.js';
import type { Rng } from '../../core/rng.js';
import type { OutcomeClaim, ToolsDomain } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import type { LanguageModel } from '../../llm/language-model.js';
import type { DeviceTarget } from '../../nn/cuda.js';
import type { EpisodeRecord, ExperienceIndex } from '../../replay/experience/experience.js';

const share = z.number().min(0).max(1);
const count = z.int().min(0);

/** What a learned backend did with steps of tasks that it did not learn from. */
export const fitReportSchema = z.strictObject({
  /** Held-out steps that it was judged by. */
  steps: count,
  /** Shares of these: with exactly the true changes, and done or refused as it truly is; with the true text; with both. */
  stateExact: share,
  textExact: share,
  exact: share,
  /** With the true end and reward. */
  endExact: share,
  /** Answered at least as surely as the bar of confidence, and the share of these that is right. */
  sure: share,
  exactOfSure: share.nullable(),
  byChanges: z.array(z.strictObject({ changes: count, steps: count, stateExact: share })),
  /** Recorded steps that it learned from; those that differ; those left out for their length. */
  learnedFrom: count,
  distinct: count,
  tooLong: count,
});

/** What a backend says happens; not believed before `checkProposal` has found no fault with it. */
export interface RawProposal {
  readonly reasoning?: string;
  /** JSON Patch; unchecked. */
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
  /** In [0, 1]. */
  readonly confidence: number;
  /** What it says its operations come to; a proposal whose state does not show it is refused. */
  readonly claim?: OutcomeClaim;
  /**
   * What a model claims of reward and end. Recorded and nothing else: rewards come from verifiers and audited judges, and
   * an episode ends by its tools, its user and its clock, so that no text in a prompt can mint the one or cause the other.
   */
  readonly claimed?: { readonly reward: number | null; readonly terminated: boolean };
  /** What exact code or the real environment says of them; of backends whose trust is `exact`, and of no other. */
  readonly exact?: { readonly reward: number | null; readonly terminated: boolean };
  /** Name and version of what answered, where it is finer than the backend's. */
  readonly modelVersion?: string;
  readonly cost: Cost;
}

/** No proposal: the backend does not know the call. What was spent to find that out is counted. */
export interface Declined {
  readonly declined: string;
  readonly cost?: Cost;
}

/** No usable proposal, though there should be one: a reply that is no prediction. May be tried again. */
export interface Failed {
  readonly problems: readonly string[];
  /** What the model wrote, where that could be read; shown to it when it is asked to repair. */
  readonly previous?: Json;
  readonly cost: Cost;
}

export interface PredictOptions {
  readonly signal?: AbortSignal;
  /** Present at the second try: the proposal that was refused, and why. */
  readonly repair?: { readonly previous: Json; readonly problems: readonly string[] };
}

/** How far a backend's word is taken: `exact` code is only kept to schema and invariants; a `proposal` must also be possible
 *  and speak of nothing unknown. */
export type Trust = 'exact' | 'proposal';

/** A backend at work. */
export interface BackendModel {
  /** Identifies what answers: code, index or model with its options. Part of a job's identity. */
  readonly version: string;
  /** Whether asking again with reasons can give another answer. */
  readonly repairs?: boolean;
  predict(query: CallQuery, options: PredictOptions): Awaitable<RawProposal | Declined | Failed>;
}

/** What a backend may be made of; what a scenario does not have is missing. */
export interface BackendParts {
  readonly domain: ToolsDomain;
  readonly index?: ExperienceIndex;
  /** Whether the states of its records are known; false: they are shown to models and never replayed. */
  readonly hasStates?: boolean;
  readonly model?: LanguageModel;
  /** The real environment. */
  readonly real?: Responder;
  /** Where relative paths of settings start from; the working directory unless given. */
  readonly folder?: string;
  /** What networks are computed on; the processor unless given. */
  readonly device?: DeviceTarget;
}

/** The backend, or why there is none in this domain: `rules: the domain has none`. */
type MakeBackend = (parts: BackendParts, settings: BackendSettings) => Awaitable<BackendModel | string>;

/** The backend's section of `model`, as its schema left it; empty without a schema. */
export type BackendSettings = Readonly<Record<string, unknown>>;

/**
 * `name` is what a scenario lists in `model.backends`, the key of its section `model.NAME`, and what its answers are recorded as.
 * What follows from a backend is declared here, never read off its name.
 */
export interface BackendEntry extends Entry<MakeBackend> {
  /** `proposal` unless declared: what is unknown is not trusted, so it neither gives rewards nor ends an episode. */
  readonly trust?: Trust | ((settings: BackendSettings) => Trust);
  /** Its bar: a proposal of lower confidence is not taken; 0 unless declared. */
  readonly minConfidence?: number | ((settings: BackendSettings) => number);
  /** What it cannot do without: the scenario's language model, or records of which the state is known. */
  readonly needs?: readonly ('model' | 'records')[];
  /** Files that its settings name, relative to the scenario: what is in them counts in the scenario's hash. */
  readonly files?: (settings: BackendSettings) => readonly string[];
  /** Whether its answers are the real environment's, whatever is called in this domain; never unless declared. */
  readonly isReal?: (domain: ToolsDomain, settings?: BackendSettings) => boolean;
  /** Domains that it can be learned in; all unless declared. */
  readonly learns?: (domain: ToolsDomain) => boolean;
  /** Loads what learns such a backend from records, for `reverie fit`; absent: it is not learned. */
  readonly fit?: () => Promise<FitBackend>;
}

export interface BackendFitRequest {
  readonly domain: ToolsDomain;
  readonly episodes: readonly EpisodeRecord[];
  readonly settings: BackendSettings;
  readonly rng: Rng;
  /** Folder for what a stopped fit resumes from. */
  readonly work: string;
  /** Folder that the model is written to, whole or not at all. */
  readonly out: string;
  readonly signal: AbortSignal;
  readonly onProgress: (note: BackendFitNote) => void;
}

export interface BackendFitNote {
  readonly phase: string;
  readonly unit: string;
  readonly done: number;
  readonly total: number;
  readonly note?: string;
}

interface BackendFitted {
  /** The version that its answers will carry. */
  readonly version: string;
  /** Share of held-out steps that it got exactly right, in its own sense. */
  readonly exactness: number;
  /** Whether that is enough for it to be used without being forced. */
  readonly isReady: boolean;
  /** Plain JSON: what else is worth knowing. */
  readonly report: BackendFitReport;
}

export type BackendFitReport = z.output<typeof fitReportSchema>;

/** Answers once the model is in its folder. @throws DATA_MISMATCH; the signal's reason, with what is done kept in `work` */
export type FitBackend = (request: BackendFitRequest) => Promise<BackendFitted>;
