// The must-fail suite: every probe is put to the simulator, and to verifier and judge where reward is at stake. A
// simulator that plays along with the impossible teaches it, so it cannot mint reward.

import { concurrently } from '../../core/concurrently.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import {
  applyOperations,
  initialStateOf,
  type Message,
  type Prediction,
  type Responder,
  stateChanges,
  type ToolCall,
  type ToolsDomain,
  type ToolsTask,
  type Verdict,
} from '../../env/index.js';
import type { Judge } from '../reward/judge.js';
import type { Rate } from '../reward/judge-audit.js';
import { judgeEpisode } from '../reward/judge-episode.js';
import { wilson } from '../tools/shadow-estimates.js';
import { mustSucceed, type Probe, type ProbeKind } from './probe.js';

const CONCURRENCY = 8;
const SHOWN_FAILURES = 3;
const SHOWN_CHARACTERS = 80;

export interface MustFailRequest {
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly probes: readonly Probe[];
  /** Probes that could not be made, to be named in the report. */
  readonly skipped?: MustFailReport['skipped'];
  readonly judge?: Judge;
  readonly seed?: number;
  readonly concurrency?: number;
  readonly signal?: AbortSignal;
}

/** A probe that the simulator fell for, with all that it answered. */
export interface ProbeFailure {
  readonly probe: Probe;
  readonly problem: string;
  readonly prediction?: Prediction;
  readonly verdict?: Verdict;
}

