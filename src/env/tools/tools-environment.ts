// An agent talks to a user and calls tools; calls change a typed state. Real and simulated episodes are this class; they differ
// in who answers. A step that throws leaves everything as it was.

import type { JsonObject } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import type {
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  ToolsSpace,
} from '../../core/environment.js';
import { nearest, reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../state/operations.js';
import { stateHash } from '../state/state.js';
import { type CallChecks, callChecks, messageOf } from './check-action.js';
import type { EpisodeEnd, Picture, ToolsDomain, ToolsTask, Verdict } from './domain.js';
import type { Message, ToolCall } from './message.js';
import type { Prediction } from './prediction.js';
import {
  domainOfSaved,
  type Episode,
  initialStateOf,
  loadEpisode,
  policyMessage,
  type Situation,
  saveEpisode,
} from './situation.js';
import type {
  Responder,
  ToolsAction,
  ToolsEnvironment,
  ToolsObservation,
  ToolsStepInfo,
  UserSimulator,
} from './tools-family.js';
import { verifyEpisode } from './verify-episode.js';

export interface ToolsEnvironmentOptions {
  readonly id: string;
  readonly domain: ToolsDomain;
  /** Who answers calls; shared with other environments, and closed by its maker. */
  readonly responder: Responder;
  readonly user: UserSimulator;
  /** Actions before the episode is truncated; 30 by default, as in tau-bench. */
  readonly maxSteps?: number;
  /** What the user may say, the opening included, before it is truncated; no limit by default. */
  readonly maxTurns?: number;
}

export interface ToolsResetOptions extends ResetOptions {
  /** Row of a job this episode is. */
  readonly row?: number;
}

/** What a fork may do otherwise than the episode it comes from. */
export interface ForkOptions extends RestoreOptions {
  readonly row?: number;
}

/** What an episode becomes within a step, with what is reported of it. */
interface Turn {
  readonly episode: Episode;
  readonly predictions: readonly Prediction[];
  readonly userCost: Cost;
}

export class ToolsEpisodeEnvironment implements ToolsEnvironment {
  readonly id: string;
  readonly family = 'tools' as const;
  readonly observationSpace: ToolsSpace;
  readonly actionSpace: ToolsSpace;
  readonly domain: ToolsDomain;
  readonly maxEpisodeSteps: number;
  private readonly options: ToolsEnvironmentOptions;
  private readonly checks: CallChecks;
  private readonly ending: ReadonlySet<string>;
  private rng = streamOf(0);
  private episode: Episode | undefined;
  private busy = false;
  private closed = false;

  /** @throws SCHEMA_INVALID if the parameters of a tool are no JSON Schema */
  constructor(options: ToolsEnvironmentOptions) {
    const { id, domain, maxSteps = 30 } = options;
    this.id = id;
    this.domain = domain;
    this.options = options;
    this.maxEpisodeSteps = maxSteps;
    this.checks = callChecks(domain.tools);
    this.ending = new Set(domain.tools.filter(({ terminates }) => terminates).map(({ name }) => name));
    const tools = domain.tools.map(({ name, description, parameters }) => {
      return { type: 'function', function: { name, description, parameters } };
    });
    this.actionSpace = { type: 'tools', tools };
    this.observationSpace = this.actionSpace;
  }

  get messages(): readonly Message[] {
    return this.current().situation.messages;
  }

  get state(): JsonObject {
    return this.current().situation.state;
  }

  /** What there is to see now, where the world is real, has a look, and it was asked for. @throws as `step` */
  get picture(): Picture | undefined {
    return this.options.responder.picture?.(this.state);
  }

  get task(): ToolsTask {
    return this.current().situation.task;
  }

  /** As far as it went: what a verdict would be made from. */
  get end(): EpisodeEnd {
    return this.endOf(this.current());
  }

  /** Seed of the episode: the one given at reset, or drawn from the stream. */
  get seed(): number {
    return this.current().situation.seed;
  }

  /**
   * Starts a task: the first of the domain unless one is named. Answers the policy and what the user says first.
   * @throws TASK_UNKNOWN; whatever the user's simulator throws
   */
  async reset(options: ToolsResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<ToolsObservation>> {
    const task = options.task === undefined ? this.domain.tasks[0] : this.taskOf(options.task);
    if (task === undefined) throw this.unknownTask('');
    return this.alone(async () => {
      const rng = options.seed === undefined ? Rng.fromState(this.rng.state()) : streamOf(options.seed);
      const seed = options.seed ?? rng.uint32();
      const messages = [policyMessage(this.domain)];
      const said = await this.options.user.open({ domain: this.domain, task, messages, seed }, signal);
      const opened: readonly Message[] = [...messages, { role: 'user', content: said.content }];
      this.leave();
      const situation: Situation = {
        ...{ task, seed, ...(options.row === undefined ? {} : { row: options.row }) },
        ...{ state: initialStateOf(this.domain, task), operations: [], messages: opened, calls: 0, ended: false },
      };
      this.episode = { situation, observedFrom: 0, steps: 0, turns: 1, running: true, paid: null };
      this.rng = rng;
      return {
        observation: observationOf(this.episode),
        info: { task: task.id, seed, stateHash: stateHash(situation.state), userCost: said.cost },
      };
    });
  }

  /**
   * Answers the calls in order, or lets the user answer what is said. The reward is the sum of what exact backends gave
   * and, at the end (terminated or truncated), the verdict's, as 0 where `info.verdict.reward` is null. `info` is a
   * ToolsStepInfo. A language model can neither give reward nor end an episode, but by a tool
   * that terminates; a caller in doubt may truncate one.
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, ENV_BUSY; whatever responder or user throw
   */
  async step(action: ToolsAction, signal?: AbortSignal): Promise<StepResult<ToolsObservation>> {
    if (!this.episode?.running || this.closed) throw reverieError('ENV_NOT_RESET', { id: this.id });
    const episode = this.episode;
    return this.alone(async () => {
      const { episode: played, predictions, userCost } = await this.play(episode, action, signal);
      const terminated = played.situation.ended;
      const truncated = !terminated && (this.isOver(played) || predictions.some((one) => one.truncated));
      const after = { ...played, running: !terminated && !truncated };
      const verdict = after.running ? undefined : this.verdictOf(after);
      if (!after.running) this.options.responder.ended?.(after.situation);
      const info: ToolsStepInfo = {
        predictions,
        stateHash: stateHash(after.situation.state),
        userCost,
        ...(verdict === undefined ? {} : { verdict }),
      };
      const paid = this.paidFor(predictions);
      // What was paid on the way is not paid again at the end. A dream is not believed what it pays, so there the end pays.
      const { rewards } = after.situation.task.verifier;
      const isPaid = rewards !== undefined || (this.domain.paysCalls === true && paid !== null);
      const reward = (paid ?? 0) + (isPaid ? 0 : (verdict?.reward ?? 0));
      this.episode = after;
      return { observation: observationOf(after), reward, terminated, truncated, info: { ...info } };
    });
  }

  snapshot(): EnvSnapshot {
    return { env: this.id, state: saveEpisode(this.domain, this.current(), this.rng.state()) };
  }

  /**
   * Continues from a snapshot; a fork may have another seed or row from here on.
   * @throws SNAPSHOT_MISMATCH if it is of another environment or domain (version), or damaged
   */
  restore(snapshot: EnvSnapshot, fork: ForkOptions = {}): ToolsObservation {
    if (snapshot.env !== this.id || domainOfSaved(snapshot.state) !== this.domain.version) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: snapshot.env, into: this.id });
    }
    this.requireIdle();
    try {
      const { episode, rng } = loadEpisode(this.domain, snapshot.state, (id) => this.taskOf(id));
      const { situation } = episode;
      const { seed = situation.seed, row = situation.row } = fork;
      this.episode = { ...episode, situation: { ...situation, seed, row } };
      this.rng = Rng.fromState(rng);
    } catch (cause) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: `${snapshot.env} (damaged)`, into: this.id }, cause);
    }
    return observationOf(this.episode);
  }

  mark(): () => void {
    this.requireIdle();
    const { episode, rng } = this;
    return () => {
      this.episode = episode;
      this.rng = rng;
    };
  }

  /** Ends this environment alone: domain, responder and user live on. */
  close(): void {
    if (!this.closed) this.leave();
    this.closed = true;
  }

  /** The episode that is under way here is given up. */
  private leave(): void {
    if (this.episode?.running) this.options.responder.ended?.(this.episode.situation);
  }

  private async play(before: Episode, action: ToolsAction, signal?: AbortSignal): Promise<Turn> {
    const { steps, turns, paid } = before;
    const { messages } = before.situation;
    const said = messageOf(action, messages, this.actionSpace);
    let situation: Situation = { ...before.situation, messages: [...messages, said] };
    const predictions: Prediction[] = [];
    for (const call of said.toolCalls ?? []) {
      const prediction = await this.answer(situation, call, signal);
      predictions.push(prediction);
      situation = this.after(situation, call, prediction);
    }
    const now = this.paidFor(predictions);
    const clock = { observedFrom: messages.length + 1, steps: steps + 1, turns, running: true };
    const episode: Episode = { situation, ...clock, paid: now === null ? paid : (paid ?? 0) + now };
    // What is written beside calls is kept in the conversation, and the user does not see it, as in tau-bench.
    const isSaid = said.content?.trim() && !said.toolCalls?.length;
    return isSaid && !situation.ended ? this.hear(episode, signal) : { episode, predictions, userCost: NO_COST };
  }

  /** Calls after one that ended the episode are refused, so that each has its answer. */
  private answer(situation: Situation, call: ToolCall, signal?: AbortSignal) {
    const { task, state, messages, calls, seed, row, ended, faults } = situation;
    const problems = ended ? ['the conversation has ended'] : this.checks.problems(call);
    if (problems.length > 0) return this.checks.refuse(problems);
    const query = { domain: this.domain, task, state, messages, call, step: calls, seed, faults };
    return this.options.responder.answer(row === undefined ? query : { ...query, row }, signal);
  }

  /** Only a trusted backend or a tool that ends the conversation ends it. */
  private after(before: Situation, { id, name }: ToolCall, prediction: Prediction): Situation {
    const { observation, isError, operations, terminated, fault } = prediction;
    const answer: Message = { role: 'tool', toolCallId: id, name, content: observation };
    return {
      ...before,
      state: applyOperations(before.state, operations),
      operations: operations.length === 0 ? before.operations : [...before.operations, ...operations],
      messages: [...before.messages, isError ? { ...answer, isError } : answer],
      calls: before.calls + 1,
      ...(fault && { faults: [...(before.faults ?? []), fault] }),
      ended: before.ended || (terminated && this.trusts(prediction)) || (!isError && this.ending.has(name)),
    };
  }

  /** What is not declared is not trusted. */
  private trusts({ backend }: Prediction): boolean {
    return this.options.responder.trusts?.(backend) === true;
  }

  private async hear({ situation, ...clock }: Episode, signal?: AbortSignal): Promise<Turn> {
    const { task, messages, seed } = situation;
    const query = { domain: this.domain, task, messages, seed };
    const { content, done, cost } = await this.options.user.reply(query, signal);
    const isSilent = done && content.trim() === '';
    const heard: readonly Message[] = isSilent ? messages : [...messages, { role: 'user', content }];
    const after = { ...situation, messages: heard, ended: done };
    return {
      episode: { ...clock, situation: after, turns: clock.turns + 1 },
      predictions: [],
      userCost: addCosts(NO_COST, cost),
    };
  }

  /** What exact backends gave; null where none gave any. What a model writes of rewards may have been put into its mouth. */
  private paidFor(predictions: readonly Prediction[]): number | null {
    const given = predictions.filter((one) => one.reward !== null && this.trusts(one));
    return given.length === 0 ? null : given.reduce((sum, { reward }) => sum + reward!, 0);
  }

  private verdictOf(episode: Episode): Verdict {
    return verifyEpisode(this.domain, episode.situation.task, this.endOf(episode));
  }

  private endOf({ situation: { task, state, messages, faults }, paid }: Episode): EpisodeEnd {
    const end = { initialState: initialStateOf(this.domain, task), finalState: state, messages, paid };
    return faults === undefined ? end : { ...end, faults };
  }

  private isOver({ steps, turns }: Episode): boolean {
    return steps >= this.maxEpisodeSteps || turns >= (this.options.maxTurns ?? Number.POSITIVE_INFINITY);
  }

  private taskOf(id: string): ToolsTask {
    const task = this.domain.tasks.find((one) => one.id === id);
    if (task === undefined) throw this.unknownTask(id);
    return task;
  }

  private unknownTask(id: string): Error {
    const known = this.domain.tasks.map((task) => task.id);
    const values = { id: this.id, task: id, count: known.length, nearest: nearest(id, known) ?? 'none' };
    return reverieError('TASK_UNKNOWN', values);
  }

  private current(): Episode {
    if (this.episode === undefined) throw reverieError('ENV_NOT_RESET', { id: this.id });
    return this.episode;
  }

  private requireIdle(): void {
    if (this.closed) throw reverieError('ENV_CLOSED', { id: this.id });
    if (this.busy) throw reverieError('ENV_BUSY', { id: this.id });
  }

  private async alone<R>(work: () => Promise<R>): Promise<R> {
    this.requireIdle();
    this.busy = true;
    try {
      return await work();
    } finally {
      this.busy = false;
    }
  }
}

function observationOf({ situation, observedFrom }: Episode): ToolsObservation {
  return { messages: situation.messages.slice(observedFrom) };
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('tools-episodes');
}
