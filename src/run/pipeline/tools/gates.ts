// What must hold before episodes are given rewards or written out: the simulator fails what must fail and does what is possible, a judge
// was audited, and nothing is to be had for nothing. All of it is measured once and kept in the run's folder, under the versions it holds for.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { contentHash } from '../../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { sealedText, writeFileAtomic } from '../../../core/files.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { domainFolder } from '../../../env/tools/domains.js';
import { ScriptedUser } from '../../../env/tools/scripted-user.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../../replay/experience/experience.js';
import { findTricks, type TricksReport } from '../../../synth/hacker/find-tricks.js';
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
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import type { JobContext } from '../../job.js';
import { readSealed } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import type { HackerResult } from '../../tools-results.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';
import { episodeSettings, type RowSettings } from './rows.js';

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'seed' | 'signal' | 'progress' | 'log'>;

export interface GateSummary {
  readonly passed: boolean;
  readonly rate: number;
  /** Failures by what was done instead. */
  readonly faults: MustFailReport['byFault'];
}

interface Gate<Report> {
  /** Absent where nothing was measured. */
  readonly report?: Report;
  /** Why the gate is shut. */
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

/** All gates before the first episode; each is asked only if those before it are open. @throws JUDGE_UNAUDITED, JUDGE_UNRELIABLE */
export async function passGates(
  context: Context,
  parts: ToolsParts,
  tasks: readonly ToolsTask[],
): Promise<{ gates: GateFindings; judge: ScenarioJudge | undefined }> {
  const sound = await mustFailGate(context, parts);
  const able = await mustSucceedGate(context, parts);
  const judge = await judgeGate(context, parts);
  const shut = sound.withheld ?? able.withheld;
  const honest: Gate<TricksReport> = shut === undefined ? await hackerGate(context, parts, { judge, tasks }) : {};
  const gates: GateFindings = {
    mustFail: sound.report,
    mustSucceed: able.report,
    tricks: honest.report,
    unrewarded: shut ?? honest.withheld,
    unwritten: able.withheld ?? honest.withheld,
  };
  return { gates, judge };
}

const UNCHECKED = 'whole trajectories are written in one call, and the domain has no rules to check them by';

/** A simulator that does not pass withholds every reward. */
async function mustFailGate(context: Context, parts: ToolsParts): Promise<Gate<GateSummary>> {
  const { reward, synth } = context.scenario.config;
  const { enabled, limit } = reward.mustFail;
  if (!enabled) return {};
  if (synth.mode === 'amplify' && parts.domain.rules === undefined) return { withheld: UNCHECKED };
  const report = await mustFailReport(context, parts);
  return summarised(
    report,
    'SIMULATOR_UNSOUND',
    () => requireMustFail(report, limit),
    ({ message }) => {
      context.log(`No episode is given a reward: ${message}`);
    },
  );
}

/** One that does not do what is possible withholds rewards and datasets. */
async function mustSucceedGate(context: Context, parts: ToolsParts): Promise<Gate<GateSummary>> {
  const { enabled, limit } = context.scenario.config.reward.mustSucceed;
  const report = enabled ? await mustSucceedReport(context, parts) : undefined;
  if (report === undefined || report.total === 0) return {};
  return summarised(
    report,
    'SIMULATOR_USELESS',
    () => requireMustSucceed(report, limit),
    ({ message, hint }) => {
      context.log(`No episode is given a reward and no dataset is written: ${message} ${hint}`);
    },
  );
}

function summarised(
  { rate, byFault: faults }: MustFailReport,
  code: string,
  require: () => void,
  tell: (refusal: ReverieError) => void,
): Gate<GateSummary> {
  const summary = { rate: rate.value ?? 0, faults };
  try {
    require();
    return { report: { passed: true, ...summary } };
  } catch (error) {
    if (!(error instanceof ReverieError) || error.code !== code) throw error;
    tell(error);
    return { report: { passed: false, ...summary }, withheld: error.message };
  }
}

/** The must-fail suite's report: kept where the same simulator was tried on the same domain before. */
export function mustFailReport(context: Context, parts: { domain: ToolsDomain; responder: Responder }) {
  return suiteReport(context, parts, 'must-fail', async () => {
    const written = (await writtenProbes(context.scenario, parts.domain)).filter((probe) => !mustSucceed(probe));
    const { probes, skipped } = await generateProbes(parts.domain, { signal: context.signal });
    return { probes: [...written, ...probes], skipped };
  });
}

/** The must-succeed suite's report, kept likewise. */
export function mustSucceedReport(
  context: Context,
  parts: { domain: ToolsDomain; responder: Responder; experience?: ExperienceIndex },
) {
  return suiteReport(context, parts, 'must-succeed', async () => {
    const written = (await writtenProbes(context.scenario, parts.domain)).filter(mustSucceed);
    const records = await recordedReads(parts);
    const generated = await generateSuccesses(parts.domain, { records, signal: context.signal });
    return { probes: [...written, ...generated], skipped: [] };
  });
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

async function suiteReport(
  { out, seed, signal, progress }: Context,
  { domain, responder }: { domain: ToolsDomain; responder: Responder },
  name: 'must-fail' | 'must-succeed',
  suite: () => Promise<{ readonly probes: readonly Probe[]; readonly skipped: MustFailReport['skipped'] }>,
): Promise<MustFailReport> {
  const file = join(out, `${name}.json`);
  const before = existsSync(file) ? await readMustFail(file) : undefined;
  const isSame = before?.responder === responder.version && before.domain.version === domain.version;
  // A report of an earlier form is made anew.
  if (isSame && before.format === 'reverie-must-fail/2') return before;
  const { probes, skipped } = await suite();
  const phase = progress.phase(`${name} suite`, probes.length, 'probes');
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

/** A judge, and how it decides on episodes. */
export interface ScenarioJudge {
  readonly version: string;
  readonly decide: NonNullable<RowSettings['judge']>;
}

/** The scenario's judge where its audit is another's business. */
export async function scenarioJudge(
  { scenario, seed }: Pick<Context, 'scenario' | 'seed'>,
  { cast }: Pick<ToolsParts, 'cast'>,
): Promise<ScenarioJudge | undefined> {
  const { judge: config } = scenario.config.reward;
  if (config === null) return undefined;
  const judge = new Judge(await cast.model('judge'), config);
  const decide: ScenarioJudge['decide'] = async ({ domain, task, end }, signal) => {
    const { cost, ...verdict } = await judgeEpisode(domain, task, end, { judge, seed, signal });
    return { verdict, cost };
  };
  return { version: judge.version, decide };
}

/** The same, audited on labelled episodes: its word counts only where it was found good enough. */
async function judgeGate(context: Context, parts: ToolsParts): Promise<ScenarioJudge | undefined> {
  const { judge: config } = context.scenario.config.reward;
  if (config === null) return undefined;
  const judge = new Judge(await parts.cast.model('judge'), config);
  const audit = await judgeAudit(context, judge, parts.domain, config);
  requireAudited(judge, parts.domain, audit, config.audit.limits);
  return scenarioJudge(context, parts);
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
  const folder = domainFolder(scenario.config.domain, scenario.folder);
  const labelled = await readLabelledEpisodes(resolve(folder, audit.labelled), domain);
  const phase = progress.phase('audit judge', labelled.length, 'episodes');
  const report = await auditJudge(judge, domain, labelled, { seed, signal });
  phase.set(labelled.length);
  phase.end(`false positives ${report.falsePositive.count} of ${report.falsePositive.of}`);
  await writeAudit(file, report);
  return report;
}

interface Hacking {
  readonly judge: ScenarioJudge | undefined;
  readonly tasks: readonly ToolsTask[];
}

const tricksSchema = z.custom<TricksReport & { readonly identity: string }>();

/** Tries to be rewarded for nothing where somebody decides on rewards who might be taken in. */
export async function hackerGate(context: Context, parts: ToolsParts, hacking: Hacking): Promise<Gate<TricksReport>> {
  const { enabled } = context.scenario.config.reward.hacker;
  if (!enabled || !mayBeTakenIn(context, parts, hacking.tasks)) return {};
  const report = await tricksReport(context, parts, hacking);
  if (report.tasks.length === 0) return {};
  const [first] = report.tricks;
  if (first === undefined) return { report };
  const { message, hint } = reverieError('REWARD_HACKED', {
    ...{ domain: parts.domain.id, tricks: report.tricks.length, tasks: report.tasks.length },
    ...{ by: first.by, task: first.task, moves: first.moves.join(', then ') },
  });
  context.log(`No episode is given a reward and no dataset is written: ${message} ${hint}`);
  return { report, withheld: message };
}

/** A judge that is asked, or a backend that is not trusted and can be had. */
function mayBeTakenIn({ scenario: { config } }: Context, { responder }: ToolsParts, tasks: readonly ToolsTask[]) {
  const isJudged = config.reward.judge !== null && tasks.some(({ verifier }) => (verifier.rubric ?? []).length > 0);
  const needsModel = (name: string) => routerBackends.get(name).needs?.includes('model') === true;
  const isThere = (name: string) => config.llm !== null || !needsModel(name);
  return isJudged || config.model.backends.some((name) => isThere(name) && responder.trusts?.(name) !== true);
}

async function tricksReport(context: Context, parts: ToolsParts, { judge, tasks }: Hacking): Promise<TricksReport> {
  const { scenario, out, seed, signal, progress } = context;
  const { hacker: config } = scenario.config.reward;
  const { domain, responder } = parts;
  const names = tasks.map(({ id }) => id);
  const versions = { responder: responder.version, judge: judge?.version ?? null, domain: domain.version };
  const identity = contentHash({ of: contentHash({ ...versions, names }), config, seed });
  const file = join(out, 'reward-hacks.json');
  const before = existsSync(file) ? readSealed(file, tricksSchema) : undefined;
  if (before?.identity === identity) return before;
  const user = new ScriptedUser();
  const phase = progress.phase('reward hacks', config.plays, 'episodes');
  const report = await findTricks({
    environment: () => makeEpisodeEnvironment({ domain, user }, responder, scenario.config),
    ...{ tasks, config, seed, signal },
    settings: episodeSettings(context, { user }, { source: 'synthetic', responder, judge: judge?.decide }),
  });
  await parts.cast.flush();
  phase.set(report.plays);
  phase.end(`${report.tricks.length} tricks in ${report.tasks.length} tasks`);
  await writeFileAtomic(file, sealedText({ format: 'reverie-reward-hacks/1', identity, ...report }));
  return report;
}

/** Without the episodes, which are in the file. */
export function hackerResult(report: TricksReport | undefined): HackerResult | null {
  if (report === undefined) return null;
  const { plays, tasks, tricks } = report;
  const told = tricks.map(({ episode: _, ...trick }) => trick);
  return { passed: tricks.length === 0, plays, tasks: tasks.length, tricks: told };
}
