// The audit of a judge as a file that vouches for itself, and the gate it opens: no reward by a judge without one.

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';
import { openSealed, sealedText, writeFileAtomic } from '../../core/files.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { Judge } from './judge.js';
import { type AuditReport, judgedDomainHash, type Rate } from './judge-audit.js';
import type { AuditLimits } from './judge-schema.js';

const count = z.int().min(0);
const rate = z.strictObject({ value: z.number().nullable(), low: z.number(), high: z.number(), count, of: count });
const cost = z.strictObject({
  calls: count,
  promptTokens: count,
  cachedTokens: count,
  completionTokens: count,
  money: z.number(),
});

const auditSchema = z.strictObject({
  format: z.literal('reverie-judge-audit/1'),
  judge: z.string(),
  domain: z.strictObject({ id: z.string(), hash: z.string() }),
  labelled: z.strictObject({ hash: z.string(), episodes: count, successes: count, failures: count }),
  repeats: count,
  falsePositive: rate,
  falseNegative: rate,
  abstention: rate,
  flip: rate,
  byKind: z.record(
    z.string(),
    z.strictObject({ success: z.boolean(), passed: count, failed: count, abstained: count }),
  ),
  worst: z.array(
    z.strictObject({
      id: z.string(),
      task: z.string(),
      kind: z.string(),
      error: z.enum(['false positive', 'false negative', 'flip', 'abstention']),
      confidence: z.number(),
      label: z.string(),
      said: z.string(),
    }),
  ),
  cost,
});

/** Throws STORAGE_FULL, STORAGE_FAILED. */
export async function writeAudit(path: string, report: AuditReport): Promise<void> {
  await writeFileAtomic(path, sealedText(report));
}

/** Throws FILE_INVALID if the file is missing, was changed after it was written, or is no audit. */
export async function readAudit(path: string): Promise<AuditReport> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `The judge audit "${path}" cannot be used: ${error.message}.`,
        hint: 'Make the audit anew; its file is not to be edited.',
      },
      error,
    );
  });
  let content: unknown;
  try {
    content = openSealed(text);
  } catch (error) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `The judge audit "${path}" cannot be used: ${(error as Error).message}.`,
        hint: 'Make the audit anew; its file is not to be edited.',
      },
      error,
    );
  }
  const read = auditSchema.safeParse(content);
  if (!read.success)
    throw reverieError('FILE_INVALID', {
      problem: `The judge audit "${path}" cannot be used: ${describeIssues(read.error)}.`,
      hint: 'Make the audit anew; its file is not to be edited.',
    });
  return read.data;
}

/**
 * Answers nothing if exactly this judge was audited on this domain and found good enough.
 * Throws JUDGE_UNAUDITED or JUDGE_UNRELIABLE.
 */
export function requireAudited(
  judge: Judge,
  domain: ToolsDomain,
  report: AuditReport | undefined,
  limits: AuditLimits = judge.config.audit.limits,
): void {
  const problem = mismatch(judge, domain, report);
  if (report === undefined || problem !== undefined)
    throw reverieError('JUDGE_UNAUDITED', { judge: judge.version, domain: domain.id, problem });
  const faults = (Object.keys(limits) as (keyof AuditLimits)[])
    .filter((name) => report[name].high > limits[name])
    .map((name) => `${name} ${shown(report[name])}, allowed ${limits[name]}`);
  if (faults.length > 0)
    throw reverieError('JUDGE_UNRELIABLE', { judge: judge.version, domain: domain.id, faults: faults.join('; ') });
}

function mismatch(judge: Judge, domain: ToolsDomain, report: AuditReport | undefined): string | undefined {
  if (report === undefined) return 'there is no audit';
  if (report.judge !== judge.version) return `the audit is of ${report.judge}`;
  if (report.domain.id !== domain.id) return `the audit was made on ${report.domain.id}`;
  return report.domain.hash === judgedDomainHash(domain) ? undefined : 'policy or tools changed since the audit';
}

function shown({ count: hits, of, high }: Rate): string {
  return `${hits} of ${of} (up to ${(100 * high).toFixed(0)} %)`;
}
