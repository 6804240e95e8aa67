// `reverie audit`: is this simulator safe to take rewards from? The suites on who answers, the audit of the judge, and tries to be rewarded
// for nothing.

import { join } from 'node:path';
import { ReverieError } from '../../../core/errors.js';
import { taskFaults } from '../../../synth/tasks/task-checks.js';
import { requireMustFail, requireMustSucceed } from '../../../worldmodel/must-fail/run-must-fail.js';
import { Judge } from '../../../worldmodel/reward/judge.js';
import { requireAudited } from '../../../worldmodel/reward/judge-audit.js';
import { toolsSet } from '../../evaluation-set.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { AuditResult } from '../../tools-results.js';
import { hackerGate, hackerResult, judgeAudit, mustFailReport, mustSucceedReport, scenarioJudge } from './gates.js';
import { makeParts } from './parts.js';

export async function auditJob(context: JobContext<ToolsScenario>): Promise<AuditResult> {
  const { reward, synth } = context.scenario.config;
  const { mustFail, mustSucceed, hacker, judge: judged } = reward;
  const at = (file: string) => join(context.out, file);
  const parts = await makeParts(context);
  try {
    const { domain, responder, cast, budget } = parts;
    // Those that it is tried to be rewarded in.
    const tasks = domain.tasks.filter(({ split = 'train' }) => synth.splits.includes(split));
    const judge = judged === null ? undefined : new Judge(await cast.model('judge'), judged);
    const policies = { answers: responder.version, ...(judge && { judge: judge.version }) };
    const settings = { mustFail, mustSucceed, hacker, judge: judged?.audit ?? null };
    const panel = toolsSet(context, domain, tasks, policies, settings);
    const sound = await mustFailReport(context, parts);
    const faults = await taskFaults(domain, tasks);
    const able = await mustSucceedReport(context, parts);
    const audit = judge && (await judgeAudit(context, judge, domain, judged!));
    const refusal = audit && refusalOf(() => requireAudited(judge, domain, audit, judged!.audit.limits));
    // With a judge whose audit is told beside it.
    const hacking = { judge: await scenarioJudge(context, parts), tasks };
    const { falsePositive, falseNegative, abstention, flip } = audit ?? ({} as NonNullable<typeof audit>);
    return {
      ...{ job: 'audit', family: 'tools', panel, wallSeconds: context.metrics.wallSeconds },
      mustFail: {
        passed: refusalOf(() => requireMustFail(sound, mustFail.limit)) === null,
        rate: { ...sound.rate, of: sound.total },
        byKind: sound.byKind,
        failures: sound.failures.map(({ probe, problem }) => ({ probe: probe.name, problem })),
        report: at('must-fail.json'),
      },
      tasks: faults,
      mustSucceed:
        able.total === 0
          ? null
          : {
              passed: refusalOf(() => requireMustSucceed(able, mustSucceed.limit)) === null,
              rate: { ...able.rate, of: able.total },
              faults: able.byFault,
              failures: able.failures.map(({ probe, problem }) => ({ probe: probe.name, problem })),
              report: at('must-succeed.json'),
            },
      judge:
        judge === undefined || refusal === undefined
          ? null
          : {
              ...{ version: judge.version, passed: refusal === null, refusal },
              ...{ falsePositive, falseNegative, abstention, flip, report: at('judge-audit.json') },
            },
      hacker: hackerResult((await hackerGate(context, parts, hacking)).report),
      spent: budget.spent,
    };
  } finally {
    await parts.close();
  }
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
