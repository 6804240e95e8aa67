// What the experience model replies: thoughts first, then the answer (DreamGym's order; its largest single effect).
// Every key is required and none is free, as strict servers ask; values of operations are JSON written as text.

import { z } from 'zod';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';
import { ReverieError } from '../../core/errors.js';
import { parseExactly } from '../../core/exact-numbers.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { Failed } from '../tools/backend-model.js';

const operation = z.strictObject({
  op: z.enum(['add', 'replace', 'remove']),
  path: z.string().describe('JSON Pointer into the state.'),
  value: z.string().describe('The new value as JSON text, a string in quotes; "null" for remove.'),
});

export const predictionReply = z.strictObject({
  reasoning: z.string().describe('What the tool looks up, whether the call is possible here, what it changes.'),
  operations: z.array(operation).describe('Changes of the state, JSON Patch; empty for reads and errors.'),
  observation: z.string().describe('Exactly what the tool returns; begins with "Error: " if the call fails.'),
  reward: z.number().nullable().describe('Reward of this call if the task states one, else null. Recorded only.'),
  terminated: z.boolean().describe('Whether the task seems over after this call. Recorded only.'),
  confidence: z.number().describe('Probability in [0, 1] that operations and observation are right.'),
});

export type ReplyOperation = z.output<typeof operation>;
/** Normalizes a model's keys to those of a backend. */
export type WrittenReply = z.output<typeof predictionReply>;

export const operationsReply = z.array(operation);

/** As servers want it: without the draft's name. */
export function replySchema(name: string, schema: z.ZodType): { name: string; schema: JsonObject } {
  const { $schema, ...rest } = z.toJSONSchema(schema) as Record<string, Json>;
  return { name, schema: rest };
}

const looseOperation = z.looseObject({ op: z.string(), path: z.string() });

/**
 * A reply in the form of its schema, where only the form differs and what is meant is clear: values and observations written
 * as JSON instead of text, paths without the first slash, numbers as text, further keys, and what may be left out. The rest
 * is left as it is, for the schema to refuse.
 */
export function normalisedReply(written: Json): Json {
  const reply = unwrapped(written);
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply)) return reply;
  const {
    reasoning = '',
    operations = [],
    observation,
    reward = null,
    terminated = false,
    confidence = 0,
  } = reply as JsonObject;
  return {
    reasoning,
    operations: normalisedOperations(operations),
    observation: typeof observation === 'object' && observation !== null ? JSON.stringify(observation) : observation,
    reward: numberIn(reward),
    terminated,
    confidence: numberIn(confidence),
  };
}

/** Unwraps a reply from a list or a key of its own. */
function unwrapped(written: Json): Json {
  if (typeof written !== 'object' || written === null || 'observation' in written) return written;
  const parts = Object.values(written) as Json[];
  const [only] = parts;
  return parts.length === 1 && typeof only === 'object' && only !== null && 'observation' in only ? only : written;
}

/** The same of operations alone. */
export function normalisedOperations(operations: Json): Json {
  if (!Array.isArray(operations)) return operations;
  return operations.map((written) => {
    const read = looseOperation.safeParse(written);
    if (!read.success) return written;
    const { op, path, value } = read.data as { op: string; path: string; value?: Json };
    const kind = op.toLowerCase();
    const text = value === undefined && kind === 'remove' ? 'null' : value;
    return {
      op: kind,
      path: slashed(path),
      ...(text === undefined ? {} : { value: typeof text === 'string' ? text : JSON.stringify(text) }),
    };
  });
}

/** `tickets/T1` and `#/tickets/T1` can only mean `/tickets/T1`. */
function slashed(path: string): string {
  const pointer = path.trim().replace(/^#(?=\/|$)/, '');
  return pointer === '' || pointer.startsWith('/') ? pointer : `/${pointer}`;
}

function numberIn(value: Json | undefined): Json {
  const isNumeric = typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value);
  return isNumeric ? Number(value) : (value as Json);
}

/** Longer values are no change of one call. */
const MAX_VALUE_CHARS = 200_000;

/** JSON Patch of a reply, or what is wrong with it. */
export function parseOperations(
  operations: readonly ReplyOperation[],
): { readonly operations: Operation[] } | { readonly problems: string[] } {
  const problems: string[] = [];
  const parsed = operations.map(({ op, path, value }, i): Operation => {
    if (op === 'remove') return { op, path };
    try {
      if (value.length > MAX_VALUE_CHARS) throw new Error('too long');
      return { op, path, value: parseExactly(value) as Json };
    } catch {
      problems.push(
        `Operation ${i + 1} (${op} ${path}): its value is not JSON text; a string is written in its own quotes.`,
      );
      return { op, path, value: null };
    }
  });
  return problems.length > 0 ? { problems } : { operations: parsed };
}

/** Whether an observation reports that the call failed: "Error...", or a JSON object whose only news is an error. */
export function reportsError(observation: string): boolean {
  if (/^\s*error\s*([:.!-]|$)/i.test(observation)) return true;
  return /^\s*\{\s*"error"\s*:/i.test(observation);
}

/** The failed try, with what it cost where the error says. Throws `error` itself if it is not the model's. */
export function failedReply(error: unknown): Failed {
  if (!(error instanceof ReverieError) || error.values.ofModel !== true) throw error;
  const { usage, reply } = error.values as { usage?: Cost; reply?: string };
  const previous = typeof reply === 'string' && reply !== '' ? { previous: reply } : {};
  return { problems: [error.message], ...previous, cost: usage ?? NO_COST };
}

/** A claim that is no probability ("95", 1e15: small models write such) counts as none; the answer is judged by itself. */
export function statedConfidence(claim: number): number {
  return claim >= 0 && claim <= 1 ? claim : 0;
}
