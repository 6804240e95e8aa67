// A whole trajectory as one reply: turns in order, each of one kind. Keys that a kind has no use for are empty, as strict
// servers want every key of every turn.

import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import { normalisedOperations, operationsReply } from './prediction-schema.js';

const turn = z.strictObject({
  role: z.enum(['user', 'assistant', 'call', 'result']),
  reasoning: z.string().describe('assistant and call: why; result: what follows from the state; user: empty.'),
  content: z
    .string()
    .describe('user and assistant: what is said; result: the very text the tool returns; call: empty.'),
  name: z.string().describe('call and result: the tool; else empty.'),
  arguments: z.string().describe('call: the arguments as JSON text; else empty.'),
  operations: z
    .preprocess((written) => normalisedOperations(written as Json), operationsReply)
    .describe('result: changes of the state; else empty.'),
});

export const trajectoryReply = z.strictObject({ turns: z.array(turn) });

export type Turn = z.output<typeof turn>;
