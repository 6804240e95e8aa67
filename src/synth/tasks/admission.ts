// Which proposals become tasks: those that are new, begin in a sound state, are solved by their reference and whose
// verifier refuses every way to fail. Nothing is admitted because a language model said so.

import { ReverieError, reverieError } from '../../core/errors.js';
import { compileSchema, type SchemaCheck } from '../../env/state/state.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { cheatFindings, type TaskFinding } from './lint-tasks.js';
import {
  callFaults,
  checkReference,
  isForEvaluation,
  type Rejection,
  type RejectionCode,
  STRATEGY,
  type TaskProposal,
} from './task-checks.js';

export type Admission =
  | { readonly admitted: true; readonly task: ToolsTask }
  | { readonly admitted: false; readonly reasons: readonly Rejection[] };

const LONGEST_GOAL = 8_000;
const MOST_CALLS = 60;

export class Admissions {
  /** How many were admitted. */
  admitted = 0;
  /** What users of tasks want, to the task that says it first. */
  private readonly known: Map<string, string>;
  private readonly checkState: SchemaCheck;
  private readonly responder: Responder;

  /**
   * @param responder  what answers calls; default: the domain's rules
   * @param counts  which findings disqualify a task; by default those that exclude it from rewards
   * @throws SCENARIO_UNFIT if neither rules nor a responder can play a task
   */
  constructor(
    private readonly domain: ToolsDomain,
    responder?: Responder,
    private readonly counts: (finding: TaskFinding) => boolean = ({ shuts }) => shuts,
  ) {
    if (responder === undefined && domain.rules === undefined)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `Domain "${domain.id}" has no rules to play new tasks by, and nothing else answers its calls.`,
        hint: 'Give the domain rules, or a world model that answers in their place.',
      });
    this.responder = responder ?? rulesResponder(domain, 'rules');
    this.known = new Map(domain.tasks.map((task) => [wishOf(task), task.id]));
    this.checkState = compileSchema(domain.stateSchema, 'the state');
  }

  /** Judges a proposal; one that is admitted counts against duplicates of it from then on. */
  async admit(proposal: TaskProposal): Promise<Admission> {
    const { task, seed } = proposal;
    const reasons = await this.reasonsAgainst(proposal);
    if (reasons.length > 0 || task === undefined) return { admitted: false, reasons };
    this.admitted++;
    this.known.set(wishOf(task), task.id);
    // Family and split are those of the seed, so that splits hold for what is made of it.
    const { id, family, split } = seed;
    const origin = { seeds: [id], strategy: STRATEGY, modelVersion: '' };
    return { admitted: true, task: { ...task, family, ...(split !== undefined && { split }), origin } };
  }

  /** What speaks against a task by itself, whatever it was made from and whatever others there are. */
  async faultsOf(task: ToolsTask): Promise<readonly Rejection[]> {
    const written = [...shapeFaults(task), ...this.callReasons(task), ...this.startReasons(task)];
    return written.length > 0 ? written : this.playReasons(task);
  }

  /** Cheap reasons first: a kind of check is made only where all before it found nothing. */
  private async reasonsAgainst({ task, seed, problems }: TaskProposal): Promise<readonly Rejection[]> {
    if (task === undefined || problems.length > 0) return problems;
    const kept = isForEvaluation(seed) ? [`its seed "${seed.id}" is kept for ${seed.split}`] : [];
    const written = [...rejections('seed_split', kept), ...shapeFaults(task), ...this.callReasons(task)];
    if (written.length > 0) return written;
    const twin = this.known.get(wishOf(task));
    if (twin !== undefined) return rejections('near_duplicate', [`it says what task "${twin}" says`]);
    const start = this.startReasons(task);
    return start.length > 0 ? start : this.playReasons(task);
  }

  private callReasons({ reference, failures = [] }: ToolsTask): Rejection[] {
    const calls = [...(reference?.calls ?? []), ...failures.flatMap((failure) => failure.calls)];
    return rejections('bad_call', callFaults(this.domain, calls));
  }

  private startReasons(task: ToolsTask): Rejection[] {
    const { rules, initialState } = this.domain;
    try {
      const start = initialStateOf(this.domain, task);
      if (start === initialState) return [];
      return rejections('bad_start', [...this.checkState(start), ...(rules?.invariants(initialState, start) ?? [])]);
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      return rejections('bad_start', [error.message]);
    }
  }

  private async playReasons(task: ToolsTask): Promise<readonly Rejection[]> {
    const { domain, responder } = this;
    const { reasons, played } = await checkReference(domain, task, responder);
    if (reasons.length > 0) return reasons;
    const { findings, refused } = await cheatFindings({ domain, task, responder }, played);
    const passing = findings.filter(this.counts).map(({ problem }) => problem);
    if (passing.length === 0 && refused === 0) passing.push('no way to fail was found that the verifier refuses');
    return rejections('verifier_weak', passing);
  }
}

function rejections(code: RejectionCode, details: readonly string[]): Rejection[] {
  return details.map((detail) => ({ code, detail }));
}

function shapeFaults({ user, verifier, reference }: ToolsTask): Rejection[] {
  const faults: string[] = [];
  if (user.goal.trim() === '') faults.push('it has no goal');
  if (user.goal.length > LONGEST_GOAL) faults.push(`its goal has more than ${LONGEST_GOAL} characters`);
  if (reference === undefined) faults.push('it has no reference solution');
  if ((reference?.calls.length ?? 0) > MOST_CALLS) faults.push(`its reference has more than ${MOST_CALLS} calls`);
  if (Object.values(verifier).every((part) => Array.isArray(part) && part.length === 0))
    faults.push('it has no verifier');
  return rejections('malformed', faults);
}

/** What the user of a task wants and is. What is seen first, where the goal opens it, is no part of that. */
function wishOf({ user }: ToolsTask): string {
  const opening = user.opening?.startsWith(`${user.goal}\n\n`) ? undefined : user.opening;
  return [opening, user.goal, user.persona].filter((part) => part !== undefined).join('\n');
}
