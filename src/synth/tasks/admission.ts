// Which proposals become tasks: those that are new, begin in a sound state, are solved by their reference and whose
// verifier refuses every way to fail. Nothing is admitted because a language model said so.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { compileSchema, type SchemaCheck, stateHash } from '../../env/state/state.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { gramHashes, wordsOf } from '../quality/overlap-filters.js';
import { Entities, isRecord } from './entity-swap.js';
import {
  callFaults,
  checkReference,
  checksOf,
  isForEvaluation,
  type Played,
  playCalls,
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
/** Words in a row that a task may not share with one for evaluation. */
const CONTAMINATION_WORDS = 8;
/** Ways to fail made from the reference, beside those that are given. */
const MOST_FAILURES = 8;

export class Admissions {
  /** How many were admitted. */
  admitted = 0;
  /** What users of tasks want, to the task that says it first. */
  private readonly known: Map<string, string>;
  private readonly contamination: Contamination;
  private readonly checkState: SchemaCheck;
  private readonly writes: ReadonlySet<string>;
  private readonly responder: Responder;

  /**
   * @param responder  what answers calls; default: the domain's rules
   * @throws SCENARIO_UNFIT if neither rules nor a responder can play a task
   */
  constructor(
    private readonly domain: ToolsDomain,
    responder?: Responder,
  ) {
    if (responder === undefined && domain.rules === undefined)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `Domain "${domain.id}" has no rules to play new tasks by, and nothing else answers its calls.`,
        hint: 'Give the domain rules, or a world model that answers in their place.',
      });
    this.responder = responder ?? rulesResponder(domain, 'rules');
    this.known = new Map(domain.tasks.map((task) => [wishOf(task), task.id]));
    this.writes = new Set(domain.tools.filter(({ kind }) => kind === 'write').map(({ name }) => name));
    this.contamination = new Contamination(domain.tasks.filter(isForEvaluation));
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
    const known = this.newness(task, seed);
    if (known.length > 0) return known;
    const start = this.startReasons(task);
    return start.length > 0 ? start : this.playReasons(task);
  }

  private callReasons({ reference, failures = [] }: ToolsTask): Rejection[] {
    const calls = [...(reference?.calls ?? []), ...failures.flatMap((failure) => failure.calls)];
    return rejections('bad_call', callFaults(this.domain, calls));
  }

  private newness(task: ToolsTask, seed: ToolsTask): Rejection[] {
    const twin = this.known.get(wishOf(task));
    if (twin !== undefined) return rejections('near_duplicate', [`it says what task "${twin}" says`]);
    const leak = this.contamination.leak(task, seed);
    return rejections('contaminated', leak === undefined ? [] : [leak]);
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
    const { reasons, played } = await checkReference(this.domain, task, this.responder);
    return reasons.length > 0 ? reasons : this.failureReasons(task, played);
  }

  private async failureReasons(task: ToolsTask, reference: Played): Promise<Rejection[]> {
    const given: readonly FailureCase[] = task.failures ?? [];
    const demandsChange = this.demandsChange(task, reference);
    const made = failureCases(this.domain, task, reference, demandsChange).slice(0, MOST_FAILURES);
    const { finalState } = reference.end;
    const passing: string[] = [];
    let refused = 0;
    for (const failure of [...given, ...made]) {
      const { domain, responder } = this;
      const { end } = await playCalls({ domain, task, responder }, failure.calls, failure.say);
      // What ends as the reference does and is said alike is no failure, however it was made.
      const isAlike = stateHash(end.finalState) === stateHash(finalState) && failure.say === task.reference!.say;
      if (isAlike && !given.includes(failure)) continue;
      if (checksOf(domain, task, end, finalState).some(({ passed }) => passed === false)) refused++;
      else passing.push(`the verifier lets pass who ${failure.name}`);
    }
    if (passing.length === 0 && refused === 0) passing.push('no way to fail was found that the verifier refuses');
    return rejections('verifier_weak', passing);
  }

  /** Whether the verifier looks for a change; else the solution is to tell something, or to refrain. */
  private demandsChange(task: ToolsTask, { end: { initialState, finalState } }: Played): boolean {
    const { state, called, assert = [] } = task.verifier;
    if (called?.some(({ name }) => this.writes.has(name))) return true;
    if (state !== undefined) return stateHash(initialState) !== stateHash(finalState);
    const start = { initialState, finalState: initialState, messages: [] };
    const asserted = checksOf(this.domain, { ...task, verifier: { assert } }, start, initialState);
    return asserted.some(({ passed }) => passed === false);
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

interface FailureCase {
  readonly name: string;
  readonly calls: readonly CallSpec[];
  readonly say?: string;
}

/**
 * Ways to fail a task, made from its reference: doing nothing, saying nothing; and where a change is demanded: claiming without
 * doing, one write left out, one write on another entity, one argument that the user named swapped.
 */
function failureCases(
  { tools }: ToolsDomain,
  task: ToolsTask,
  reference: Played,
  demandsChange: boolean,
): FailureCase[] {
  const { calls = [], say } = task.reference ?? {};
  const mustTell = (task.verifier.communicate ?? []).length > 0;
  const writes = reference.answers.flatMap(({ prediction }, i) => (prediction.operations.length > 0 ? [i] : []));
  const cases: FailureCase[] = [];
  if (demandsChange || mustTell) cases.push({ name: 'does nothing', calls: [] });
  if (mustTell) cases.push({ name: 'tells nothing', calls });
  if (!demandsChange) return cases;
  cases.push({ name: 'claims without doing', calls: calls.filter((_, i) => !writes.includes(i)), say: say ?? 'Done.' });
  if (writes.length > 1)
    for (const at of writes)
      cases.push({
        name: `leaves out ${calls[at].name} (call ${at + 1})`,
        calls: calls.filter((_, i) => i !== at),
        say,
      });
  const changed = (at: number, key: string, value: Json, shown: string): FailureCase => ({
    name: `${calls[at].name} with ${key} ${shown}`,
    calls: calls.map((call, i) => (i === at ? { ...call, arguments: { ...call.arguments, [key]: value } } : call)),
    say,
  });
  const entities = new Entities(reference.end.initialState);
  for (const at of writes)
    for (const [key, value] of Object.entries(calls[at].arguments)) {
      const other = nextEntity(entities, value);
      if (other !== undefined) cases.push(changed(at, key, other, other));
    }
  const wish = spoken(wishOf(task));
  for (const at of writes) {
    const tool = tools.find(({ name }) => name === calls[at].name);
    const properties = (tool?.parameters.properties ?? {}) as JsonObject;
    for (const [key, value] of Object.entries(calls[at].arguments)) {
      const other = otherValue(value, properties[key]);
      // A value that the user names: another value is another wish.
      if (other !== undefined && isNamed(wish, value)) cases.push(changed(at, key, other, JSON.stringify(other)));
    }
  }
  return cases;
}

/** Another entity of the collection that a value names one of. */
function nextEntity(entities: Entities, value: Json): string | undefined {
  const entity = typeof value === 'string' ? entities.find(value) : undefined;
  if (entity === undefined) return undefined;
  const ids = [...entities.collections.get(entity.collection)!.keys()];
  const other = ids[(ids.indexOf(entity.id) + 1) % ids.length];
  return other === entity.id ? undefined : other;
}

/** Another value that the schema allows, where that is easily found. */
function otherValue(value: Json, schema: Json | undefined): Json | undefined {
  const choices = isRecord(schema ?? null) ? (schema as JsonObject).enum : undefined;
  if (Array.isArray(choices)) return choices.find((choice) => choice !== value);
  if (typeof value === 'number') return value + 1;
  return typeof value === 'boolean' ? !value : undefined;
}

function isNamed(wish: string, value: Json): boolean {
  if (typeof value === 'number') return new RegExp(`(?<![\\d.])${value}(?![\\d]|\\.\\d)`).test(wish);
  return typeof value === 'string' && value.length > 0 && wish.includes(spoken(value));
}

function spoken(text: string): string {
  return text.toLowerCase().replaceAll('_', ' ');
}

/** What the user of a task wants and is. What is seen first, where the goal opens it, is no part of that. */
function wishOf({ user }: ToolsTask): string {
  const opening = user.opening?.startsWith(`${user.goal}\n\n`) ? undefined : user.opening;
  return [opening, user.goal, user.persona].filter((part) => part !== undefined).join('\n');
}

/** Words of tasks kept for evaluation, which nothing made for training may share. */
class Contamination {
  private readonly grams = new Map<number, string>();

  constructor(evaluation: readonly ToolsTask[]) {
    for (const task of evaluation) {
      const words = wordsOf(wishOf(task));
      if (words.length >= CONTAMINATION_WORDS)
        for (const gram of gramHashes(words, CONTAMINATION_WORDS)) this.grams.set(gram, task.id);
    }
  }

  /** One sentence, or undefined. Words that the seed has itself are no leak. */
  leak(task: ToolsTask, seed: ToolsTask): string | undefined {
    const words = wordsOf(wishOf(task));
    const own = new Set(gramHashes(wordsOf(wishOf(seed)), CONTAMINATION_WORDS));
    for (const [i, gram] of gramHashes(words, CONTAMINATION_WORDS).entries()) {
      const from = own.has(gram) ? undefined : this.grams.get(gram);
      const shared = words.slice(i, i + CONTAMINATION_WORDS).join(' ');
      if (from !== undefined) return `it says "${shared}" as task "${from}" does, which is kept for evaluation`;
    }
    return undefined;
  }
}
