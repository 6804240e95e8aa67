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
import { nameHint, ReverieError, reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { fromSnapshot } from '../space-values.js';
import { applyOperations } from '../state/operations.js';
import { stateHash } from '../state/state.js';
import { type CallChecks, callChecks, messageOf } from './check-action.js';
import type { CallSpec, EpisodeEnd, Picture, ToolsDomain, ToolsTask } from './domain.js';
import { type Message, seenByAgent, type ToolCall, type UserCall } from './message.js';
import { type EpisodeFacts, isOfPolicy, type Settled, settle, withAnswers, withoutReward } from './outcome.js';
import type { Prediction } from './prediction.js';
import { type Episode, initialStateOf, loadEpisode, policyMessage, type Situation, saveEpisode } from './situation.js';
import type {
  Responder,
  ToolsAction,
  ToolsEnvironment,
  ToolsObservation,
  ToolsStepInfo,
  UserQuery,
  UserSimulator,
  UserTurn,
} from './tools-family.js';
import { GIVES_UP } from './user-manner.js';
import { verifyEpisode } from './verify-episode.js';

export interface ToolsEnvironmentOptions {
  readonly id: string;
  readonly domain: ToolsDomain;
  /** Who answers calls; shared with other environments, and closed by its maker. */
  readonly responder: Responder;
  readonly user: UserSimulator;
  /** Actions before the episode is truncated; 30 by default, as in tau-bench. */
  readonly maxSteps?: number;
  /** Why no episode of a task may receive a reward, regardless of its checks; undefined if it may. */
  readonly withheld?: (task: ToolsTask) => Promise<string | undefined>;
  /** What the user may say, the opening included, before it is truncated; no limit by default. */
  readonly maxTurns?: number;
  /** Number of user messages, with the opening, before it loses patience and leaves; unlimited by default. */
  readonly patience?: number;
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
  readonly userPredictions?: readonly Prediction[];
  readonly userCost: Cost;
}

/** Limit on the user's own calls between two of its messages. */
const MAX_USER_CALLS = 10;

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

  /** Facts for the outcome, as far as they are known. */
  get facts(): EpisodeFacts {
    return this.current().facts;
  }

  /** The outcome if the episode ends here, regardless of earlier rewards. */
  settled(): Promise<Settled> {
    return this.settledOf({ ...this.current(), paid: null });
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
      this.episode = { situation, observedFrom: 0, steps: 0, turns: 1, running: true, paid: null, facts: {} };
      this.rng = rng;
      return {
        observation: observationOf(this.episode),
        info: { task: task.id, seed, stateHash: stateHash(situation.state), userCost: said.cost },
      };
    });
  }

  /**
   * Answers the calls in order, or lets the user answer what is said. The reward is the sum of what exact backends gave
   * and, at the end (terminated or truncated), the verdict's, as 0 where `info.verdict.reward` is null: `info.outcome` says why.
   * `info` is a ToolsStepInfo. A user that breaks down ends the episode, truncated, and fails no step. A language model can neither give reward nor end an episode, but by a tool
   * that terminates; a caller in doubt may truncate one.
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, ENV_BUSY; whatever responder or user throw
   */
  async step(action: ToolsAction, signal?: AbortSignal): Promise<StepResult<ToolsObservation>> {
    if (!this.episode?.running || this.closed) throw reverieError('ENV_NOT_RESET', { id: this.id });
    const episode = this.episode;
    return this.alone(async () => {
      const { episode: played, predictions, userPredictions, userCost } = await this.play(episode, action, signal);
      const terminated = played.situation.ended;
      const ranOut = terminated ? undefined : this.ranOut(played);
      const { doubted, userFault } = played.facts;
      const truncated = !terminated && (ranOut ?? doubted ?? userFault) !== undefined;
      const facts = ranOut === undefined ? played.facts : { ...played.facts, ranOut };
      const after = { ...played, facts, running: !terminated && !truncated };
      const settled = after.running ? undefined : await this.settledOf(after);
      if (!after.running) this.options.responder.ended?.(after.situation);
      const told = { predictions, stateHash: stateHash(after.situation.state), userCost };
      const info: ToolsStepInfo = { ...told, ...(userPredictions && { userPredictions }), ...settled };
      const paid = this.paidFor(predictions);
      // What was paid on the way is not paid again at the end. A dream is not believed what it pays, so there the end pays.
      const { rewards } = after.situation.task.verifier;
      const isPaid = rewards !== undefined || (this.domain.paysCalls === true && paid !== null);
      const reward = (paid ?? 0) + (isPaid ? 0 : (settled?.verdict.reward ?? 0));
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
    this.requireIdle();
    const { episode, rng } = fromSnapshot(snapshot, this.id, (saved) =>
      loadEpisode(this.domain, saved, (id) => this.taskOf(id)),
    );
    const { situation } = episode;
    const { seed = situation.seed, row = situation.row } = fork;
    this.episode = { ...episode, situation: { ...situation, seed, row } };
    this.rng = Rng.fromState(rng);
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
    const { steps, turns, paid, facts } = before;
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
    const earned = now === null ? paid : (paid ?? 0) + now;
    const known = withAnswers(facts, predictions, this.domain.rules?.earned);
    const episode: Episode = { situation, ...clock, paid: earned, facts: known };
    // What is written beside calls is kept in the conversation, and the user does not see it, as in tau-bench.
    const isSaid = said.content?.trim() && !said.toolCalls?.length;
    return isSaid && !situation.ended ? this.hear(episode, signal) : { episode, predictions, userCost: NO_COST };
  }

  /** Calls after one that ended the episode are refused, so that each has its answer. */
  private answer(situation: Situation, call: ToolCall, signal?: AbortSignal) {
    const problems = situation.ended ? ['the conversation has ended'] : this.checks.problems(call);
    return problems.length > 0 ? this.checks.refuse(problems) : this.asked(situation, call, signal);
  }

  private asked(situation: Situation, call: ToolCall, signal?: AbortSignal) {
    const { task, state, messages, calls: step, seed, row, faults, doubts } = situation;
    const query = { domain: this.domain, task, state, messages, call, step, seed, faults, doubts };
    return this.options.responder.answer(row === undefined ? query : { ...query, row }, signal);
  }

  /** Only a trusted backend or a tool that ends the conversation ends it. */
  private after(before: Situation, { id, name }: ToolCall, prediction: Prediction): Situation {
    const { observation, isError, operations, terminated, fault, confidence } = prediction;
    const answer: Message = { role: 'tool', toolCallId: id, name, content: observation };
    const isDone = !isError || fault?.kind === 'lost-answer';
    return {
      ...before,
      state: applyOperations(before.state, operations),
      operations: operations.length === 0 ? before.operations : [...before.operations, ...operations],
      messages: [...before.messages, isError ? { ...answer, isError } : answer],
      calls: before.calls + 1,
      ...(fault && { faults: [...(before.faults ?? []), fault] }),
      ...(confidence < 1 && { doubts: { ...before.doubts, [id]: confidence } }),
      ended: before.ended || (terminated && this.trusts(prediction)) || (isDone && this.ending.has(name)),
    };
  }

  /** What is not declared is not trusted. */
  private trusts({ backend }: Prediction): boolean {
    return this.options.responder.trusts?.(backend) === true;
  }

  /** The user's answer and its earlier calls of its own tools, which are checked like the agent's and hidden from it. */
  private async hear(episode: Episode, signal?: AbortSignal): Promise<Turn> {
    const { patience = Number.POSITIVE_INFINITY } = this.options;
    if (episode.turns >= patience) return leaving(episode);
    let { situation, facts } = episode;
    const { task, messages, seed } = situation;
    const [calls, predictions]: [UserCall[], Prediction[]] = [[], []];
    let [userCost, said] = [NO_COST, ''];
    const turnOf = (change: Partial<Episode>): Turn => {
      const own = predictions.length > 0 && { userPredictions: predictions };
      return { episode: { ...episode, situation, facts, ...change }, predictions: [], ...own, userCost };
    };
    for (;;) {
      const since = calls.length > 0 && { calls: [...calls], ...(said !== '' && { said }) };
      const turn = await this.replyOf({ domain: this.domain, task, messages, seed, ...since }, signal);
      userCost = addCosts(userCost, turn.cost);
      if ('userFault' in turn) return turnOf({ facts: { ...facts, userFault: turn.userFault } });
      const { content, done, calls: wanted = [] } = turn;
      if (wanted.length === 0) {
        const own = calls.length > 0 && { calls };
        const isSilent = done && content.trim() === '' && calls.length === 0;
        const spoken: Message = { role: 'user', content, ...own };
        const heard = { ...situation, messages: isSilent ? messages : [...messages, spoken], ended: done };
        return turnOf({ situation: heard, turns: episode.turns + 1 });
      }
      if (calls.length + wanted.length > MAX_USER_CALLS) {
        const userFault = `answers nothing: it made ${MAX_USER_CALLS} calls and said not a word.`;
        return turnOf({ facts: { ...facts, userFault } });
      }
      said = content;
      for (const call of wanted) {
        const prediction = await this.answerUser(situation, call, signal);
        const { observation: answer, isError, operations } = prediction;
        predictions.push(prediction);
        calls.push({ ...call, answer, ...(isError && { isError }) });
        const changed = {
          ...situation,
          state: applyOperations(situation.state, operations),
          calls: situation.calls + 1,
        };
        situation =
          operations.length === 0 ? changed : { ...changed, operations: [...situation.operations, ...operations] };
      }
      facts = withAnswers(facts, predictions, this.domain.rules?.earned);
    }
  }

  private answerUser(situation: Situation, { name, arguments: given }: CallSpec, signal?: AbortSignal) {
    const checks = callChecks(this.domain.userTools ?? []);
    const call: ToolCall = { id: `user-call-${situation.calls}`, name, arguments: given };
    const isOthers = situation.task.user.tools?.includes(name) === false;
    const problems = isOthers ? [`unknown tool "${name}"`] : checks.problems(call);
    return problems.length > 0 ? checks.refuse(problems) : this.asked(situation, call, signal);
  }

  /** An unusable reply of the user is the user's fault, not an error of the step. */
  private async replyOf(query: UserQuery, signal?: AbortSignal): Promise<UserTurn | { userFault: string; cost: Cost }> {
    try {
      return await this.options.user.reply(query, signal);
    } catch (error) {
      if (!(error instanceof ReverieError) || error.code !== 'USER_TURN_INVALID') throw error;
      const { problem, cost } = error.values as { problem: string; cost?: Cost };
      return { userFault: problem, cost: addCosts(NO_COST, cost ?? NO_COST) };
    }
  }

  /** What exact backends gave; null where none gave any. What a model writes of rewards may have been put into its mouth. */
  private paidFor(predictions: readonly Prediction[]): number | null {
    const given = predictions.filter((one) => one.reward !== null && this.trusts(one));
    return given.length === 0 ? null : given.reduce((sum, { reward }) => sum + reward!, 0);
  }

  private async settledOf({ situation, paid, facts }: Episode): Promise<Settled> {
    const found = verifyEpisode(this.domain, situation.task, this.endOf({ situation, paid }));
    const settled = settle(found, facts);
    const withheld = await this.options.withheld?.(situation.task);
    if (withheld === undefined || !isOfPolicy(settled.outcome)) return settled;
    return { verdict: withoutReward(found, withheld), outcome: { kind: 'judged', cause: withheld } };
  }

  private endOf({
    situation: { task, state, messages, faults },
    paid,
  }: Pick<Episode, 'situation' | 'paid'>): EpisodeEnd {
    const end = { initialState: initialStateOf(this.domain, task), finalState: state, messages, paid };
    return faults === undefined ? end : { ...end, faults };
  }

  private ranOut({ steps, turns }: Episode): string | undefined {
    const { maxTurns = Number.POSITIVE_INFINITY } = this.options;
    if (steps >= this.maxEpisodeSteps) return `${this.maxEpisodeSteps} steps did not suffice`;
    return turns >= maxTurns ? `${maxTurns} turns of the user did not suffice` : undefined;
  }

  private taskOf(id: string): ToolsTask {
    const task = this.domain.tasks.find((one) => one.id === id);
    if (task === undefined) throw this.unknownTask(id);
    return task;
  }

  private unknownTask(id: string): Error {
    const known = this.domain.tasks.map((task) => task.id);
    const values = { id: this.id, task: id, count: known.length, hint: nameHint(id, known) };
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
  return { messages: seenByAgent(situation.messages.slice(observedFrom)) };
}

/** The last turn of a user that has lost its patience. */
function leaving(episode: Episode): Turn {
  const { situation, turns, facts } = episode;
  const messages: readonly Message[] = [...situation.messages, { role: 'user', content: GIVES_UP }];
  const left = { ...situation, messages, ended: true };
  const ranOut = `the user gave up after ${turns} turns`;
  return {
    episode: { ...episode, situation: left, turns: turns + 1, facts: { ...facts, ranOut } },
    predictions: [],
    userCost: NO_COST,
  };
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('tools-episodes');
}
