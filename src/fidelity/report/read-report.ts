// Reads a report of fidelity, from its file or from the folder of the run that made it.

import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeIssues, reverieError } from '../../core/errors.js';
import { openSealed } from '../../store/sealed-json.js';
import type { FidelityReport } from './fidelity-report.js';
import { fidelityReportSchema } from './report-schema.js';

export const FIDELITY_FILE = 'fidelity.json';

/**
 * @param path the file, or a folder that holds `fidelity.json`
 * @throws FIDELITY_REPORT_MISSING where there is none, FIDELITY_REPORT_INVALID where it is damaged, was edited, or is of
 *   another format
 */
export async function readFidelityReport(path: string): Promise<FidelityReport> {
  const file = fidelityFile(path);
  return openFidelityReport(await readFile(file, 'utf8'), file);
}

/** The report in a sealed text. `path` is for messages. @throws FIDELITY_REPORT_INVALID */
export function openFidelityReport(text: string, path: string): FidelityReport {
  const invalid = (problem: string, cause?: unknown) =>
    reverieError('FIDELITY_REPORT_INVALID', { path, problem }, cause);
  let content: unknown;
  try {
    content = openSealed(text);
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
  const { success, data, error } = fidelityReportSchema.safeParse(content);
  if (!success) throw invalid(describeIssues(error));
  return data;
}

function fidelityFile(path: string): string {
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  const file = isFolder ? join(path, FIDELITY_FILE) : path;
  if (!existsSync(file)) throw reverieError('FIDELITY_REPORT_MISSING', { path });
  return file;
}
