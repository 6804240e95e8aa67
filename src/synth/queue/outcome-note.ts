// How engines write down why a rollout failed, and read it again.

import { z } from 'zod';
import type { ErrorCode, PackedError } from '../../core/errors.js';
import { describeIssues, ERROR_CATALOGUE, reverieError } from '../../core/errors.js';
import type { Outcome, Refusal } from './rollout-queue.js';

const packedErrorSchema = z.strictObject({
  name: z.string(),
  message: z.string(),
  stack: z.string().optional(),
  code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(ERROR_CATALOGUE, code)).optional(),
  values: z.record(z.string(), z.string()).optional(),
});

/** No error: its leases ran out. */
const failureSchema = z.strictObject({ error: packedErrorSchema.nullable(), note: z.string() });

/** Longest text of an error that is passed on. */
const MAX_TEXT = 4000;

export function failureText(refusal: Extract<Refusal, { kind: 'failed' }> | undefined): string {
  return JSON.stringify({ error: refusal === undefined ? null : shortened(refusal.error), note: refusal?.note ?? '' });
}

/** @throws QUEUE_MESSAGE_INVALID */
export function failureOf(id: string, text: string): Extract<Outcome, { state: 'failed' }> {
  const checked = failureSchema.safeParse(jsonOf(text));
  if (!checked.success) {
    const what = `why rollout ${id} failed`;
    throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: describeIssues(checked.error) });
  }
  const { error, note } = checked.data;
  return { id, state: 'failed', error: (error as PackedError | null) ?? undefined, note };
}

function shortened({ name, message, stack, code, values }: PackedError): PackedError {
  const short = Object.entries(values ?? {}).map(([key, value]) => [key, value.slice(0, MAX_TEXT)]);
  return {
    name,
    message: message.slice(0, MAX_TEXT),
    ...(stack === undefined ? {} : { stack: stack.slice(0, MAX_TEXT) }),
    ...(code === undefined ? {} : { code, values: Object.fromEntries(short) }),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
