// What must hold before episodes are given rewards: the simulator fails what must fail, and a judge was audited. Both are
// measured once and kept in the run's folder, under the versions they hold for.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ReverieError } from '../../../core/errors.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import { domainFolder } from '../../../env/tools/domains.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../../replay/experience/experience.js';
import type { TricksReport } from '../../../synth/hacker/find-tricks.js';
import {
  generateProbes,
  generateSuccesses,
  mustSucceed,
  type Probe,
  readProbes,
} from '../../../worldmodel/must-fail/probes.js';
import {
  type MustFailReport,
  readMustFail,
  requireMustFail,
  requireMustSucceed,
  runMustFail,
  writeMustFail,
} from '../../../worldmodel/must-fail/run-must-fail.js';
import { Judge, type JudgeConfig, judgeEpisode } from '../../../worldmodel/reward/judge.js';
import {
  type AuditReport,
  auditJudge,
  readAudit,
  readLabelledEpisodes,
  requireAudited,
  writeAudit,
} from '../../../worldmodel/reward/judge-audit.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { LiveRowSettings } from './live-row.js';
import type { ToolsParts } from './parts.js';

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'seed' | 'signal' | 'progress' | 'log'>;

export interface GateSummary {
  readonly passed: boolean;
  readonly rate: number;
  /** Failures by what was done instead. */
  readonly faults: MustFailReport['byFault'];
}

export interface RewardGate extends Pick<LiveRowSettings, 'judge' | 'withheld'> {
  readonly report?: GateSummary;
}

/** Whether a simulator does what is possible; what it makes is not written out where it does not. */
export interface CompetenceGate {
  readonly report?: GateSummary;
  readonly withheld?: string;
}

/** What stands in the way of rewards and datasets, and what was measured. */
export interface GateFindings {
  readonly mustFail?: GateSummary;
  readonly mustSucceed?: GateSummary;
  readonly tricks?: TricksReport;
  /** Why no episode is given a reward; absent: each may have one. */
  readonly unrewarded?: string;
  /** Why no dataset is written; absent: those asked for are. */
  readonly unwritten?: string;
}

const UNCHECKED = 'whole trajectories are written in one call, and the domain has no rules to check them by';

/** Runs the must-fail suite on who answers in the dream. A simulator that does not pass withholds every reward. */
export async function mustFailGate(context: Context, parts: ToolsParts): Promise<RewardGate> {
  const { config } = context.scenario;
  const { enabled, limit } = config.reward.mustFail;
  if (!enabled) return {};
  if (config.synth.mode === 'amplify' && parts.domain.rules === undefined) return { withheld: UNCHECKED };
  const report = await mustFailReport(context, parts);
  const summary = { passed: true, rate: report.rate.value ?? 0, faults: report.byFault };
  try {
    requireMustFail(report, limit);
    return { report: summary };
  } catch (error) {
    if (!(error instanceof ReverieError) || error.code !== 'SIMULATOR_UNSOUND') throw error;
    context.log(`No episode is given a reward: ${error.message}`);
    return { report: { ...summary, passed: false }, withheld: error.message };
  }
}

/** Runs the must-succeed suite on who answers in the dream. One that does not pass withholds rewards and datasets. */
export async function mustSucceedGate(context: Context, parts: ToolsParts): Promise<CompetenceGate> {
  const { enabled, limit } = context.scenario.config.reward.mustSucceed;
  if (!enabled) return {};
  const report = await mustSucceedReport(context, parts);
  if (report.total === 0) return {};
  const summary = { passed: true, rate: report.rate.value ?? 0, faults: report.byFault };
  try {
    requireMustSucceed(report, limit);
    return { report: summary };
  } catch (error) {
    if (!(error instanceof ReverieError) || error.code !== 'SIMULATOR_USELESS') throw error;
    context.log(`No episode is given a reward and no dataset is written: ${error.message} ${error.hint}`);
    return { report: { ...summary, passed: false }, withheld: error.message };
  }
}

/** The must-succeed suite's report, kept as the must-fail suite's is. */
export function mustSucceedReport(
  context: Context,
  parts: { domain: ToolsDomain; responder: Responder; experience?: ExperienceIndex },
) {
  const suite = async () => {
    const written = (await writtenProbes(context.scenario, parts.domain)).filter(mustSucceed);
    const records = await recordedReads(parts);
    return {
      probes: [...written, ...(await generateSuccesses(parts.domain, { records, signal: context.signal }))],
      skipped: [],
    };
  };
  return suiteReport(context, parts, { file: 'must-succeed.json', name: 'must-succeed suite', suite });
}

/** Records of reads that are looked through, of each tool: those nearest to a call without arguments. */
const RECORDS_OF_A_TOOL = 64;

/** Without rules records say what is true; with them they need not be asked. */
async function recordedReads({ domain, experience }: { domain: ToolsDomain; experience?: ExperienceIndex }) {
  if (domain.rules !== undefined || experience === undefined) return [];
  const found: ExperienceStep[] = [];
  for (const { name } of domain.tools.filter(({ kind }) => kind === 'read')) {
    const query = { call: { name, arguments: {} }, history: [], sources: 'real' } as const;
    const steps = experience.retrieve(query, RECORDS_OF_A_TOOL).map(({ step }) => step);
    found.push(...steps.filter(({ call }) => call.name === name));
  }
  return found;
}

/** The suite's report: kept where the same simulator was tried on the same domain before. */
export function mustFailReport(context: Context, parts: { domain: ToolsDomain; responder: Responder }) {
  const suite = async () => {
    const written = (await writtenProbes(context.scenario, parts.domain)).filter((probe) => !mustSucceed(probe));
    const generated = await generateProbes(parts.domain, { signal: context.signal });
    return { probes: [...written, ...generated.probes], skipped: generated.skipped };
  };
  return suiteReport(context, parts, { file: 'must-fail.json', name: 'must-fail suite', suite });
}

interface Suite {
  /** In the run's folder. */
  readonly file: string;
  readonly name: string;
  readonly suite: () => Promise<{
    readonly probes: readonly Probe[];
    readonly skipped: MustFailReport['skipped'];
  }>;
}

async function suiteReport(
  { out, seed, signal, progress }: Context,
  { domain, responder }: { domain: ToolsDomain; responder: Responder },
  { file: name, name: title, suite }: Suite,
): Promise<MustFailReport> {
  const file = join(out, name);
  const before = existsSync(file) ? await readMustFail(file) : undefined;
  const isSame = before?.responder === responder.version && before.domain.version === domain.version;
  // A report of an earlier form is made anew.
  if (isSame && before.format === 'reverie-must-fail/2') return before;
  const { probes, skipped } = await suite();
  const phase = progress.phase(title, probes.length, 'probes');
  const report = await runMustFail({ domain, responder, probes, skipped, seed, signal });
  phase.set(report.total);
  phase.end(`${report.passed} of ${report.total} passed`);
  await writeMustFail(file, report);
  return report;
}

/** The domain's own probes of both suites, where it has any. */
async function writtenProbes(scenario: ToolsScenario, domain: ToolsDomain): Promise<Probe[]> {
  const own = join(domainFolder(scenario.config.domain, scenario.folder), 'must-fail.yaml');
  return existsSync(own) ? readProbes(own, domain) : [];
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
