// What must hold before episodes are given rewards: the simulator fails what must fail, and a judge was audited. Both are
// measured once and kept in the run's folder, under the versions they hold for.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ReverieError } from '../../../core/errors.js';
import { domainFolder, type Responder, type ToolsDomain } from '../../../env/index.js';
import {
  type AuditReport,
  auditJudge,
  generateProbes,
  Judge,
  type JudgeConfig,
  judgeEpisode,
  type MustFailReport,
  readAudit,
  readLabelledEpisodes,
  readMustFail,
  readProbes,
  requireAudited,
  requireMustFail,
  runMustFail,
  writeAudit,
  writeMustFail,
} from '../../../worldmodel/index.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { LiveRowSettings } from './live-row.js';
import type { ToolsParts } from './parts.js';

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'seed' | 'signal' | 'progress' | 'log'>;

export interface RewardGate extends Pick<LiveRowSettings, 'judge' | 'withheld'> {
  readonly report?: { readonly passed: boolean; readonly rate: number };
}

const UNCHECKED = 'whole trajectories are written in one call, and the domain has no rules to check them by';

/** Runs the must-fail suite on who answers in the dream. A simulator that does not pass withholds every reward. */
export async function mustFailGate(context: Context, parts: ToolsParts): Promise<RewardGate> {
  const { config } = context.scenario;
  const { enabled, limit } = config.reward.mustFail;
  if (!enabled) return {};
  if (config.synth.mode === 'amplify' && parts.domain.rules === undefined) return { withheld: UNCHECKED };
  const report = await mustFailReport(context, parts);
  const summary = { passed: true, rate: report.rate.value ?? 0 };
  try {
    requireMustFail(report, limit);
    return { report: summary };
  } catch (error) {
    if (!(error instanceof ReverieError) || error.code !== 'SIMULATOR_UNSOUND') throw error;
    context.log(`No episode is given a reward: ${error.message}`);
    return { report: { ...summary, passed: false }, withheld: error.message };
  }
}

/** The suite's report: kept where the same simulator was tried on the same domain before. */
export async function mustFailReport(
  { scenario, out, seed, signal, progress }: Context,
  { domain, responder }: { domain: ToolsDomain; responder: Responder },
): Promise<MustFailReport> {
  const file = join(out, 'must-fail.json');
  const before = existsSync(file) ? await readMustFail(file) : undefined;
  if (before?.responder === responder.version && before.domain.version === domain.version) return before;
  const { probes, skipped } = await probesOf(scenario, domain);
  const phase = progress.phase('must-fail suite', probes.length, 'probes');
  const report = await runMustFail({ domain, responder, probes, skipped, seed, signal });
  phase.set(report.total);
  phase.end(`${report.passed} of ${report.total} passed`);
  await writeMustFail(file, report);
  return report;
}

/** The domain's own probes, where it has any, and those that can be made for any domain. */
async function probesOf(scenario: ToolsScenario, domain: ToolsDomain) {
  const own = join(domainFolder(scenario.config.domain, scenario.folder), 'must-fail.yaml');
  const generated = generateProbes(domain);
  const written = existsSync(own) ? await readProbes(own, domain) : [];
  return { probes: [...written, ...generated.probes], skipped: generated.skipped };
}

/**
 * The judge of a scenario that has one, once it was audited on labelled episodes.
 * @throws JUDGE_UNAUDITED, JUDGE_UNRELIABLE: its word counts only where it was found good enough
 */
export async function judgeGate(context: Context, { domain, cast }: ToolsParts): Promise<ScenarioJudge | undefined> {
  const { judge: config } = context.scenario.config.reward;
  if (config === null) return undefined;
  const judge = new Judge(await cast.model('judge'), config);
  const audit = await judgeAudit(context, judge, domain, config);
  requireAudited(judge, domain, audit, config.audit.limits);
  return { version: judge.version, decide: decisionsOf(judge, context.seed) };
}

/** A judge, and how it decides on episodes. */
export interface ScenarioJudge {
  readonly version: string;
  readonly decide: NonNullable<RewardGate['judge']>;
}

/** The scenario's judge where its audit is another's business. */
export async function auditedElsewhere(
  { scenario, seed }: Pick<Context, 'scenario' | 'seed'>,
  { cast }: Pick<ToolsParts, 'cast'>,
): Promise<ScenarioJudge | undefined> {
  const { judge: config } = scenario.config.reward;
  if (config === null) return undefined;
  const judge = new Judge(await cast.model('judge'), config);
  return { version: judge.version, decide: decisionsOf(judge, seed) };
}

function decisionsOf(judge: Judge, seed: number): ScenarioJudge['decide'] {
  return async ({ domain, task, end }, signal) => {
    const { cost, ...verdict } = await judgeEpisode(domain, task, end, { judge, seed, signal });
    return { verdict, cost };
  };
}

/** The audit of exactly this judge: kept where it was made before. */
export async function judgeAudit(
  { scenario, out, seed, signal, progress }: Context,
  judge: Judge,
  domain: ToolsDomain,
  { audit }: JudgeConfig,
): Promise<AuditReport> {
  const file = join(out, 'judge-audit.json');
  const before = existsSync(file) ? await readAudit(file) : undefined;
  if (before?.judge === judge.version) return before;
  const labelled = await readLabelledEpisodes(
    resolve(domainFolder(scenario.config.domain, scenario.folder), audit.labelled),
    domain,
  );
  const phase = progress.phase('audit judge', labelled.length, 'episodes');
  const report = await auditJudge(judge, domain, labelled, { seed, signal });
  phase.set(labelled.length);
  phase.end(`false positives ${report.falsePositive.count} of ${report.falsePositive.of}`);
  await writeAudit(file, report);
  return report;
}
