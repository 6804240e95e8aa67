// Worlds that are run line by line over the same core: the action is a line of text, which is a call of one of the domain's tools; the
// observation is what the tool answers. Family `text` is a domain with the one tool `act` {text} and no user to talk to.

import type { JsonObject } from '../../core/canonical-json.js';
import type {
  EnvFamily,
  Environment,
  EnvSnapshot,
  Info,
  ResetResult,
  StepResult,
  TextSpace,
} from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { describeSpace } from '../space-values.js';
import type { Picture, ToolsDomain } from './domain.js';
import type { ToolCall, ToolMessage } from './message.js';
import type { Settled } from './outcome.js';
import type { ForkOptions, ToolsEpisodeEnvironment, ToolsResetOptions } from './tools-environment.js';
import type { Admissible, ToolsObservation } from './tools-family.js';

export interface LineEnvironment extends Environment<string, string> {
  readonly maxEpisodeSteps: number;
  /** The environment it is a view of: its conversation, state and task. */
  readonly tools: ToolsEpisodeEnvironment;
  mark(): () => void;
  reset(options?: ToolsResetOptions, signal?: AbortSignal): Promise<ResetResult<string>>;
  step(action: string, signal?: AbortSignal): Promise<StepResult<string>>;
}

export type TextEnvironment = LineEnvironment & { readonly family: 'text' };

interface ReadLine {
  readonly call: ToolCall;
  /** Why it is none, where the tools' schemas would not tell it as well. */
  readonly problem?: string;
}

export interface LineForm<F extends EnvFamily> {
  readonly family: F;
  readonly read: (line: string) => ReadLine;
}

/** `info.screenshot`, of worlds that have a look: as MCP and chat models take images, in base64. */
export interface Screenshot extends Omit<Picture, 'png'> {
  readonly media_type: 'image/png';
  readonly data: string;
}

const MAX_ACTION = 10_000;
const MAX_OBSERVATION = 1_000_000;

/**
 * The tools environment as one of text. After reset one sees the task's opening (or goal). It ends when `done` in the state
 * is true or, where the state has no such key, as soon as the task's verifier passes. `info.admissible` lists the actions
 * that the domain's rules know to be possible or, without these, that the state names as such (`admissible`, a list of texts);
 * `info.readings` tells each of these in words, where the rules have any.
 * @throws ENV_SPEC_INVALID unless the domain has one tool, `act`, with an argument `text`
 */
export function textEnvironment(tools: ToolsEpisodeEnvironment): TextEnvironment {
  const [tool] = tools.domain.tools;
  const hasText = typeof tool?.parameters.properties === 'object' && 'text' in (tool.parameters.properties as object);
  if (!isTextDomain(tools.domain) || !hasText) {
    const names = tools.domain.tools.map(({ name }) => name).join(', ');
    const problem = `a text environment needs a domain with the one tool "act" {text}; "${tools.domain.id}" has: ${names}`;
    throw reverieError('ENV_SPEC_INVALID', { problem });
  }
  const read = (line: string) => ({ call: { id: '', name: 'act', arguments: { text: line } } });
  return lineEnvironment(tools, { family: 'text', read });
}

/** A domain of one tool that takes a line of text is played as text. */
export function isTextDomain({ tools }: ToolsDomain): boolean {
  return tools.length === 1 && tools[0].name === 'act';
}

/** The tools environment as one that is acted in by lines, as `textEnvironment` does for one form of them. */
export function lineEnvironment<F extends EnvFamily>(
  tools: ToolsEpisodeEnvironment,
  form: LineForm<F>,
): LineEnvironment & { readonly family: F } {
  return new LineView(tools, form);
}

interface SavedText {
  readonly ended: boolean;
  readonly episode: EnvSnapshot;
}

class LineView<F extends EnvFamily> implements LineEnvironment {
  readonly id: string;
  readonly family: F;
  readonly observationSpace: TextSpace = { type: 'text', maxLength: MAX_OBSERVATION };
  readonly actionSpace: TextSpace = { type: 'text', maxLength: MAX_ACTION };
  readonly maxEpisodeSteps: number;
  readonly tools: ToolsEpisodeEnvironment;
  private ended = true;

  constructor(
    tools: ToolsEpisodeEnvironment,
    private readonly form: LineForm<F>,
  ) {
    this.family = form.family;
    this.id = tools.id;
    this.maxEpisodeSteps = tools.maxEpisodeSteps;
    this.tools = tools;
  }

