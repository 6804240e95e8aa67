// The report of the must-fail suite as a file that vouches for itself.

import { readFile } from 'node:fs/promises';
import { reverieError } from '../../core/errors.js';
import { writeFileAtomic } from '../../store/atomic-file.js';
import { openSealed, sealedText } from '../../store/sealed-json.js';
import type { MustFailReport } from './run-must-fail.js';

/** Throws STORAGE_FULL, STORAGE_FAILED. */
export async function writeMustFail(path: string, report: MustFailReport): Promise<void> {
  await writeFileAtomic(path, sealedText(report));
}

/** The report in a file that `writeMustFail` wrote. Throws CHECKPOINT_CORRUPT. */
export async function readMustFail(path: string): Promise<MustFailReport> {
  try {
    return openSealed(await readFile(path, 'utf8')) as unknown as MustFailReport;
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}