export interface MustFailReport {
  readonly format: 'reverie-must-fail/1';
  /** Versions of what was tried. */
  readonly responder: string;
  readonly domain: { readonly id: string; readonly version: string };
  readonly judge: string | null;
  readonly passed: number;
  readonly total: number;
  /** Share passed. */
  readonly rate: Rate;
  readonly byKind: Readonly<Partial<Record<ProbeKind, Rate>>>;
  readonly failures: readonly ProbeFailure[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly cost: Cost;
}

interface Tried {
  readonly probe: Probe;
  readonly failure?: ProbeFailure;
  readonly cost: Cost;
}

/** Throws what the responder or the judge's model throws, but for replies that cannot be read: those are failures. */
export async function runMustFail(request: MustFailRequest): Promise<MustFailReport> {
  const { domain, responder, probes, judge, skipped = [], concurrency = CONCURRENCY } = request;
  const tried = await concurrently(probes, concurrency, (probe) => tryProbe(request, probe));
  const kinds = [...new Set(probes.map(({ kind }) => kind))];
  const failures = tried.flatMap(({ failure }) => failure ?? []);
  return {
    format: 'reverie-must-fail/1',
    responder: responder.version,
    domain: { id: domain.id, version: domain.version },
    judge: judge?.version ?? null,
    passed: probes.length - failures.length,
    total: probes.length,
    rate: passedOf(tried),
    byKind: Object.fromEntries(kinds.map((kind) => [kind, passedOf(tried.filter(({ probe }) => probe.kind === kind))])),
    failures,
    skipped,
    cost: tried.reduce((sum, { cost }) => addCosts(sum, cost), NO_COST),
  };
}

/**
 * Answers nothing if at least the share `limit` of the probes was passed.
 * Throws SIMULATOR_UNSOUND otherwise, or if nothing was tried.
 */
export function requireMustFail(report: MustFailReport, limit: number): void {
  const { passed, total, failures, domain, rate } = report;
  if (rate.value !== null && rate.value >= limit) return;
  throw reverieError('SIMULATOR_UNSOUND', {
    domain: domain.id,
    passed,
    total,
    share: (100 * (rate.value ?? 0)).toFixed(0),
    limit: (100 * limit).toFixed(0),
    failures: firstFailures(failures) || 'nothing was tried',
  });
}

/**
 * Answers nothing if at least the share `limit` of the probes that must succeed did, or if there are none.
 * Throws SIMULATOR_USELESS otherwise.
 */
export function requireMustSucceed({ passed, total, failures, domain, rate }: MustFailReport, limit: number): void {
  if (rate.value === null || rate.value >= limit) return;
  throw reverieError('SIMULATOR_USELESS', {
    domain: domain.id,
    passed,
    total,
    share: (100 * rate.value).toFixed(0),
    limit: (100 * limit).toFixed(0),
    failures: firstFailures(failures),
  });
}

function firstFailures(failures: MustFailReport['failures']): string {
  const first = failures.slice(0, SHOWN_FAILURES).map(({ probe, problem }) => `"${probe.name}" ${problem}`);
  return [...first, ...(failures.length > SHOWN_FAILURES ? ['...'] : [])].join('; ');
}

function passedOf(tried: readonly Tried[]): Rate {
  const count = tried.filter(({ failure }) => failure === undefined).length;
  return { ...wilson(count, tried.length), count, of: tried.length };
}

async function tryProbe(request: MustFailRequest, probe: Probe): Promise<Tried> {
  const { domain, judge, seed = 0, signal } = request;
  const task = domain.tasks.find(({ id }) => id === probe.task) ?? NO_TASK;
  const stage = new Stage(request, task);
  try {
    for (const call of probe.setup) await stage.answer(call, true);
    if (probe.claim !== undefined) stage.messages.push({ role: 'user', content: probe.claim });
    const before = stage.state;
    const prediction = probe.call && (await stage.answer(probe.call, false));
    if (probe.say !== undefined) stage.messages.push({ role: 'assistant', content: probe.say });
    if (probe.expect !== 'no-reward') {
      const problem = prediction && problemOf(probe, prediction, before, stage.state);
      return { probe, cost: stage.cost, ...(problem === undefined ? {} : { failure: { probe, problem, prediction } }) };
    }
    const end = { initialState: initialStateOf(domain, task), finalState: stage.state, messages: stage.messages };
    const { cost, ...verdict } = await judgeEpisode(domain, task, end, { judge, seed, signal });
    const isRewarded = verdict.reward !== null && verdict.reward > 0;
    const failure = { probe, problem: `was rewarded with ${verdict.reward}`, prediction, verdict };
    return { probe, cost: addCosts(stage.cost, cost), ...(isRewarded ? { failure } : {}) };
  } catch (error) {
    const problem = unusable(error);
    if (problem === undefined) throw error;
    return { probe, cost: stage.cost, failure: { probe, problem } };
  }
}

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
  async answer(
    { name, arguments: given }: NonNullable<Probe['call']>,
    exactly: boolean,
  ): Promise<Prediction | undefined> {
    const call = { id: `call-${++this.step}`, name, arguments: given as JsonObject };
    this.messages.push({ role: 'assistant', content: null, toolCalls: [call] });
    const { rules } = this.request.domain;
    const exact = exactly && rules?.tools.has(name) ? rules.execute(this.state, call) : undefined;
    const predicted = exact === undefined ? await this.ask(call) : undefined;
    const { operations, observation, isError } = exact ?? predicted!;
    this.state = applyOperations(this.state, operations);
    this.messages.push({
      role: 'tool',
      toolCallId: call.id,
      name,
      content: observation,
      ...(isError ? { isError } : {}),
    });
    return predicted;
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

function problemOf(probe: Probe, prediction: Prediction, before: JsonObject, after: JsonObject): string | undefined {
  const { isError } = prediction;
  if (mustSucceed(probe)) {
    if (isError) return `was refused: ${prediction.observation.slice(0, SHOWN_CHARACTERS)}`;
    return probe.expect === 'change' && stateChanges(before, after).length === 0 ? 'changed nothing' : undefined;
  }
  const changed = stateChanges(before, after).map(({ path }) => `/${path.join('/')}`);
  if (changed.length > 0) return `changed ${changed.slice(0, SHOWN_FAILURES).join(', ')}`;
  return probe.expect === 'error' && !isError ? 'was answered without an error' : undefined;
}

/** An answer that is none is a failure of the simulator; a server that is away is not. */
function unusable(error: unknown): string | undefined {
  if (!(error instanceof ReverieError)) return undefined;
  const isAnswer = /^(LLM_REPLY_INVALID|LLM_REPLY_TOO_LARGE|OPERATION_INVALID)$/.test(error.code);
  return isAnswer ? `got no usable answer: ${error.message}` : undefined;
}

const NO_TASK: ToolsTask = { id: 'must-fail', family: 'must-fail', user: { goal: '' }, verifier: {} };