  async reset(options: ToolsResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<string>> {
    const { observation, info } = await this.tools.reset(options, signal);
    this.ended = false;
    return { observation: this.textOf(observation), info: { ...info, ...this.admissible(), ...this.seen() } };
  }

  async step(action: string, signal?: AbortSignal): Promise<StepResult<string>> {
    if (this.ended) throw reverieError('ENV_NOT_RESET', { id: this.id });
    this.requireAction(action);
    const { call } = this.form.read(action);
    const { observation, info, ...result } = await this.tools.step({ content: null, toolCalls: [call] }, signal);
    const inner = info as Partial<Settled>;
    const { verdict, outcome } = inner.verdict === undefined ? await this.tools.settled() : (inner as Settled);
    const isDone = result.terminated || this.isDone(verdict.reward);
    const truncated = result.truncated && !isDone;
    this.ended = isDone || truncated;
    // What the inner environment ended has its verdict in the reward already.
    const reward = this.ended && info.verdict === undefined ? result.reward + (verdict.reward ?? 0) : result.reward;
    const settled = this.ended ? { verdict, outcome } : {};
    const all: Info = { ...info, ...this.admissible(), ...this.seen(), ...settled };
    return { observation: this.textOf(observation), reward, terminated: isDone, truncated, info: all };
  }

  snapshot(): EnvSnapshot {
    const state: SavedText = { ended: this.ended, episode: this.tools.snapshot() };
    return { env: this.id, state };
  }

  restore({ env, state }: EnvSnapshot, fork: ForkOptions = {}): string {
    const { ended, episode } = (state ?? {}) as SavedText;
    if (env !== this.id || typeof ended !== 'boolean' || typeof episode !== 'object' || episode === null)
      throw reverieError('SNAPSHOT_MISMATCH', { from: env, into: this.id });
    const observation = this.tools.restore(episode, fork);
    this.ended = ended;
    return this.textOf(observation);
  }

  mark(): () => void {
    const { ended } = this;
    const takeBack = this.tools.mark();
    return () => {
      takeBack();
      this.ended = ended;
    };
  }

  close(): void {
    this.tools.close();
  }

  /** What was said, by the user or a tool. Where a call failed, what there is to see follows. */
  private textOf({ messages }: ToolsObservation): string {
    const texts = messages.flatMap((message) => {
      if (message.role === 'user') return [message.content];
      return message.role === 'tool' ? [message.isError ? this.errorText(message) : message.content] : [];
    });
    return texts.join('\n');
  }

  private errorText({ toolCallId, content }: ToolMessage): string {
    const { domain, state, messages } = this.tools;
    const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    const written = calls.findLast(({ id }) => id === toolCallId)?.rawArguments;
    const problem = written === undefined ? undefined : this.form.read(written).problem;
    const said = problem === undefined ? content : `Error: ${problem}`;
    const shown = domain.rendering?.(state);
    return shown === undefined ? said : `${said}\n\n${shown}`;
  }

  private isDone(reward: number | null): boolean {
    const { done } = this.tools.state as JsonObject;
    return typeof done === 'boolean' ? done : reward === 1;
  }

  private admissible(): { admissible?: readonly string[]; readings?: readonly string[] } {
    const { domain, state } = this.tools;
    const found = admissibleIn(domain, state);
    if (found === undefined) return {};
    return { admissible: found.lines, ...(found.readings && { readings: found.readings }) };
  }

  private seen(): { screenshot?: Screenshot } {
    const { picture } = this.tools;
    if (picture === undefined) return {};
    const { png, ...rest } = picture;
    return { screenshot: { media_type: 'image/png', ...rest, data: Buffer.from(png).toString('base64') } };
  }

  private requireAction(action: unknown): void {
    if (typeof action === 'string' && action.trim() !== '' && action.length <= MAX_ACTION) return;
    const shown = typeof action === 'string' ? `of ${action.length} characters` : String(action);
    const hint = `Give a text of 1 to ${MAX_ACTION} characters.`;
    throw reverieError('ACTION_OUT_OF_SPACE', { action: shown, space: describeSpace(this.actionSpace), hint });
  }
}

/** What the domain's rules know to be possible in a state, or the state names; undefined where that is not known. */
export function admissibleIn({ rules, tools }: ToolsDomain, state: JsonObject): Admissible | undefined {
  const lines = rules?.admissible?.(state) ?? namedIn(state);
  if (lines === undefined) return undefined;
  const readings = rules?.readings?.(state, lines);
  const callOf = (line: string) => rules?.callOf?.(line) ?? { name: tools[0].name, arguments: { text: line } };
  return { lines, ...(readings && { readings }), callOf };
}

function namedIn({ admissible }: JsonObject): readonly string[] | undefined {
  const isList = Array.isArray(admissible) && admissible.every((action) => typeof action === 'string');
  return isList ? (admissible as readonly string[]) : undefined;
}
