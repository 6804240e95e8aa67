// A domain written by a language model from a description, in the way of AWM, EnvScaler and AutoEnv: drafted in stages, run, tried by
// probes, repaired with the reasons a bounded number of times, and admitted only if nothing speaks against it. What the model writes
// is data: rules run in the sandbox, and nobody believes what it says of them.

import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { Rng } from '../../core/rng.js';
import type { LanguageModel } from '../../llm/language-model.js';
import { askForJson, withProblems } from '../asked-json.js';
import {
  DRAFT_REPLY,
  type DraftFiles,
  type DraftStage,
  type DraftWishes,
  draftPrompt,
  draftReplySchema,
  WRITES,
} from './draft-files.js';
import { type DraftTrial, tryDraft } from './try-draft.js';

export interface DraftRequest extends DraftWishes {
  readonly model: LanguageModel;
  readonly seed: number;
  /** Times that a draft is put right before it is refused. */
  readonly repairs: number;
  readonly signal?: AbortSignal;
  /** Told of each reply as it comes, and of what each trial found. */
  readonly onStep?: (step: DraftStep) => void;
  readonly onTrial?: (trial: DraftTrial) => void;
}

/** One request to the model and what came of it. */
export interface DraftStep {
  readonly stage: DraftStage;
  /** Of the stage, from 0. */
  readonly attempt: number;
  readonly reasoning: string;
  /** Files that it wrote. */
  readonly files: DraftFiles;
  /** Of a reply that nothing could be read of: how it begins. */
  readonly reply?: string;
  /** What was wrong with the reply, or with the draft once it was whole. */
  readonly faults: readonly string[];
  readonly cost: Cost;
}

export interface Draft {
  readonly admitted: boolean;
  readonly files: DraftFiles;
  readonly steps: readonly DraftStep[];
  readonly trial: DraftTrial;
  readonly cost: Cost;
}

/** Replies that are asked for before a stage counts as failed. */
const REPLIES = 3;

/** @throws what the model's server throws, but not for replies that cannot be used */
export async function draftDomain(request: DraftRequest): Promise<Draft> {
  return new Drafting(request).run();
}

class Drafting {
  private readonly steps: DraftStep[] = [];
  private files: DraftFiles = {};

  constructor(private readonly request: DraftRequest) {}

  async run(): Promise<Draft> {
    for (const stage of ['world', 'tasks', 'rules'] as const) {
      if (!(await this.written(stage))) return this.ended(await this.unwritten(stage));
    }
    let trial = await this.tried();
    for (let repair = 0; repair < this.request.repairs && trial.faults.length > 0; repair++) {
      const isAnswered = await this.repaired(repair, trial.faults);
      if (isAnswered) trial = await this.tried();
    }
    return this.ended(trial);
  }

  private ended(trial: DraftTrial): Draft {
    const { steps, files } = this;
    const cost = steps.reduce((sum, step) => addCosts(sum, step.cost), NO_COST);
    return { admitted: trial.faults.length === 0, files, steps, trial, cost };
  }

  /** Whether a stage has written its files. */
  private async written(stage: Exclude<DraftStage, 'repair'>): Promise<boolean> {
    let problems: readonly string[] = [];
    for (let attempt = 0; attempt < REPLIES; attempt++) {
      const step = await this.step(stage, attempt, { problems });
      problems = step.faults;
      if (problems.length === 0) return true;
    }
    return false;
  }

  /** There is nothing to put right in files that never came: what stood in their way is the first fault. */
  private async unwritten(stage: DraftStage): Promise<DraftTrial> {
    const trial = await this.tried();
    const fault = `no reply of ${REPLIES} wrote ${WRITES[stage].join(', ')}; the last: ${this.steps.at(-1)!.faults.join('; ')}`;
    return { ...trial, faults: [fault, ...trial.faults] };
  }

  /** Whether a usable reply came. */
  private async repaired(attempt: number, faults: readonly string[]): Promise<boolean> {
    return (await this.step('repair', attempt, { faults })).faults.length === 0;
  }

  /** The last step is told what the trial found of what it made. */
  private async tried(): Promise<DraftTrial> {
    this.request.signal?.throwIfAborted();
    const trial = await tryDraft(this.files, this.request.tasks);
    const last = this.steps.at(-1);
    const isOfReply = last === undefined || last.faults.length > 0;
    if (!isOfReply) this.steps[this.steps.length - 1] = { ...last, faults: trial.faults };
    this.request.onTrial?.(trial);
    return trial;
  }

  private async step(
    stage: DraftStage,
    attempt: number,
    { problems = [], faults = [] }: { problems?: readonly string[]; faults?: readonly string[] },
  ): Promise<DraftStep> {
    const { model, seed, signal } = this.request;
    const { json, problem, reply, cost } = await askForJson(model, {
      messages: withProblems(draftPrompt(stage, this.request, this.files, faults), problems),
      schema: DRAFT_REPLY,
      seed: Rng.fromSeed(seed).split('draft', stage, attempt).uint32(),
      attempt,
      signal,
    });
    const read = draftReplySchema.safeParse(json);
    const files: DraftFiles = read.success
      ? Object.fromEntries(read.data.files.map(({ name, text }) => [name, text]))
      : {};
    const lacking = WRITES[stage].filter((name) => files[name] === undefined);
    const unread = read.success ? [] : [problem ?? 'the reply does not fit its schema'];
    const found = read.success ? lacking.map((name) => `${name} is missing`) : unread;
    const written = { reasoning: read.data?.reasoning ?? '', files, ...(reply === undefined ? {} : { reply }) };
    const step = { stage, attempt, ...written, faults: found, cost };
    this.steps.push(step);
    this.request.onStep?.(step);
    if (found.length === 0) this.files = { ...this.files, ...files };
    return step;
  }
}
