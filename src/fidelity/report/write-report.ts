// Writes a report of fidelity so that it vouches for itself: whoever gates on it reads what was measured.

import { describeIssues, reverieError } from '../../core/errors.js';
import { writeFileAtomic } from '../../store/atomic-file.js';
import { sealedText } from '../../store/sealed-json.js';
import type { FidelityReport } from './fidelity-report.js';
import { fidelityReportSchema } from './report-schema.js';

/**
 * Writes the report to `path`, in a folder that exists.
 * @throws FIDELITY_REPORT_INVALID for what JSON cannot hold (NaN, infinity) or what is no report, STORAGE_FULL,
 *   STORAGE_FAILED
 */
export async function writeFidelityReport(path: string, report: FidelityReport): Promise<void> {
  const { success, error } = fidelityReportSchema.safeParse(report);
  if (!success) throw reverieError('FIDELITY_REPORT_INVALID', { path, problem: describeIssues(error) });
  await writeFileAtomic(path, sealedText(report));
}
