// Which episode a client wants: behind the `?` of the URL it initializes with, or in the arguments of the prompt. Both are
// texts.

import { z } from 'zod';
import type { Servable } from '../../../run/index.js';
import type { ResetRequest } from '../../core/session-contract.js';
import { checkedBody } from '../../http/request-check.js';
import { resetOf } from '../task-specs.js';

const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);

export const wishSchema = z.strictObject({
  task: z.string().max(255).optional().describe('A task by its id'),
  split: z.string().max(255).optional().describe('Split of the task: train, validation or test'),
  index: whole.optional().describe('Place of the task within its split'),
  seed: whole.optional().describe('Seed of the episode'),
  from_snapshot: z.string().max(255).optional().describe('A snapshot to go on from, instead of a task'),
});

/** @throws REQUEST_INVALID, TASK_NOT_CHOSEN */
export function wishedEpisode(served: Servable, given: unknown): ResetRequest {
  const { task, ...wish } = checkedBody(wishSchema, given);
  return resetOf(served, { ...wish, id: task });
}
