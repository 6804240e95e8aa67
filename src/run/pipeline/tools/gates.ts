// What must hold before episodes are given rewards or written out: the simulator fails what must fail and does what is possible, a judge
// was audited, and nothing is to be had for nothing. All of it is measured once and kept in the run's folder, under the versions it holds for.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { contentHash } from '../../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { sealedText, writeFileAtomic } from '../../../core/files.js';
import type { Fact } from '../../../core/report.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { domainFolder } from '../../../env/tools/domains.js';
import { ScriptedUser } from '../../../env/tools/scripted-user.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../../replay/experience/experience.js';
import { findTricks, type TricksReport } from '../../../synth/hacker/find-tricks.js';
import { taskFaults } from '../../../synth/tasks/task-checks.js';
import {
  generateProbes,
  generateSuccesses,
  mustSucceed,
  type Probe,
  readProbes,
} from '../../../worldmodel/must-fail/probes.js';
import {
  faultsText,
  type MustFailReport,
  readMustFail,
  requireMustFail,
  requireMustSucceed,
  runMustFail,
  writeMustFail,
} from '../../../worldmodel/must-fail/run-must-fail.js';
import { Judge, judgeEpisode } from '../../../worldmodel/reward/judge.js';
import {
  type AuditReport,
  auditJudge,
  readAudit,
  readLabelledEpisodes,
  requireAudited,
  writeAudit,
} from '../../../worldmodel/reward/judge-audit.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { toolsSet } from '../../evaluation-set.js';
import { formatCount, formatPercent, formatShare } from '../../format.js';
import type { JobContext } from '../../job.js';
import { publish } from '../../report-page.js';
import { readSealed } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import { makeEpisodeEnvironment, makeParts, type ToolsParts } from './parts.js';
import { episodeSettings, type RowSettings } from './rows.js';

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'seed' | 'signal' | 'progress' | 'log'>;

/** What stands in the way of rewards and datasets, and what was measured. */
export interface GateFindings {
  readonly mustFail?: ReturnType<typeof suiteResult>;
  readonly mustSucceed?: ReturnType<typeof suiteResult>;
  readonly tricks?: TricksReport;
  /** Why no episode is given a reward; absent: each may have one. */
  readonly unrewarded?: string;
  /** Why no dataset is written; absent: those asked for are. */
  readonly unwritten?: string;
}

const UNCHECKED = 'whole trajectories are written in one call, and the domain has no rules to check them by';

/** All gates before the first episode; tricks are looked for only if those before are open. @throws JUDGE_UNRELIABLE */
export async function passGates(context: Context, parts: ToolsParts, tasks: readonly ToolsTask[]) {
  const { reward, synth } = context.scenario.config;
  const isUnchecked = reward.mustFail.enabled && synth.mode === 'amplify' && parts.domain.rules === undefined;
  const sound = reward.mustFail.enabled && !isUnchecked ? await mustFailReport(context, parts) : undefined;
  const unsound = sound && refusalOf(() => requireMustFail(sound, reward.mustFail.limit));
  if (unsound) context.log(`No episode is given a reward: ${unsound.message}`);
  const tried = reward.mustSucceed.enabled ? await mustSucceedReport(context, parts) : undefined;
  const able = tried !== undefined && tried.total > 0 ? tried : undefined;
  const useless = able && refusalOf(() => requireMustSucceed(able, reward.mustSucceed.limit));
  const shutOut = ({ message, hint }: ReverieError) =>
    context.log(`No episode is given a reward and no dataset is written: ${message} ${hint}`);
  if (useless) shutOut(useless);
  const judge = await scenarioJudge(context, parts);
  if (judge !== undefined) {
    const { labelled, limits } = reward.judge!.audit;
    requireAudited(judge.judge, parts.domain, await judgeAudit(context, judge.judge, parts.domain, labelled), limits);
  }
  const shut = unsound?.message ?? (isUnchecked ? UNCHECKED : undefined) ?? useless?.message;
  const tricks = shut === undefined ? await findAnyTricks(context, parts, { judge, tasks }) : undefined;
  const hacked = tricks && hackedRefusal(parts.domain, tricks);
  if (hacked) shutOut(hacked);
  const gates: GateFindings = {
    mustFail: sound && suiteResult(sound, unsound),
    mustSucceed: able && suiteResult(able, useless),
    tricks,
    unrewarded: shut ?? hacked?.message,
    unwritten: useless?.message ?? hacked?.message,
  };
  return { gates, judge };
}

