// What an observation says of an episode's end. OpenEnv has one `done` and one number, and loses metadata; a trainer has to
// know more: whether the clock ended it, and that a missing reward is no zero.

import { z } from 'zod';
import type { ToolsStepInfo } from '../../../env/index.js';
import type { Turn } from '../../core/session-contract.js';

/** Keys of every observation. `done`, `reward` and `metadata` stand beside it on the wire; the reference lists them here. */
export const commonShape = {
  ended: z
    .enum(['terminated', 'truncated'])
    .optional()
    .describe('Only in the last observation: ended by the task, or by the clock'),
  evaluation: z
    .object({
      reward: z.number().nullable().describe('What the verifier gave; null: it could not decide'),
      note: z.string().optional(),
    })
    .optional()
    .describe('Only in the last observation of an episode with a task'),
  done: z.boolean().optional().describe('Whether the episode ended (beside the observation)'),
  reward: z.number().nullable().optional().describe('Of this step (beside the observation); rewards sum to the return'),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('After reset: what the agent is told and sees first, for clients that keep nothing else'),
};

/** Keys that the reference's base class of actions has too. */
export const actionShape = {
  metadata: z.record(z.string(), z.unknown()).optional().describe('Accepted for compatibility; not looked at'),
};

const UNDECIDED = 'The episode ended, but nothing could decide whether the task was solved: it has no reward, not 0.';

export function endingOf({ terminated, truncated, info }: Turn): Record<string, unknown> {
  if (!terminated && !truncated) return {};
  const ended = terminated ? 'terminated' : 'truncated';
  const { verdict } = info as Partial<ToolsStepInfo>;
  if (verdict === undefined) return { ended };
  const { reward } = verdict;
  return { ended, evaluation: reward === null ? { reward, note: UNDECIDED } : { reward } };
}
