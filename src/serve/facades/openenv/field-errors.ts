// What of a message is wrong, field by field, in the form clients of the reference know: pydantic's `errors()`.

import type { z } from 'zod';

export interface FieldError {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
}

/** A message that is not of its form: VALIDATION_ERROR over a WebSocket, 422 over HTTP. */
export class MessageInvalid extends Error {
  constructor(readonly errors: readonly FieldError[]) {
    super('Invalid message');
    this.name = 'MessageInvalid';
  }
}

/** @param at  where `message` stands in what was sent; @throws MessageInvalid */
export function checkedMessage<T>(schema: z.ZodType<T>, message: unknown, at: readonly string[] = []): T {
  const read = schema.safeParse(message);
  if (read.success) return read.data;
  throw new MessageInvalid(read.error.issues.flatMap((issue) => fieldErrors(issue, message, at)));
}

/** One field that is wrong for a reason no schema knows. */
export function fieldInvalid(loc: readonly string[], msg: string, input: unknown): MessageInvalid {
  return new MessageInvalid([{ type: 'value_error', loc, msg, input }]);
}

function fieldErrors(issue: z.core.$ZodIssue, message: unknown, at: readonly string[]): FieldError[] {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const input = path.reduce<unknown>((value, key) => (value as Record<string, unknown> | null)?.[key], message);
  const loc = [...at, ...path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const extra = (input as Record<string, unknown>)[key];
      return { type: 'extra_forbidden', loc: [...loc, key], msg: 'Extra inputs are not permitted', input: extra };
    });
  }
  if (input === undefined) return [{ type: 'missing', loc, msg: 'Field required', input: null }];
  return [{ type: 'value_error', loc, msg: issue.message, input }];
}
