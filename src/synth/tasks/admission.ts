// Which proposals become tasks: those that are new, begin in a sound state, are solved by their reference and whose
// verifier refuses every way to fail. Nothing is admitted because a language model said so.

import { ReverieError, reverieError } from '../../core/errors.js';
import { compileSchema, type SchemaCheck, stateHash } from '../../env/state/state.js';
import type { CheckResult, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { type FailureCase, failureCases } from './failure-cases.js';
import {
  countRejections,
  isForEvaluation,
  type Rejection,
  type RejectionCounts,
  type TaskProposal,
} from './proposal.js';
import { checkReference } from './reference-check.js';
import { callFaults, type Played, playCalls } from './task-play.js';
import { Contamination, TaskTexts } from './task-text.js';
import { checksOf } from './task-verdict.js';
import { type AdmissionConfig, admissionSchema } from './tasks-schema.js';

export type Admission =
  | { readonly admitted: true; readonly task: ToolsTask }
  | { readonly admitted: false; readonly reasons: readonly Rejection[] };

export interface AdmissionOptions extends Partial<AdmissionConfig> {
  /** Who answers calls; default: the domain's rules. */
  readonly responder?: Responder;
}

const LONGEST_GOAL = 8_000;
const MOST_CALLS = 60;

export class Admissions {
  private readonly config: AdmissionConfig;
  private readonly texts: TaskTexts;
  private readonly contamination: Contamination;
  private readonly checkState: SchemaCheck;
  private readonly writes: ReadonlySet<string>;
  private readonly responder: Responder;
  private refusals: RejectionCounts = {};
  private taken = 0;

  /** @throws SCENARIO_UNFIT if neither rules nor a responder can play a task */
  constructor(
    private readonly domain: ToolsDomain,
    { responder, ...config }: AdmissionOptions = {},
  ) {
    if (responder === undefined && domain.rules === undefined)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `Domain "${domain.id}" has no rules to play new tasks by, and nobody else was named who answers calls.`,
        hint: 'Give the domain rules, or a world model that answers in their place.',
      });
    this.responder = responder ?? rulesResponder(domain, 'rules');
    this.config = admissionSchema.parse(config);
    this.texts = new TaskTexts(domain.tasks);
    this.writes = new Set(domain.tools.filter(({ kind }) => kind === 'write').map(({ name }) => name));
    const evaluation = domain.tasks.filter(isForEvaluation);
    this.contamination = new Contamination(evaluation, this.config.contaminationWords, (tool) => this.writes.has(tool));
    this.checkState = compileSchema(domain.stateSchema, 'the state');
  }

  /** How many were admitted, and how often each kind of reason refused one. */
  get counts(): { readonly admitted: number; readonly rejected: RejectionCounts } {
    return { admitted: this.taken, rejected: this.refusals };
  }

  /** Judges a proposal; one that is admitted counts against duplicates of it from then on. */
  async admit(proposal: TaskProposal): Promise<Admission> {
    const reasons = await this.reasonsAgainst(proposal);
    if (reasons.length > 0 || proposal.task === undefined) {
      this.refusals = countRejections(this.refusals, reasons);
      return { admitted: false, reasons };
    }
    this.taken++;
    this.texts.add(proposal.task);
    return { admitted: true, task: settled(proposal.task, proposal) };
  }

  /** What speaks against a task by itself, whatever it was made from and whatever others there are. */
  async faultsOf(task: ToolsTask): Promise<readonly Rejection[]> {
    const written = [...shapeFaults(task), ...this.callReasons(task), ...this.startReasons(task)];
    return written.length > 0 ? written : this.playReasons(task);
  }

  /** Cheap reasons first: a kind of check is made only where all before it found nothing. */
  private async reasonsAgainst(proposal: TaskProposal): Promise<readonly Rejection[]> {
    const { task, seeds, problems } = proposal;
    if (task === undefined || problems.length > 0) return problems;
    const written = [...seedFaults(seeds), ...shapeFaults(task), ...this.callReasons(task)];
    if (written.length > 0) return written;
    const known = this.newness(task, seeds);
    if (known.length > 0) return known;
    const start = this.startReasons(task);
    return start.length > 0 ? start : this.playReasons(task);
  }

  private callReasons(task: ToolsTask): Rejection[] {
    const calls = [...(task.reference?.calls ?? []), ...(task.failures ?? []).flatMap(({ calls }) => calls)];
    return callFaults(this.domain, calls).map((detail) => ({ code: 'bad_call', detail }));
  }

  private newness(task: ToolsTask, seeds: readonly ToolsTask[]): Rejection[] {
    const nearest = this.texts.nearest(task);
    if (nearest !== undefined && nearest.similarity > this.config.nearDuplicate) {
      const detail = `${Math.round(100 * nearest.similarity)} % of its words are those of task "${nearest.id}"`;
      return [{ code: 'near_duplicate', detail }];
    }
    const leak = this.contamination.leak(task, seeds);
    return leak === undefined ? [] : [{ code: 'contaminated', detail: leak }];
  }

  private startReasons(task: ToolsTask): Rejection[] {
    try {
      const start = initialStateOf(this.domain, task);
      if (start === this.domain.initialState) return [];
      const faults = [
        ...this.checkState(start),
        ...(this.domain.rules?.invariants(this.domain.initialState, start) ?? []),
      ];
      return faults.map((detail) => ({ code: 'bad_start', detail }));
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      return [{ code: 'bad_start', detail: error.message }];
    }
  }

  private async playReasons(task: ToolsTask): Promise<readonly Rejection[]> {
    const { reasons, played } = await checkReference(this.domain, task, this.responder);
    return reasons.length > 0 ? reasons : this.failureReasons(task, played);
  }

  private async failureReasons(task: ToolsTask, reference: Played): Promise<Rejection[]> {
    const given = task.failures ?? [];
    const demandsChange = this.demandsChange(task, reference);
    const made = failureCases(this.domain, task, reference, { demandsChange, most: this.config.maxFailures });
    const passing: Rejection[] = [];
    let refused = 0;
    for (const failure of [...given, ...made]) {
      const played = await this.play(task, failure.calls, failure.say);
      // What ends as the reference does and is told alike is no failure, however it was made.
      if (!given.includes(failure) && isAlike(played, reference, failure, task)) continue;
      if (this.checks(task, played, reference).some(({ passed }) => passed === false)) refused++;
      else passing.push(rejection('verifier_weak', `the verifier lets pass who ${failure.name}`));
    }
    if (passing.length === 0 && refused === 0)
      return [rejection('verifier_weak', 'no way to fail was found that the verifier refuses')];
    return passing;
  }

  /** Whether the verifier looks for a change; else the solution is to tell something, or to refrain. */
  private demandsChange(task: ToolsTask, reference: Played): boolean {
    const { state, called, assert = [] } = task.verifier;
    const { initialState } = reference.end;
    if (called?.some(({ name }) => this.writes.has(name))) return true;
    if (state !== undefined) return stateHash(initialState) !== stateHash(reference.end.finalState);
    const start = { initialState, finalState: initialState, messages: [] };
    const asserted = checksOf(this.domain, { ...task, verifier: { assert } }, start, initialState);
    return asserted.some(({ passed }) => passed === false);
  }

  private play(task: ToolsTask, calls: FailureCase['calls'], say?: string): Promise<Played> {
    return playCalls({ domain: this.domain, task, responder: this.responder }, calls, say);
  }

  private checks(task: ToolsTask, played: Played, reference: Played): readonly CheckResult[] {
    return checksOf(this.domain, task, played.end, reference.end.finalState);
  }
}

