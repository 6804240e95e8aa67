// Tries a simulator on probes, and reports what it was taken in by and what it refused.

import type { JsonObject } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { concurrently } from '../../core/threads.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolOutcome, ToolsDomain, ToolsTask, Verdict } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { stateChanges } from '../../env/tools/verify-episode.js';
import { type Judge, judgeEpisode } from '../reward/judge.js';
import { type Rate, rateOf } from '../reward/judge-audit.js';
import { type AnswerTruth, isTrueAnswer, isTrueChange } from './answer-truth.js';
import { mustSucceed, type Probe, type ProbeKind } from './probes.js';

const CONCURRENCY = 8;
const SHOWN_FAILURES = 3;
const SHOWN_CHARACTERS = 80;
const SHOWN_REASON = 200;

interface MustFailRequest {
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly probes: readonly Probe[];
  /** Probes that could not be made, to be named in the report. */
  readonly skipped?: MustFailReport['skipped'];
  readonly judge?: Judge;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

/** What a simulator did in place of what it must, and that in words. */
interface Fault {
  readonly fault:
    | 'refused'
    | 'without an answer'
    | 'silent'
    | 'changed nothing'
    | 'changed otherwise'
    | 'untrue'
    | 'fallen for';
  readonly problem: string;
}

/** A probe that the simulator failed, with all that it answered. */
interface ProbeFailure extends Fault {
  readonly probe: Probe;
  readonly prediction?: Prediction;
  readonly verdict?: Verdict;
}

export interface MustFailReport {
  readonly format: 'reverie-must-fail/2';
  /** Versions of what was tried. */
  readonly responder: string;
  readonly domain: { readonly id: string; readonly version: string };
  readonly judge: string | null;
  readonly passed: number;
  readonly total: number;
  /** Share passed. */
  readonly rate: Rate;
  readonly byKind: Readonly<Partial<Record<ProbeKind, Rate>>>;
  /** Failures by what was done instead. */
  readonly byFault: Readonly<Partial<Record<Fault['fault'], number>>>;
  readonly failures: readonly ProbeFailure[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly cost: Cost;
}

type Tried = Pick<ProbeFailure, 'probe'> & { readonly failure?: ProbeFailure; readonly cost: Cost };

/** Throws what the responder or the judge's model throws, but for replies that cannot be read: those are failures. */
export async function runMustFail(request: MustFailRequest): Promise<MustFailReport> {
  const { domain, responder, probes, judge, skipped = [] } = request;
  const tried = await concurrently(probes, CONCURRENCY, (probe) => tryProbe(request, probe));
  const kinds = [...new Set(probes.map(({ kind }) => kind))];
  const failures = tried.flatMap(({ failure }) => failure ?? []);
  const byFault: Partial<Record<Fault['fault'], number>> = {};
  for (const { fault } of failures) byFault[fault] = (byFault[fault] ?? 0) + 1;
  return {
    format: 'reverie-must-fail/2',
    responder: responder.version,
    domain: { id: domain.id, version: domain.version },
    judge: judge?.version ?? null,
    passed: probes.length - failures.length,
    total: probes.length,
    rate: passedOf(tried),
    byKind: Object.fromEntries(kinds.map((kind) => [kind, passedOf(tried.filter(({ probe }) => probe.kind === kind))])),
    byFault,
    failures,
    skipped,
    cost: tried.reduce((sum, { cost }) => addCosts(sum, cost), NO_COST),
  };
}

/** @throws SIMULATOR_UNSOUND unless at least the share `limit` of the probes was passed, or if nothing was tried */
export function requireMustFail(report: MustFailReport, limit: number): void {
  if (report.rate.value !== null && report.rate.value >= limit) return;
  throw reverieError('SIMULATOR_UNSOUND', refusalOf(report, limit));
}

/** @throws SIMULATOR_USELESS unless at least the share `limit` of the probes that must succeed did, or there are none */
export function requireMustSucceed(report: MustFailReport, limit: number): void {
  if (report.rate.value === null || report.rate.value >= limit) return;
  throw reverieError('SIMULATOR_USELESS', { ...refusalOf(report, limit), faults: faultsText(report.byFault) });
}

function refusalOf({ passed, total, failures, domain, rate }: MustFailReport, limit: number) {
  const first = failures.slice(0, SHOWN_FAILURES).map(({ probe, problem }) => `"${probe.name}" ${problem}`);
  const shown = [...first, ...(failures.length > SHOWN_FAILURES ? ['...'] : [])].join('; ');
  return {
    ...{ domain: domain.id, passed, total },
    share: (100 * (rate.value ?? 0)).toFixed(0),
    limit: (100 * limit).toFixed(0),
    failures: shown || 'nothing was tried',
  };
}

/** `12 refused, 3 untrue`: the most frequent first. */
export function faultsText(byFault: MustFailReport['byFault']): string {
  const counts = Object.entries(byFault).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return counts.map(([fault, count]) => `${count} ${fault}`).join(', ');
}

function passedOf(tried: readonly Tried[]): Rate {
  return rateOf(tried.filter(({ failure }) => failure === undefined).length, tried.length);
}

async function tryProbe(request: MustFailRequest, probe: Probe): Promise<Tried> {
  const { domain, judge, seed = 0, signal } = request;
  const task = domain.tasks.find(({ id }) => id === probe.task) ?? NO_TASK;
  const stage = new Stage(request, task);
  try {
    for (const call of probe.setup) await stage.answer(call, true);
    if (probe.claim !== undefined) stage.messages.push({ role: 'user', content: probe.claim });
    const before = stage.state;
    const truth = mustSucceed(probe) && probe.call ? stage.truth(probe.call) : undefined;
    const prediction = probe.call && (await stage.answer(probe.call, false));
    if (probe.say !== undefined) stage.messages.push({ role: 'assistant', content: probe.say });
    if (probe.expect !== 'no-reward') {
      const found = prediction && problemOf(probe, { prediction, truth, before, after: stage.state });
      return { probe, cost: stage.cost, ...(found === undefined ? {} : { failure: { probe, ...found, prediction } }) };
    }
    const end = { initialState: initialStateOf(domain, task), finalState: stage.state, messages: stage.messages };
    const { cost, ...verdict } = await judgeEpisode(domain, task, end, { judge, seed, signal });
    const isRewarded = verdict.reward !== null && verdict.reward > 0;
    const problem = `was rewarded with ${verdict.reward}`;
    const failure = { probe, fault: 'fallen for', problem, prediction, verdict } as const;
    return { probe, cost: addCosts(stage.cost, cost), ...(isRewarded ? { failure } : {}) };
  } catch (error) {
    const problem = unusable(error);
    if (problem === undefined) throw error;
    return { probe, cost: stage.cost, failure: { probe, fault: 'without an answer', problem } };
  }
}

type ProbeCall = NonNullable<Probe['call']>;

/** Where a probe takes place: the conversation and the state as they stand. */
class Stage {
  state: JsonObject;
  cost: Cost = NO_COST;
  readonly messages: Message[];
  private step = 0;

