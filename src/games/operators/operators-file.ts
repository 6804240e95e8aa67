// The file of induced operators: JSON, read strictly.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeIssues, reverieError } from '../../core/errors.js';
import { type OperatorsFile, operatorsFileSchema } from './operator.js';

/** @throws FILE_INVALID */
export function readOperators(file: string, folder = '.'): OperatorsFile {
  const path = resolve(folder, file);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `Operators "${path}": ${(cause as Error).message}.`,
        hint: 'Write the file with reverie induce SCENARIO --operators FILE --logs RECORDS; model.operators.file is relative to the scenario.',
      },
      cause,
    );
  }
  const read = operatorsFileSchema.safeParse(json);
  if (read.success) return read.data;
  throw reverieError('FILE_INVALID', {
    problem: `Operators "${path}": ${describeIssues(read.error)}.`,
    hint: 'Write the file with reverie induce SCENARIO --operators FILE --logs RECORDS; model.operators.file is relative to the scenario.',
  });
}