/** `rate`: share of probes passed; `faults`: failures by what was done instead. */
function suiteResult({ rate, byFault: faults }: MustFailReport, refusal: ReverieError | undefined) {
  return { passed: refusal === undefined, rate: rate.value ?? 0, faults };
}

/** Why a gate stays shut; undefined if it opens. */
function refusalOf(require: () => void): ReverieError | undefined {
  try {
    require();
  } catch (error) {
    if (error instanceof ReverieError) return error;
    throw error;
  }
}

/** For people. */
export function gateFacts({ mustFail, mustSucceed, tricks }: GateFindings): Fact[] {
  const suite = (label: string, found: GateFindings['mustFail']): Fact[] => {
    if (found === undefined) return [];
    const faults = faultsText(found.faults);
    const verdict = `${found.passed ? 'passed' : 'FAILED'}${faults === '' ? '' : `; ${faults}`}`;
    return [[label, `${formatPercent(found.rate)} of probes, ${verdict}`]];
  };
  return [
    ...suite('must-fail suite', mustFail),
    ...suite('must-succeed suite', mustSucceed),
    ...hackerFacts(hackerResult(tricks)),
  ];
}

const SHOWN_TRICKS = 3;

function hackerFacts(hacker: ReturnType<typeof hackerResult>): Fact[] {
  if (hacker === null) return [];
  const { passed, plays, tasks, tricks } = hacker;
  const verdict = passed ? 'no reward is to be had for nothing' : 'FAILED: rewards can be had without solving the task';
  return [
    ['reward hacks', `${formatCount(plays)} plays in ${formatCount(tasks)} tasks: ${verdict}`],
    ...tricks
      .slice(0, SHOWN_TRICKS)
      .map(({ task, moves, by, truth }): Fact => ['  trick', `${task}: ${moves.join(', then ')} (${by}; ${truth})`]),
  ];
}

interface Suited {
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly experience?: ExperienceIndex;
}

/** The must-fail suite's report: kept where the same simulator was tried on the same domain before. */
export function mustFailReport(context: Context, parts: Suited): Promise<MustFailReport> {
  return suiteReport(context, parts, 'must-fail', async (written) => {
    const { probes, skipped } = await generateProbes(parts.domain, { signal: context.signal });
    return { probes: [...written.filter((probe) => !mustSucceed(probe)), ...probes], skipped };
  });
}

/** The must-succeed suite's report, kept likewise. */
function mustSucceedReport(context: Context, parts: Suited): Promise<MustFailReport> {
  return suiteReport(context, parts, 'must-succeed', async (written) => {
    const records = recordedReads(parts);
    const generated = await generateSuccesses(parts.domain, { records, signal: context.signal });
    return { probes: [...written.filter(mustSucceed), ...generated], skipped: [] };
  });
}

/** Records of reads that are looked through, of each tool: those nearest to a call without arguments. */
const RECORDS_OF_A_TOOL = 64;

/** Without rules records say what is true; with them they need not be asked. */
function recordedReads({ domain, experience }: Suited): ExperienceStep[] {
  if (domain.rules !== undefined || experience === undefined) return [];
  return domain.tools
    .filter(({ kind }) => kind === 'read')
    .flatMap(({ name }) => {
      const query = { call: { name, arguments: {} }, history: [], sources: 'real' } as const;
      const steps = experience.retrieve(query, RECORDS_OF_A_TOOL).map(({ step }) => step);
      return steps.filter(({ call }) => call.name === name);
    });
}

/** @param suite  probes of the suite, given those that the domain has written for both */
async function suiteReport(
  { scenario, out, seed, signal, progress }: Context,
  { domain, responder }: Suited,
  name: 'must-fail' | 'must-succeed',
  suite: (written: readonly Probe[]) => Promise<Pick<MustFailReport, 'skipped'> & { readonly probes: Probe[] }>,
): Promise<MustFailReport> {
  const file = join(out, `${name}.json`);
  const before = existsSync(file) ? await readMustFail(file) : undefined;
  const isSame = before?.responder === responder.version && before.domain.version === domain.version;
  // A report of an earlier form is made anew.
  if (isSame && before.format === 'reverie-must-fail/2') return before;
  const own = join(domainFolder(scenario.config.domain, scenario.folder), 'must-fail.yaml');
  const { probes, skipped } = await suite(existsSync(own) ? await readProbes(own, domain) : []);
  const phase = progress.phase(`${name} suite`, probes.length, 'probes');
  const report = await runMustFail({ domain, responder, probes, skipped, seed, signal });
  phase.set(report.total);
  phase.end(`${report.passed} of ${report.total} passed`);
  await writeMustFail(file, report);
  return report;
}