  constructor(
    private readonly request: MustFailRequest,
    private readonly task: ToolsTask,
  ) {
    const { domain } = request;
    this.state = initialStateOf(domain, task);
    this.messages = [
      { role: 'system', content: domain.policy },
      { role: 'user', content: task.user.opening ?? 'Hello.' },
    ];
  }

  /** Answers a call, by exact rules if that is wanted and they know it, and changes the state by the answer. */
  async answer(given: ProbeCall, exactly: boolean): Promise<Prediction | undefined> {
    const exact = exactly ? this.truth(given) : undefined;
    const call = { id: `call-${++this.step}`, name: given.name, arguments: given.arguments as JsonObject };
    this.messages.push({ role: 'assistant', content: null, toolCalls: [call] });
    const predicted = exact === undefined ? await this.ask(call) : undefined;
    const { operations, observation: content, isError } = exact ?? predicted!;
    this.state = applyOperations(this.state, operations);
    const failed = isError ? { isError } : {};
    this.messages.push({ role: 'tool', toolCallId: call.id, name: call.name, content, ...failed });
    return predicted;
  }

  /** What the rules do with a call here, where they know it. */
  truth({ name, arguments: given }: ProbeCall): ToolOutcome | undefined {
    const { rules } = this.request.domain;
    if (!rules?.tools.has(name)) return undefined;
    return rules.execute(this.state, { id: `call-${this.step + 1}`, name, arguments: given as JsonObject });
  }

