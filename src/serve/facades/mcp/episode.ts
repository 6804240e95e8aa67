// The episode of one MCP session: begun when something of it is first asked for, as clients that only list tools should
// hold no slot.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { type ErrorCode, ReverieError } from '../../../core/errors.js';
import type { Screenshot } from '../../../env/index.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Owner, ResetRequest, SessionState, Sessions, Turn } from '../../core/session-contract.js';
import { resetOf } from '../../core/task-choice.js';
import { checkedBody } from '../../http/request-guards.js';
import { actionOfCall, type GivenCall, isToolError, observationText, openingOf } from '../tool-calls.js';

export interface EpisodeOptions {
  readonly sessions: Sessions;
  readonly served: Servable;
  /** Of an open session. */
  readonly id: string;
  readonly owner: Owner;
  /** The episode it begins with. */
  readonly first: ResetRequest;
}

export class McpEpisode {
  readonly served: Servable;
  private beginning: Promise<Turn> | undefined;

  constructor(private readonly options: EpisodeOptions) {
    this.served = options.served;
  }

  get state(): SessionState {
    const { sessions, id, owner } = this.options;
    return sessions.state(id, owner);
  }

  /** Begins another episode, or the first; calls that come meanwhile wait for it. @throws as Sessions.reset */
  async begin(request: ResetRequest = this.options.first, signal?: AbortSignal): Promise<Turn> {
    const { sessions, id, owner } = this.options;
    this.beginning = sessions.reset(id, request, owner, signal);
    try {
      return await this.beginning;
    } finally {
      this.beginning = undefined;
    }
  }

  /** Answers the first turn where there was no episode yet. */
  async ensure(signal?: AbortSignal): Promise<Turn | undefined> {
    if (this.beginning !== undefined) await this.beginning;
    return this.state.status === 'idle' ? this.begin(undefined, signal) : undefined;
  }

  /** @throws as Sessions.step and actionOfCall */
  step(call: GivenCall, signal?: AbortSignal): Promise<Turn> {
    const { sessions, id, owner } = this.options;
    return sessions.step(id, { action: actionOfCall(this.served, call) }, owner, signal);
  }

  /** Rules, and what there is to see now. @throws ENV_NOT_RESET */
  get told(): { readonly rules: string; readonly first: string } {
    const { sessions, id, owner } = this.options;
    return openingOf(this.served, sessions.observe(id, owner).observation);
  }
}

// Which episode a client wants: behind the `?` of the URL it initializes with, or in the arguments of the prompt. Both are
// texts.

const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);

export const episodeSchema = z.strictObject({
  task: z.string().max(255).optional().describe('A task by its id'),
  split: z.string().max(255).optional().describe('Split of the task: train, validation or test'),
  index: whole.optional().describe('Place of the task within its split'),
  seed: whole.optional().describe('Seed of the episode'),
  from_snapshot: z.string().max(255).optional().describe('A snapshot to go on from, instead of a task'),
});

/** @throws REQUEST_INVALID, TASK_NOT_CHOSEN */
export function resetFrom(served: Servable, given: unknown): ResetRequest {
  const { task, ...rest } = checkedBody(episodeSchema, given);
  return resetOf(served, { ...rest, id: task });
}

// What a step, or one that was refused, is as the result of a tool. Rewards stand in `_meta` alone, which agents do not see.

const ENDED = 'The episode has ended.';
const NEXT = `${ENDED} Another one begins with the prompt "start", or with another session.`;

/** An agent may mend these and go on. */
const MENDABLE: readonly ErrorCode[] = ['REQUEST_INVALID', 'ACTION_OUT_OF_SPACE', 'STEP_DEADLINE'];

/** @param before  told ahead of it, where an agent could not have seen it */
export function stepResult(turn: Turn, before: readonly string[]): CallToolResult {
  const { terminated, truncated, reward, stepCount, episodeId } = turn;
  const done = terminated || truncated;
  const texts = [...before, observationText(turn.observation), ...(done ? [ENDED] : [])];
  return {
    content: [
      ...texts.filter((text) => text !== '').map((text) => ({ type: 'text' as const, text })),
      ...imageOf(turn),
    ],
    isError: isToolError(turn),
    _meta: {
      'reverie/reward': reward,
      'reverie/done': done,
      'reverie/terminated': terminated,
      'reverie/truncated': truncated,
      'reverie/return': turn.return,
      'reverie/step': stepCount,
      'reverie/episode': episodeId,
    },
  };
}

/** What there is to see, of worlds that have a look. */
function imageOf({ info }: Turn): { type: 'image'; data: string; mimeType: string }[] {
  const { screenshot } = info as { readonly screenshot?: Screenshot };
  return screenshot === undefined ? [] : [{ type: 'image', data: screenshot.data, mimeType: screenshot.media_type }];
}

/** @throws `error`, where it is no matter of the agent's */
export function refusalResult(error: unknown): CallToolResult {
  if (!(error instanceof ReverieError)) throw error;
  if (error.code === 'ENV_NOT_RESET') return failed(NEXT);
  if (MENDABLE.includes(error.code)) return failed(`${error.message} ${error.hint}`);
  throw error;
}

function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
