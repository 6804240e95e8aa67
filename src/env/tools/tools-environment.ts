// Episodes of tools: an agent talks to a user and calls tools, calls change a typed state. Real and dreamt ones are this
// class; they differ in the responder. A step that throws leaves everything as it was.

import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import type { EnvSnapshot, ResetOptions, ResetResult, RestoreOptions, StepResult } from '../../core/environment.js';
import { nearest, reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { Rng } from '../../core/rng.js';
import type { ToolsSpace } from '../../core/spaces.js';
import { applyOperations } from '../state/operations.js';
import { stateHash } from '../state/state-hash.js';
import { type CallChecks, callChecks } from './call-checks.js';
import { messageOf } from './check-action.js';
import type { ToolSpec, ToolsDomain, ToolsTask, Verdict } from './domain.js';
import { domainOfSaved, type Episode, loadEpisode, policyMessage, saveEpisode } from './episode.js';
import type { AssistantMessage, Message, ToolCall } from './message.js';
import type { Prediction } from './prediction.js';
import { initialStateOf } from './task-states.js';
import type {
  Responder,
  ToolsAction,
  ToolsEnvironment,
  ToolsObservation,
  ToolsStepInfo,
  UserQuery,
  UserSimulator,
} from './tools-family.js';
import { verifyEpisode } from './verify-episode.js';

export interface ToolsEnvironmentOptions {
  readonly id: string;
  readonly domain: ToolsDomain;
  /** Who answers calls; shared with other environments, and closed by whoever made it. */
  readonly responder: Responder;
  /** Who talks to the agent. */
  readonly user: UserSimulator;
  /** Actions before the episode is truncated; 30 by default, as in tau-bench. */
  readonly maxSteps?: number;
  /** What the user may say, the opening included, before it is truncated; no limit by default. */
  readonly maxTurns?: number;
  /**
   * What is written beside calls is said to the user, who answers after the calls were. By default it is kept in the
   * conversation and the user does not see it, as in tau-bench.
   */
  readonly allowSayAndCall?: boolean;
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
  readonly terminated: boolean;
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
  private readonly tools: ReadonlyMap<string, ToolSpec>;
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
    this.tools = new Map(domain.tools.map((tool) => [tool.name, tool]));
    this.actionSpace = { type: 'tools', tools: domain.tools.map(functionSchema) };
    this.observationSpace = this.actionSpace;
  }

  get messages(): readonly Message[] {
    return this.current().messages;
  }

  get state(): JsonObject {
    return this.current().state;
  }

  get task(): ToolsTask {
    return this.current().task;
  }

  /** Seed of the episode: the one given at reset, or drawn from the stream. */
  get seed(): number {
    return this.current().seed;
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
      const { row } = options;
      const state = initialStateOf(this.domain, task);
      const start = { task, seed, row, state, operations: [], observedFrom: 0, calls: 0, steps: 0, turns: 1 };
      this.episode = { ...start, messages: [...messages, { role: 'user', content: said.content }], running: true };
      this.rng = rng;
      return {
        observation: observationOf(this.episode),
        info: { task: task.id, seed, stateHash: stateHash(state), userCost: said.cost },
      };
    });
  }

  /**
   * Answers the calls in order, or lets the user answer what is said. The reward is the sum of what exact backends gave
   * and, at the end (terminated or truncated), the verdict's, as 0 where `info.verdict.reward` is null. `info` is a
   * ToolsStepInfo. A language model can neither give reward nor end an episode, but by a tool
   * that terminates; doubt of whoever runs it may truncate one.
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, ENV_BUSY; whatever responder or user throw
   */
  async step(action: ToolsAction, signal?: AbortSignal): Promise<StepResult<ToolsObservation>> {
    if (!this.episode?.running || this.closed) throw reverieError('ENV_NOT_RESET', { id: this.id });
    const episode = this.episode;
    const message = messageOf(action, episode.messages, this.actionSpace);
    return this.alone(async () => {
      const turn = await this.play(episode, message, signal);
      const { terminated, predictions, userCost } = turn;
      const truncated = !terminated && (this.isOver(turn.episode) || predictions.some((one) => one.truncated));
      const after = { ...turn.episode, running: !terminated && !truncated };
      const verdict = after.running ? undefined : this.verdictOf(after);
      const info: ToolsStepInfo = {
        predictions,
        stateHash: stateHash(after.state),
        userCost,
        ...(verdict === undefined ? {} : { verdict }),
      };
      const reward = predictions.reduce(
        (sum, one) => sum + (this.isTrusted(one) ? (one.reward ?? 0) : 0),
        verdict?.reward ?? 0,
      );
      this.episode = after;
      return { observation: observationOf(after), reward, terminated, truncated, info: { ...info } };
    });
  }

  snapshot(): EnvSnapshot {
    return { env: this.id, state: saveEpisode(this.domain, this.current(), this.rng.state()) };
  }

  /**
   * Goes on from a snapshot; a fork may have another seed or row from here on.
   * @throws SNAPSHOT_MISMATCH if it is of another environment or domain (version), or damaged
   */
  restore(snapshot: EnvSnapshot, fork: ForkOptions = {}): ToolsObservation {
    if (snapshot.env !== this.id || domainOfSaved(snapshot.state) !== this.domain.version) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: snapshot.env, into: this.id });
    }
    this.requireIdle();
    try {
      const { episode, rng } = loadEpisode(this.domain, snapshot.state, (id) => this.taskOf(id));
      const { seed = episode.seed, row = episode.row } = fork;
      this.episode = { ...episode, seed, row };
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
    this.closed = true;
  }

  private async play(before: Episode, message: AssistantMessage, signal?: AbortSignal): Promise<Turn> {
    const observedFrom = before.messages.length + 1;
    const messages = [...before.messages, message];
    const asked: Turn = {
      episode: { ...before, messages, observedFrom, steps: before.steps + 1 },
      predictions: [],
      userCost: NO_COST,
      terminated: false,
    };
    const calls = message.toolCalls ?? [];
    let turn = asked;
    for (const call of calls) turn = await this.answer(turn, call, signal);
    const isSaid = message.content?.trim() && (calls.length === 0 || this.options.allowSayAndCall);
    return isSaid && !turn.terminated ? this.hear(turn, signal) : turn;
  }

  private async answer(turn: Turn, call: ToolCall, signal?: AbortSignal): Promise<Turn> {
    const { episode } = turn;
    const prediction = await this.predict(turn, call, signal);
    const { observation, isError, operations } = prediction;
    const told: Message = { role: 'tool', toolCallId: call.id, name: call.name, content: observation };
    return {
      ...turn,
      predictions: [...turn.predictions, prediction],
      episode: {
        ...episode,
        state: applyOperations(episode.state, operations),
        operations: operations.length === 0 ? episode.operations : [...episode.operations, ...operations],
        messages: [...episode.messages, isError ? { ...told, isError } : told],
        calls: episode.calls + 1,
      },
      terminated:
        turn.terminated || (this.isTrusted(prediction) && prediction.terminated) || (this.endsBy(call) && !isError),
    };
  }

  /** Calls after one that ended the episode are refused, so that each has its answer. */
  private predict(turn: Turn, call: ToolCall, signal?: AbortSignal): Prediction | Promise<Prediction> {
    const problems = turn.terminated ? ['the conversation has ended'] : this.checks.problems(call);
    if (problems.length > 0) return this.checks.refuse(problems);
    const { task, state, messages, calls, seed, row } = turn.episode;
    const query = { domain: this.domain, task, state, messages, call, step: calls, seed };
    return Promise.resolve(this.options.responder.answer(row === undefined ? query : { ...query, row }, signal));
  }

  private async hear(turn: Turn, signal?: AbortSignal): Promise<Turn> {
    const { episode } = turn;
    const query: UserQuery = {
      domain: this.domain,
      task: episode.task,
      messages: episode.messages,
      seed: episode.seed,
    };
    const { content, done, cost } = await this.options.user.reply(query, signal);
    const isSilent = done && content.trim() === '';
    const messages: readonly Message[] = isSilent ? episode.messages : [...episode.messages, { role: 'user', content }];
    return {
      ...turn,
      episode: { ...episode, messages, turns: episode.turns + 1 },
      userCost: addCosts(turn.userCost, cost),
      terminated: done,
    };
  }

  /** What a model writes may have been put into its mouth: only who is declared exact has a say in reward and end. */
  private isTrusted({ backend }: Prediction): boolean {
    return this.options.responder.trusts?.(backend) === true;
  }

  private verdictOf({ task, state, messages }: Episode): Verdict {
    const initialState = initialStateOf(this.domain, task);
    return verifyEpisode(this.domain, task, { initialState, finalState: state, messages });
  }

  private isOver({ steps, turns }: Episode): boolean {
    return steps >= this.maxEpisodeSteps || turns >= (this.options.maxTurns ?? Number.POSITIVE_INFINITY);
  }

  private endsBy({ name }: ToolCall): boolean {
    return this.tools.get(name)?.terminates === true;
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

function observationOf({ messages, observedFrom }: Episode): ToolsObservation {
  return { messages: messages.slice(observedFrom) };
}

function functionSchema({ name, description, parameters }: ToolSpec): Record<string, unknown> {
  return { type: 'function', function: { name, description, parameters } };
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('tools-episodes');
}