/** One proposal judged by itself, against the domain's own tasks. */
export function admitTask(
  domain: ToolsDomain,
  proposal: TaskProposal,
  options: AdmissionOptions = {},
): Promise<Admission> {
  return new Admissions(domain, options).admit(proposal);
}

/** Family and split are those of the first seed, so that splits hold for what is made of them. */
function settled(task: ToolsTask, { seeds, strategy, modelVersion }: TaskProposal): ToolsTask {
  const [{ family, split }] = seeds;
  const origin = { seeds: seeds.map(({ id }) => id), strategy, modelVersion };
  return { ...task, family, ...(split === undefined ? {} : { split }), origin };
}

function seedFaults(seeds: readonly ToolsTask[]): Rejection[] {
  if (seeds.length === 0) return [rejection('malformed', 'it names no seed')];
  const kept = seeds.filter(isForEvaluation);
  return kept.map(({ id, split }) => rejection('seed_split', `its seed "${id}" is kept for ${split}`));
}

function shapeFaults({ user, verifier, reference }: ToolsTask): Rejection[] {
  const faults: string[] = [];
  if (user.goal.trim() === '') faults.push('it has no goal');
  if (user.goal.length > LONGEST_GOAL) faults.push(`its goal has more than ${LONGEST_GOAL} characters`);
  if (reference === undefined) faults.push('it has no reference solution');
  if ((reference?.calls.length ?? 0) > MOST_CALLS) faults.push(`its reference has more than ${MOST_CALLS} calls`);
  if (Object.values(verifier).every((part) => Array.isArray(part) && part.length === 0))
    faults.push('it has no verifier');
  return faults.map((detail) => rejection('malformed', detail));
}

function isAlike(played: Played, reference: Played, { say }: FailureCase, task: ToolsTask): boolean {
  return stateHash(played.end.finalState) === stateHash(reference.end.finalState) && say === task.reference!.say;
}

function rejection(code: Rejection['code'], detail: string): Rejection {
  return { code, detail };
}
