// Reads the files of a τ-bench domain; every fault is one error that names the file.

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describeIssues, errorsOf, type z } from 'reverie/extend';

export const tauError = errorsOf({
  TAU_DATA_MISSING: {
    status: 404,
    message: 'There is no file "{path}", which a τ-bench domain needs.',
    hint: 'Give a folder with db.json, policy.md, tasks.json and tools.json of one domain; docs/tau-bench.md says where they come from.',
  },
  TAU_DATA_INVALID: {
    status: 422,
    message: '"{path}" is no such file of τ-bench: {problem}.',
    hint: 'Check that the folder belongs to the domain that is named, and restore the file; see docs/tau-bench.md.',
  },
  TAU_CHECK_UNKNOWN: {
    status: 400,
    message: 'No check of τ-bench is called "{name}".',
    hint: 'Leave "checks" out of the verifiers of τ-bench tasks.',
  },
});

/** @throws TAU_DATA_MISSING if there is no such file, TAU_DATA_INVALID if it cannot be read */
export async function readDataText(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw tauError('TAU_DATA_MISSING', { path: file }, error);
    throw dataInvalid(file, message, error);
  }
}

export function parseData<Schema extends z.ZodType>(file: string, json: string, schema: Schema): z.output<Schema> {
  return checkData(file, parseJson(file, json), schema);
}

/** @throws TAU_DATA_INVALID if the value does not fit, told with `where` it stands */
export function checkData<Schema extends z.ZodType>(where: string, value: unknown, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw dataInvalid(where, firstIssues(parsed.error));
  return parsed.data;
}

export function parseJson(file: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw dataInvalid(file, `it is not JSON: ${(error as Error).message}`, error);
  }
}

/** A damaged file is wrong in many places; a few show what it is. */
function firstIssues(error: z.ZodError): string {
  const more = error.issues.length > 3 ? ` (and ${error.issues.length - 3} more)` : '';
  return `${describeIssues({ issues: error.issues.slice(0, 3) })}${more}`;
}

export function dataInvalid(file: string, problem: string, cause?: unknown) {
  return tauError('TAU_DATA_INVALID', { path: file, problem }, cause);
}
