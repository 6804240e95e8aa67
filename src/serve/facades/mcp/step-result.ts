// What a step, or one that was refused, is as the result of a tool. Rewards stand in `_meta` alone, which agents do not see.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type ErrorCode, ReverieError } from '../../../core/errors.js';
import type { Turn } from '../../core/session-contract.js';
import { isToolError, observationText } from '../tool-calls.js';

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
    content: texts.filter((text) => text !== '').map((text) => ({ type: 'text' as const, text })),
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
