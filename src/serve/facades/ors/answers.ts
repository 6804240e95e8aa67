// What the Open Reward Standard is told: blocks of text, the return on the last step alone, errors as tools have them.

import { type ErrorCode, ReverieError } from '../../../errors.js';
import type { Turn } from '../../core/session-contract.js';
import { publicInfo } from '../../core/turn.js';
import { encodeInfo } from '../../core/values.js';
import { observationText } from '../tool-calls.js';
import type { Outcome } from './call-table.js';

/** Why a call was refused, in the words of the OpenReward client. What is not here ends the rollout. */
const REASONS: Partial<Record<ErrorCode, string | null>> = {
  REQUEST_INVALID: 'input_validation',
  ACTION_OUT_OF_SPACE: 'input_validation',
  TOOL_NOT_OFFERED: 'not_found',
  ENV_NOT_RESET: 'episode_finished',
  STEP_DEADLINE: null,
};

export function textBlock(text: string) {
  return { text, detail: null, type: 'text' };
}

/**
 * Rewards: clients keep the last that is not null, so steps have null and the last one has the return (null where the
 * episode could not be judged). The step's own is in `metadata`.
 */
export function outcomeOf(turn: Turn): Outcome {
  const { terminated, truncated, reward, stepCount, info } = turn;
  const finished = terminated || truncated;
  const metadata = {
    step_reward: reward,
    terminated,
    truncated,
    step_count: stepCount,
    info: encodeInfo(publicInfo(info)),
  };
  const blocks = [textBlock(observationText(turn.observation))];
  return answer({ ok: true, output: { blocks, metadata, reward: finished ? turn.return : null, finished } });
}

export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof ReverieError)) return { event: 'error', text: 'The server failed to answer.' };
  const text = `${error.message} ${error.hint}`;
  const reason = REASONS[error.code];
  if (reason === undefined) return { event: 'error', text };
  if (reason === 'episode_finished') {
    return answer({ ok: false, error: 'The episode has finished. Open another session for the next one.', reason });
  }
  return answer({ ok: false, error: text, ...(reason === null ? {} : { reason }) });
}

function answer(value: object): Outcome {
  return { event: 'end', text: JSON.stringify(value) };
}
