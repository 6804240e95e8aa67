// Family `text` over the same core: a domain with the one tool `act` {text} and nobody to talk to. The action is a line
// of text, the observation what the tool answers.

import type { Environment, EnvSnapshot, Info, ResetResult, StepResult } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { TextSpace } from '../../core/spaces.js';
import { describeSpace } from '../space-values.js';
import type { ToolsDomain, Verdict } from './domain.js';
import { initialStateOf } from './task-states.js';
import type { ForkOptions, ToolsEpisodeEnvironment, ToolsResetOptions } from './tools-environment.js';
import type { ToolsObservation } from './tools-family.js';
import { verifyEpisode } from './verify-episode.js';

export interface TextEnvironment extends Environment<string, string> {
  readonly family: 'text';
  readonly maxEpisodeSteps: number;
  /** The environment it is a view of: its conversation, state and task. */
  readonly tools: ToolsEpisodeEnvironment;
  mark(): () => void;
  reset(options?: ToolsResetOptions, signal?: AbortSignal): Promise<ResetResult<string>>;
  step(action: string, signal?: AbortSignal): Promise<StepResult<string>>;
}

const MAX_ACTION = 10_000;
const MAX_OBSERVATION = 1_000_000;

/**
 * The tools environment as one of text. After reset one sees the task's opening (or goal). It ends when `done` in the state
 * is true or, where the state has no such key, as soon as the task's verifier passes. `info.admissible` lists the actions
 * that the domain's rules know to be possible or, without these, that the state names as such (`admissible`, a list of texts).
 * @throws ENV_SPEC_INVALID unless the domain has one tool, `act`, with an argument `text`
 */
export function textEnvironment(tools: ToolsEpisodeEnvironment): TextEnvironment {
  const [tool, ...others] = tools.domain.tools;
  const hasText = typeof tool?.parameters.properties === 'object' && 'text' in (tool.parameters.properties as object);
  if (tool?.name !== 'act' || others.length > 0 || !hasText) {
    const names = tools.domain.tools.map(({ name }) => name).join(', ');
    const problem = `a text environment needs a domain with the one tool "act" {text}; "${tools.domain.id}" has: ${names}`;
    throw reverieError('ENV_SPEC_INVALID', { problem });
  }
  return new TextView(tools);
}

interface SavedText {
  readonly ended: boolean;
  readonly episode: EnvSnapshot;
}

class TextView implements TextEnvironment {
  readonly id: string;
  readonly family = 'text' as const;
  readonly observationSpace: TextSpace = { type: 'text', maxLength: MAX_OBSERVATION };
  readonly actionSpace: TextSpace = { type: 'text', maxLength: MAX_ACTION };
  readonly maxEpisodeSteps: number;
  readonly tools: ToolsEpisodeEnvironment;
  private ended = true;

  constructor(tools: ToolsEpisodeEnvironment) {
    this.id = tools.id;
    this.maxEpisodeSteps = tools.maxEpisodeSteps;
    this.tools = tools;
  }

  async reset(options: ToolsResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<string>> {
    const { observation, info } = await this.tools.reset(options, signal);
    this.ended = false;
    return { observation: textOf(observation), info: { ...info, ...this.admissible() } };
  }

  async step(action: string, signal?: AbortSignal): Promise<StepResult<string>> {
    if (this.ended) throw reverieError('ENV_NOT_RESET', { id: this.id });
    this.requireAction(action);
    const call = { id: '', name: 'act', arguments: { text: action } };
    const { observation, info, ...result } = await this.tools.step({ content: null, toolCalls: [call] }, signal);
    const found = (info.verdict as Verdict | undefined) ?? this.verdict();
    const isDone = result.terminated || this.isDone(found);
    const truncated = result.truncated && !isDone;
    this.ended = isDone || truncated;
    // What the inner environment ended has its verdict in the reward already.
    const reward = this.ended && info.verdict === undefined ? result.reward + (found.reward ?? 0) : result.reward;
    const all: Info = { ...info, ...this.admissible(), ...(this.ended ? { verdict: found } : {}) };
    return { observation: textOf(observation), reward, terminated: isDone, truncated, info: all };
  }

  snapshot(): EnvSnapshot {
    const state: SavedText = { ended: this.ended, episode: this.tools.snapshot() };
    return { env: this.id, state };
  }

  restore({ env, state }: EnvSnapshot, fork: ForkOptions = {}): string {
    const { ended, episode } = (state ?? {}) as SavedText;
    if (env !== this.id || typeof ended !== 'boolean' || typeof episode !== 'object' || episode === null) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: env, into: this.id });
    }
    const observation = this.tools.restore(episode, fork);
    this.ended = ended;
    return textOf(observation);
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

  private verdict(): Verdict {
    const { domain, task, state, messages } = this.tools;
    return verifyEpisode(domain, task, { initialState: initialStateOf(domain, task), finalState: state, messages });
  }

  private isDone({ reward }: Verdict): boolean {
    const { done } = this.tools.state as JsonObject;
    return typeof done === 'boolean' ? done : reward === 1;
  }

  private admissible(): { admissible?: readonly string[] } {
    const { domain, state } = this.tools;
    const admissible = admissibleIn(domain, state);
    return admissible === undefined ? {} : { admissible };
  }

  private requireAction(action: unknown): void {
    if (typeof action === 'string' && action.trim() !== '' && action.length <= MAX_ACTION) return;
    const shown = typeof action === 'string' ? `of ${action.length} characters` : String(action);
    const hint = `Give a text of 1 to ${MAX_ACTION} characters.`;
    throw reverieError('ACTION_OUT_OF_SPACE', { action: shown, space: describeSpace(this.actionSpace), hint });
  }
}

/** Commands that the domain's rules know to be possible in a state, or that the state names; undefined where nobody knows. */
export function admissibleIn({ rules }: ToolsDomain, state: JsonObject): readonly string[] | undefined {
  const known = rules?.admissible?.(state);
  if (known !== undefined) return known;
  const { admissible } = state;
  const isList = Array.isArray(admissible) && admissible.every((action) => typeof action === 'string');
  return isList ? (admissible as readonly string[]) : undefined;
}

function textOf({ messages }: ToolsObservation): string {
  return messages.flatMap(({ role, content }) => (role === 'user' || role === 'tool' ? [content] : [])).join('\n');
}
