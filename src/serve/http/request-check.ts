// What a request carries is checked once, at the border.

import type { z } from 'zod';
import { reverieError } from '../../core/errors.js';

/** @throws REQUEST_INVALID, naming every field that is wrong */
export function checkedBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const problem = read.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; ');
  throw reverieError('REQUEST_INVALID', { problem });
}