  private async ask(call: ToolCall): Promise<Prediction> {
    const { domain, responder, seed = 0, signal } = this.request;
    const { task, state, step } = this;
    const query = { domain, task, state, messages: [...this.messages], call, step: step - 1, seed };
    const prediction = await responder.answer(query, signal);
    this.cost = addCosts(this.cost, prediction.cost);
    return prediction;
  }
}

interface Answered {
  readonly prediction: Prediction;
  /** What the rules do at the same place, where they know the call. */
  readonly truth: ToolOutcome | undefined;
  readonly before: JsonObject;
  readonly after: JsonObject;
}

function problemOf(probe: Probe, answered: Answered): Fault | undefined {
  if (mustSucceed(probe)) return problemOfSuccess(probe, answered);
  const { prediction, before, after } = answered;
  const changed = changedPaths(before, after);
  if (changed !== '') return { fault: 'fallen for', problem: `changed ${changed}` };
  if (probe.expect !== 'error' || prediction.isError) return undefined;
  return { fault: 'fallen for', problem: 'was answered without an error' };
}

function problemOfSuccess({ expect, call, truth: known }: Probe, answered: Answered): Fault | undefined {
  const { prediction, truth, before, after } = answered;
  const { isError, observation, refused } = prediction;
  const shown = observation.slice(0, SHOWN_CHARACTERS);
  if (refused !== undefined) {
    return { fault: 'without an answer', problem: `got no usable answer: ${refused.at(-1)?.slice(0, SHOWN_REASON)}` };
  }
  if (isError) return { fault: 'refused', problem: `was refused: ${shown}` };
  if (expect === 'change') {
    const changed = changedPaths(before, after);
    if (changed === '') return { fault: 'changed nothing', problem: 'changed nothing' };
    if (truth === undefined || isTrueChange(before, applyOperations(before, truth.operations), after)) return undefined;
    return { fault: 'changed otherwise', problem: `changed ${changed}, which is not what the call does` };
  }
  if (observation.trim() === '') return { fault: 'silent', problem: 'was answered with nothing' };
  const says: AnswerTruth | undefined = truth === undefined ? known : { says: truth.observation, from: 'rules' };
  const given = (call?.arguments ?? {}) as JsonObject;
  if (says === undefined || isTrueAnswer(says, observation, given)) return undefined;
  return { fault: 'untrue', problem: `was answered with what is not so: ${shown}` };
}

function changedPaths(before: JsonObject, after: JsonObject): string {
  const paths = stateChanges(before, after).map(({ path }) => `/${path.join('/')}`);
  return paths.slice(0, SHOWN_FAILURES).join(', ');
}

/** An answer that is none is a failure of the simulator; a server that is away is not. */
function unusable(error: unknown): string | undefined {
  if (!(error instanceof ReverieError)) return undefined;
  const isAnswer = /^(LLM_REPLY_INVALID|LLM_REPLY_TOO_LARGE|OPERATION_INVALID)$/.test(error.code);
  return isAnswer ? `got no usable answer: ${error.message}` : undefined;
}

const NO_TASK: ToolsTask = { id: 'must-fail', family: 'must-fail', user: { goal: '' }, verifier: {} };
