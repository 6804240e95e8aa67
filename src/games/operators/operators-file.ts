// The file of induced operators: JSON, read strictly.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeIssues, reverieError } from '../../core/errors.js';
import { type OperatorsFile, operatorsFileSchema } from './operator.js';

/** @throws OPERATORS_INVALID */
export function readOperators(file: string, folder = '.'): OperatorsFile {
  const path = resolve(folder, file);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw reverieError('OPERATORS_INVALID', { file: path, problem: (cause as Error).message }, cause);
  }
  const read = operatorsFileSchema.safeParse(json);
  if (read.success) return read.data;
  throw reverieError('OPERATORS_INVALID', { file: path, problem: describeIssues(read.error) });
}
