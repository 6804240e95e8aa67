// `reverie audit`: is this simulator fit to mint reward? The must-fail suite on who answers, the audit of the judge.

import { join } from 'node:path';
import { ReverieError } from '../../../core/errors.js';
import type { Panel } from '../../../core/evaluation-set.js';
import { taskFaults } from '../../../synth/tasks/task-checks.js';
import { requireMustFail, requireMustSucceed } from '../../../worldmodel/must-fail/run-must-fail.js';
import { Judge } from '../../../worldmodel/reward/judge.js';
import { requireAudited } from '../../../worldmodel/reward/judge-audit.js';
import { requireSet } from '../../evaluation-set.js';
import { type JobContext, whileOpen } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { AuditResult } from '../../tools-results.js';
import { auditPanel } from './episodes-panel.js';
import { auditedElsewhere, judgeAudit, mustFailReport, mustSucceedReport } from './gates.js';
import { hackerGate, hackerResult } from './hacker-gate.js';
import { makeParts, type ToolsParts } from './parts.js';

type Context = JobContext<ToolsScenario>;

export async function auditJob(context: Context): Promise<AuditResult> {
  const parts = await makeParts(context);
  return whileOpen(context, parts, async () => {
    const { reward } = context.scenario.config;
    const panel = await panelFor(context, parts);
    requireSet(panel, context.inputs);
    const report = await mustFailReport(context, parts);
    const refusal = refusalOf(() => requireMustFail(report, reward.mustFail.limit));
    return {
      job: 'audit',
      family: 'tools',
      panel,
      wallSeconds: context.metrics.wallSeconds,
      mustFail: {
        passed: refusal === null,
        rate: { ...report.rate, of: report.total },
        byKind: Object.fromEntries(
          Object.entries(report.byKind).map(([kind, rate]) => [kind, { ...rate, of: rate.of }]),
        ),
        failures: report.failures.map(({ probe, problem }) => ({ probe: probe.name, problem })),
        report: join(context.out, 'must-fail.json'),
      },
      tasks: await taskFaults(parts.domain, tasksOf(context, parts)),
      mustSucceed: await competence(context, parts),
      judge: await judgeResult(context, parts),
      hacker: await tricks(context, parts),
      spent: parts.budget.spent,
    };
  });
}

async function panelFor(context: Context, parts: ToolsParts): Promise<Panel> {
  const { judge } = context.scenario.config.reward;
  const version = judge === null ? undefined : new Judge(await parts.cast.model('judge'), judge).version;
  return auditPanel(context, parts, tasksOf(context, parts), version);
}

/** Those that it is tried to be rewarded in. */
function tasksOf({ scenario }: Context, { domain }: ToolsParts) {
  const { splits } = scenario.config.synth;
  return domain.tasks.filter(({ split = 'train' }) => splits.includes(split));
}

async function competence(context: Context, parts: ToolsParts): Promise<AuditResult['mustSucceed']> {
  const report = await mustSucceedReport(context, parts);
  if (report.total === 0) return null;
  const { limit } = context.scenario.config.reward.mustSucceed;
  return {
    passed: refusalOf(() => requireMustSucceed(report, limit)) === null,
    rate: { ...report.rate, of: report.total },
    faults: report.byFault,
    failures: report.failures.map(({ probe, problem }) => ({ probe: probe.name, problem })),
    report: join(context.out, 'must-succeed.json'),
  };
}

/** With a judge whose audit is told beside it. */
async function tricks(context: Context, parts: ToolsParts): Promise<AuditResult['hacker']> {
  const judge = await auditedElsewhere(context, parts);
  return hackerResult((await hackerGate(context, parts, { judge, tasks: tasksOf(context, parts) })).report);
}

async function judgeResult(context: Context, { cast, domain }: ToolsParts): Promise<AuditResult['judge']> {
  const config = context.scenario.config.reward.judge;
  if (config === null) return null;
  const judge = new Judge(await cast.model('judge'), config);
  const audit = await judgeAudit(context, judge, domain, config);
  const refusal = refusalOf(() => requireAudited(judge, domain, audit, config.audit.limits));
  const { falsePositive, falseNegative, abstention, flip } = audit;
  return {
    version: judge.version,
    passed: refusal === null,
    refusal,
    falsePositive,
    falseNegative,
    abstention,
    flip,
    report: join(context.out, 'judge-audit.json'),
  };
}

/** Why a gate stays shut, or null if it opens. */
function refusalOf(gate: () => void): string | null {
  try {
    gate();
    return null;
  } catch (error) {
    if (error instanceof ReverieError) return error.message;
    throw error;
  }
}