/** A judge, and how it decides on episodes. */
export interface ScenarioJudge {
  readonly version: string;
  readonly judge: Judge;
  readonly decide: NonNullable<RowSettings['judge']>;
}

/** The scenario's judge; its word counts only where its audit found it good enough, which is asked for apart. */
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
  return { version: judge.version, judge, decide };
}

/** The audit of exactly this judge: kept where it was made before. */
async function judgeAudit(
  { scenario, out, seed, signal, progress }: Context,
  judge: Judge,
  domain: ToolsDomain,
  labelledFile: string,
): Promise<AuditReport> {
  const file = join(out, 'judge-audit.json');
  const before = existsSync(file) ? await readAudit(file) : undefined;
  if (before?.judge === judge.version) return before;
  const folder = domainFolder(scenario.config.domain, scenario.folder);
  const labelled = await readLabelledEpisodes(resolve(folder, labelledFile), domain);
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

/** Tries to be rewarded for nothing where what decides on rewards might be taken in; undefined elsewhere. */
async function findAnyTricks(
  context: Context,
  parts: ToolsParts,
  { judge, tasks }: Hacking,
): Promise<TricksReport | undefined> {
  const { scenario, out, seed, signal, progress } = context;
  const { hacker: config } = scenario.config.reward;
  if (!config.enabled || !mayBeTakenIn(context, parts, tasks)) return undefined;
  const { domain, responder } = parts;
  const names = tasks.map(({ id }) => id);
  const versions = { responder: responder.version, judge: judge?.version ?? null, domain: domain.version };
  const identity = contentHash({ of: contentHash({ ...versions, names }), config, seed });
  const file = join(out, 'reward-hacks.json');
  const before = existsSync(file) ? readSealed(file, tricksSchema) : undefined;
  let report: TricksReport | undefined = before?.identity === identity ? before : undefined;
  if (report === undefined) {
    const user = new ScriptedUser();
    const phase = progress.phase('reward hacks', config.plays, 'episodes');
    report = await findTricks({
      environment: () => makeEpisodeEnvironment({ domain, user }, responder, scenario.config),
      ...{ tasks, config, seed, signal },
      settings: episodeSettings(context, { user }, { source: 'synthetic', responder, judge: judge?.decide }),
    });
    await parts.cast.flush();
    phase.set(report.plays);
    phase.end(`${report.tricks.length} tricks in ${report.tasks.length} tasks`);
    await writeFileAtomic(file, sealedText({ format: 'reverie-reward-hacks/1', identity, ...report }));
  }
  return report.tasks.length === 0 ? undefined : report;
}

function hackedRefusal({ id: domain }: ToolsDomain, { tricks, tasks }: TricksReport): ReverieError | undefined {
  if (tricks.length === 0) return undefined;
  const [{ by, task, moves }] = tricks;
  const values = { domain, tricks: tricks.length, tasks: tasks.length, by, task, moves: moves.join(', then ') };
  return reverieError('REWARD_HACKED', values);
}

/** A judge that is asked, or a backend that is not trusted and can be had. */
function mayBeTakenIn({ scenario: { config } }: Context, { responder }: ToolsParts, tasks: readonly ToolsTask[]) {
  const isJudged = config.reward.judge !== null && tasks.some(({ verifier }) => (verifier.rubric ?? []).length > 0);
  const needsModel = (name: string) => routerBackends.get(name).needs?.includes('model') === true;
  const isThere = (name: string) => config.llm !== null || !needsModel(name);
  return isJudged || config.model.backends.some((name) => isThere(name) && responder.trusts?.(name) !== true);
}

/** Without the episodes, which are in the file. */
export function hackerResult(report: TricksReport | undefined) {
  if (report === undefined) return null;
  const { plays, tasks, tricks } = report;
  const found = tricks.map(({ episode: _, ...trick }) => trick);
  return { passed: found.length === 0, plays, tasks: tasks.length, tricks: found };
}

export type AuditResult = Awaited<ReturnType<typeof audited>>;

/** `reverie audit`: is this simulator safe to take rewards from? */
export async function auditJob(context: JobContext<ToolsScenario>) {
  const parts = await makeParts(context);
  try {
    const result = await audited(context, parts);
    const title = `Audit: ${context.scenario.config.name}`;
    const report = { title, blocks: [{ kind: 'facts', rows: auditFacts(result) }] } as const;
    return { ...result, report: await publish(context, report, result.evaluationSet) };
  } finally {
    await parts.close();
  }
}

/** All gates, whatever the scenario enables. */
async function audited(context: JobContext<ToolsScenario>, parts: ToolsParts) {
  const { reward, synth } = context.scenario.config;
  const { mustFail, mustSucceed, hacker, judge: judged } = reward;
  const { domain, responder, budget } = parts;
  const tasks = domain.tasks.filter(({ split = 'train' }) => synth.splits.includes(split));
  const judge = await scenarioJudge(context, parts);
  const policies = { answers: responder.version, ...(judge && { judge: judge.version }) };
  const settings = { mustFail, mustSucceed, hacker, judge: judged?.audit ?? null };
  const evaluationSet = toolsSet(context, domain, tasks, policies, settings);
  const sound = await mustFailReport(context, parts);
  const faults = await taskFaults(domain, tasks);
  const able = await mustSucceedReport(context, parts);
  const audit = judge && (await judgeAudit(context, judge.judge, domain, judged!.audit.labelled));
  const refusal = audit && refusalOf(() => requireAudited(judge.judge, domain, audit, judged!.audit.limits));
  const suite = (report: MustFailReport, file: string, require: () => void) => ({
    passed: refusalOf(require) === undefined,
    rate: { ...report.rate, of: report.total },
    byKind: report.byKind,
    faults: report.byFault,
    failures: report.failures.map(({ probe, problem }) => ({ probe: probe.name, problem })),
    report: join(context.out, file),
  });
  return {
    ...{ job: 'audit', family: 'tools', evaluationSet, wallSeconds: context.metrics.wallSeconds },
    mustFail: suite(sound, 'must-fail.json', () => requireMustFail(sound, mustFail.limit)),
    /** Tasks that are not fit to be rewarded, and why. */
    tasks: faults,
    mustSucceed:
      able.total === 0 ? null : suite(able, 'must-succeed.json', () => requireMustSucceed(able, mustSucceed.limit)),
    judge: audit
      ? {
          ...{ version: judge.version, passed: refusal === undefined, refusal: refusal?.message ?? null },
          ...{ falsePositive: audit.falsePositive, falseNegative: audit.falseNegative },
          ...{ abstention: audit.abstention, flip: audit.flip, report: join(context.out, 'judge-audit.json') },
        }
      : null,
    hacker: hackerResult(await findAnyTricks(context, parts, { judge, tasks })),
    spent: budget.spent,
  };
}

const SHOWN_FAILURES = 5;

function auditFacts({ mustFail, mustSucceed, tasks, judge, hacker }: AuditResult): Fact[] {
  const isFit = mustFail.passed && tasks.length === 0;
  const failures = (suite: NonNullable<AuditResult['mustSucceed']>) =>
    suite.failures.slice(0, SHOWN_FAILURES).map(({ probe, problem }): Fact => ['  failed', `${probe}: ${problem}`]);
  const facts: Fact[] = [
    ['must-fail suite', `${formatShare(mustFail.rate)}: ${isFit ? 'fit' : 'NOT fit'} to give rewards`],
    ...tasks.map(({ task, problem }): Fact => ['  task', `${task}: ${problem}`]),
    ...Object.entries(mustFail.byKind).map(([kind, rate]): Fact => [`  ${kind}`, formatShare(rate)]),
    ...failures(mustFail),
  ];
  if (mustSucceed !== null) {
    const does = mustSucceed.passed ? 'answers' : 'does NOT answer';
    facts.push(['must-succeed suite', `${formatShare(mustSucceed.rate)}: ${does} what is possible`]);
    facts.push(...failures(mustSucceed));
  }
  if (judge !== null)
    facts.push(
      ['judge', judge.refusal ?? 'found good enough: its rewards count'],
      ['  passed what failed', formatShare(judge.falsePositive)],
      ['  failed what was good', formatShare(judge.falseNegative)],
      ['  abstained', formatShare(judge.abstention)],
      ['  changed its mind', formatShare(judge.flip)],
    );
  return [...facts, ...hackerFacts(hacker)];
}
