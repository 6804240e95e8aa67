// What a tools job begins and ends with. Gates, before episodes are given rewards or written out: the simulator fails what must fail and does
// what is possible, a judge was audited, and nothing is to be had for nothing; measured once and kept in the run's folder, under the versions
// it holds for. Tasks: those given, and new ones made from them, kept there too. Datasets: each row is judged once as it comes, what passes is
// a line of data/episodes.jsonl, and that file is written out in each format that was asked for; `reverie export` does the last again.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { contentHash, type JsonObject, sha256 } from '../../../core/canonical-json.js';
import type { Cost } from '../../../core/cost.js';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../../core/files.js';
import type { Fact } from '../../../core/report.js';
import { Rng } from '../../../core/rng.js';
import { concurrently } from '../../../core/threads.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { domainFolder, makeDomain } from '../../../env/tools/domains.js';
import { withSplits, withTasks } from '../../../env/tools/load-domain.js';
import { isWorkedOutLater } from '../../../env/tools/rules-responder.js';
import { ScriptedUser } from '../../../env/tools/scripted-user.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { EpisodeRecord, ExperienceIndex, ExperienceStep } from '../../../replay/experience/experience.js';
import { episodeLogFiles, recordsOf } from '../../../replay/experience/logs/read-episode-logs.js';
import { ExperienceStore } from '../../../replay/experience/store.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import { exportEpisodes } from '../../../synth/export/episodes/export-episodes.js';
import { findTricks, type TricksReport } from '../../../synth/hacker/find-tricks.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import { type SplitShares, splitOf } from '../../../synth/quality/quality-config.js';
import { QualityPipeline } from '../../../synth/quality/quality-pipeline.js';
import { lintTasks, type TaskFinding } from '../../../synth/tasks/lint-tasks.js';
import { makeTasks } from '../../../synth/tasks/make-tasks.js';
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
  requireMustFail,
  requireMustSucceed,
  runMustFail,
} from '../../../worldmodel/must-fail/run-must-fail.js';
import { Judge, judgeEpisode } from '../../../worldmodel/reward/judge.js';
import {
  type AuditReport,
  auditJudge,
  judgedDomainHash,
  labelledHash,
  readLabelledEpisodes,
  requireAudited,
} from '../../../worldmodel/reward/judge-audit.js';
import { toolsSet } from '../../evaluation-set.js';
import { formatCount, formatPercent, formatShare } from '../../format.js';
import type { JobContext } from '../../job.js';
import { publish } from '../../report-page.js';
import { RUN_FILE, readSealed } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import { requireInput } from '../inputs.js';
import {
  costText,
  episodeSettings,
  makeEpisodeEnvironment,
  makeParts,
  needsModel,
  type RowSettings,
  remember,
  spendingFacts,
  type ToolsParts,
} from './rows.js';

type Context = JobContext<ToolsScenario>;

interface GateContext extends Pick<Context, 'scenario' | 'out' | 'seed' | 'signal' | 'progress' | 'log'> {
  /** Folders of earlier runs, the newest first: what they measured holds here where nothing that it depends on differs. */
  readonly earlier?: readonly string[];
}

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

/** All gates before the first episode, paid for as audits. @throws JUDGE_UNRELIABLE */
export async function passGates(context: GateContext, parts: ToolsParts, tasks: readonly ToolsTask[]) {
  parts.budget.payer = 'audits';
  try {
    // Without a model they cost less than they take to find.
    const earlier = context.scenario.config.llm === null ? [] : runsBeside(context.out);
    return await gatesOf({ ...context, earlier }, parts, tasks);
  } finally {
    parts.budget.payer = undefined;
  }
}

/** Tricks are looked for only if the gates before are open. */
async function gatesOf(context: GateContext, parts: ToolsParts, tasks: readonly ToolsTask[]) {
  const { reward } = context.scenario.config;
  const sound = reward.mustFail.enabled ? await mustFailReport(context, parts) : undefined;
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
    const { limits } = judge.judge.config.audit;
    requireAudited(await judgeAudit(context, judge.judge, parts.domain), limits);
  }
  const shut = unsound?.message ?? useless?.message;
  const tricks = shut === undefined ? await findAnyTricks(context, parts, judge, tasks) : undefined;
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

function hackerFacts(hacker: ReturnType<typeof hackerResult>): Fact[] {
  if (hacker === null) return [];
  const { passed, plays, tasks, tricks } = hacker;
  const verdict = passed ? 'no reward is to be had for nothing' : 'FAILED: rewards can be had without solving the task';
  return [
    ['reward hacks', `${formatCount(plays)} plays in ${formatCount(tasks)} tasks: ${verdict}`],
    ...tricks
      .slice(0, SHOWN)
      .map(({ task, moves, by, truth }): Fact => ['  trick', `${task}: ${moves.join(', then ')} (${by}; ${truth})`]),
  ];
}

interface Suited {
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly experience?: ExperienceIndex;
}

/** The must-fail suite's report: kept where the same simulator was tried on the same domain before. */
export function mustFailReport(context: GateContext, parts: Suited): Promise<MustFailReport> {
  return suiteReport(context, parts, 'must-fail', async (written) => {
    const { probes, skipped } = await generateProbes(parts.domain, { signal: context.signal });
    return { probes: [...written.filter((probe) => !mustSucceed(probe)), ...probes], skipped };
  });
}

/** The must-succeed suite's report, kept likewise. */
function mustSucceedReport(context: GateContext, parts: Suited): Promise<MustFailReport> {
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

/**
 * What a gate found of just this, by all that it depends on: in this run, in an earlier one, or now.
 * @throws CHECKPOINT_CORRUPT where this run's file is damaged
 */
async function measured<T extends object>(
  { out, earlier = [], log, scenario }: GateContext,
  name: string,
  dependsOn: object,
  measure: () => Promise<T>,
): Promise<T> {
  const { llm, roles } = scenario.config;
  const identity = contentHash(dependsOn);
  // A model of the same name on another server may be another; where kept replies are read no server answers.
  const servers = contentHash([llm, ...Object.values(roles)].flatMap((one) => one?.url ?? []));
  const isReplay = llm?.cache?.mode === 'replay';
  for (const run of [out, ...earlier]) {
    const file = join(run, name);
    if (!existsSync(file)) continue;
    try {
      const kept = readSealed(file, z.custom<T & { readonly identity?: string; readonly servers?: string }>());
      if (kept.identity !== identity || (kept.servers !== servers && !isReplay)) continue;
      if (run === out) return kept;
      log(`${name} is that of ${run}, as nothing that it depends on has changed; reverie audit measures anew.`);
      await writeFileAtomic(join(out, name), sealedText(kept));
      return kept;
    } catch (error) {
      // The damaged file of another run is its own affair.
      if (run === out || (error as ReverieError).code !== 'CHECKPOINT_CORRUPT') throw error;
    }
  }
  const report = await measure();
  await writeFileAtomic(join(out, name), sealedText({ ...report, identity, servers }));
  return report;
}

/** Folders of runs beside this one, the newest first; whatever else lies there is passed over. */
function runsBeside(out: string): string[] {
  const begun = readdirSync(dirname(out)).flatMap((name) => {
    const [folder, record] = [join(dirname(out), name), join(dirname(out), name, RUN_FILE)];
    const at = folder === out || !existsSync(record) ? undefined : statSync(record).mtimeMs;
    return at === undefined ? [] : [{ folder, at }];
  });
  return begun.sort((a, b) => b.at - a.at).map(({ folder }) => folder);
}

/** Audits have a seed of their own, so that runs of all seeds have the same. */
const AUDIT_SEED = 0;

/** @param suite  probes of the suite, given those that the domain has written for both */
async function suiteReport(
  context: GateContext,
  { domain, responder }: Suited,
  name: 'must-fail' | 'must-succeed',
  suite: (written: readonly Probe[]) => Promise<Pick<MustFailReport, 'skipped'> & { readonly probes: Probe[] }>,
): Promise<MustFailReport> {
  const { config, folder } = context.scenario;
  const own = join(domainFolder(config.domain, folder), 'must-fail.yaml');
  // Records are what a model is shown.
  const files = [own, ...episodeLogFiles(config.experience, folder)].map((path) =>
    existsSync(path) ? sha256(readFileSync(path)) : null,
  );
  const dependsOn = { format: 'reverie-must-fail/2', responder: responder.version, domain: domain.version, files };
  return measured(context, `${name}.json`, dependsOn, async () => {
    const { signal, progress } = context;
    const { probes, skipped } = await suite(existsSync(own) ? await readProbes(own, domain) : []);
    const phase = progress.phase(`${name} suite`, probes.length, 'probes');
    const report = await runMustFail({ domain, responder, probes, skipped, seed: AUDIT_SEED, signal });
    phase.set(report.total);
    phase.end(`${report.passed} of ${report.total} passed${costNote(report.cost)}`);
    return report;
  });
}

function costNote(cost: Cost): string {
  return cost.calls === 0 ? '' : ` · ${costText(cost)}`;
}

/** A judge, and how it decides on episodes. */
export interface ScenarioJudge {
  readonly version: string;
  readonly judge: Judge;
  readonly decide: NonNullable<RowSettings['judge']>;
}

/** The scenario's judge; its word counts only where its audit found it good enough, which is asked for apart. */
export async function scenarioJudge(
  { scenario, seed }: Pick<GateContext, 'scenario' | 'seed'>,
  { cast }: Pick<ToolsParts, 'cast'>,
): Promise<ScenarioJudge | undefined> {
  const { judge: config } = scenario.config.reward;
  if (config === null) return undefined;
  const judge = new Judge(await cast.model('judge'), config);
  const decide: ScenarioJudge['decide'] = async ({ domain, task, end, seed: own = seed }, signal) => {
    const { cost, ...verdict } = await judgeEpisode(domain, task, end, { judge, seed: own, signal });
    return { verdict, cost };
  };
  return { version: judge.version, judge, decide };
}

/** The audit of exactly this judge: kept where it was made before. */
async function judgeAudit(context: GateContext, judge: Judge, domain: ToolsDomain): Promise<AuditReport> {
  const { scenario, signal, progress } = context;
  const { labelled: file, repeats } = judge.config.audit;
  const folder = domainFolder(scenario.config.domain, scenario.folder);
  const labelled = await readLabelledEpisodes(resolve(folder, file), domain);
  const judged = { domain: judgedDomainHash(domain), labelled: labelledHash(labelled), repeats };
  const dependsOn = { format: 'reverie-judge-audit/1', judge: judge.version, ...judged };
  return measured(context, 'judge-audit.json', dependsOn, async () => {
    const phase = progress.phase('audit judge', labelled.length, 'episodes');
    const report = await auditJudge(judge, domain, labelled, { seed: AUDIT_SEED, signal });
    phase.set(labelled.length);
    phase.end(`false positives ${report.falsePositive.count} of ${report.falsePositive.of}${costNote(report.cost)}`);
    return report;
  });
}

/** Tries to be rewarded for nothing where what decides on rewards might be taken in; undefined elsewhere. */
async function findAnyTricks(
  context: GateContext,
  parts: ToolsParts,
  judge: ScenarioJudge | undefined,
  tasks: readonly ToolsTask[],
): Promise<TricksReport | undefined> {
  const { scenario, seed, signal, progress } = context;
  const { hacker: config } = scenario.config.reward;
  if (!config.enabled || !mayBeTakenIn(context, parts, tasks)) return undefined;
  const { domain, responder } = parts;
  const versions = { responder: responder.version, judge: judge?.version ?? null, domain: domain.version };
  const dependsOn = { of: contentHash({ ...versions, names: tasks.map(({ id }) => id) }), config, seed };
  const report = await measured(context, 'reward-hacks.json', dependsOn, async () => {
    const user = new ScriptedUser();
    const phase = progress.phase('reward hacks', config.plays, 'episodes');
    const found = await findTricks({
      environment: () => makeEpisodeEnvironment({ domain, user }, responder, { ...scenario.config, faults: [] }),
      ...{ tasks, config, seed, signal },
      settings: episodeSettings(context, { user }, { source: 'synthetic', responder, judge: judge?.decide }),
    });
    await parts.cast.flush();
    phase.set(found.plays);
    phase.end(`${found.tricks.length} tricks in ${found.tasks.length} tasks`);
    return { format: 'reverie-reward-hacks/1', ...found };
  });
  return report.tasks.length === 0 ? undefined : report;
}

function hackedRefusal({ id: domain }: ToolsDomain, { tricks, tasks }: TricksReport): ReverieError | undefined {
  if (tricks.length === 0) return undefined;
  const [{ by, task, moves }] = tricks;
  const values = { domain, tricks: tricks.length, tasks: tasks.length, by, task, moves: moves.join(', then ') };
  return reverieError('REWARD_HACKED', values);
}

/** A judge that is asked, or a backend that is not trusted and can be had. */
function mayBeTakenIn({ scenario: { config } }: GateContext, { responder }: ToolsParts, tasks: readonly ToolsTask[]) {
  const isJudged = config.reward.judge !== null && tasks.some(({ verifier }) => (verifier.rubric ?? []).length > 0);
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
export async function auditJob(context: Context) {
  if (context.inputs.tasks === true) return tasksAudit(context);
  const parts = await makeParts(context);
  try {
    // As synth has it, so that a run after the audit has no need of another.
    const domain = withAddedTasks(parts.domain, [], context.scenario.config.quality.splits);
    const result = await audited(context, { ...parts, domain });
    const title = `Audit: ${context.scenario.config.name}`;
    const report = { title, blocks: [{ kind: 'facts', rows: auditFacts(result) }] } as const;
    return { ...result, report: await publish(context, report, result.evaluationSet) };
  } finally {
    await parts.close();
  }
}

/** Audits only the tasks, of all splits, by the domain's rules. */
async function tasksAudit(context: Context) {
  const { config, folder } = context.scenario;
  const domain = await makeDomain(config.domain, { folder });
  try {
    const evaluationSet = toolsSet(context, domain, domain.tasks, {}, {});
    const tasks = await lintTasks(domain, domain.tasks);
    const rows = [['tasks', formatCount(domain.tasks.length)] as const, ...taskFacts(tasks)];
    const report = { title: `Tasks: ${config.name}`, blocks: [{ kind: 'facts', rows }] } as const;
    const passed = tasks.every(({ shuts }) => !shuts);
    const { wallSeconds } = context.metrics;
    const found = { job: 'audit', family: 'tools', evaluationSet, wallSeconds, passed, tasks };
    return { ...found, report: await publish(context, report, evaluationSet) };
  } finally {
    domain.close();
  }
}

/** Lists tasks that are unfit for rewards; counts other findings by kind. */
function taskFacts(findings: readonly TaskFinding[]): Fact[] {
  const unfit = findings.filter(({ shuts }) => shuts);
  const notes = new Map<string, TaskFinding[]>();
  for (const note of findings) if (!note.shuts) notes.set(note.kind, [...(notes.get(note.kind) ?? []), note]);
  return [
    ['not fit to be rewarded', formatCount(new Set(unfit.map(({ task }) => task)).size)],
    ...unfit.map(({ task, problem }): Fact => ['  task', `${task}: ${problem}`]),
    ...[...notes.values()].map((same): Fact => {
      const [{ task, problem }] = same;
      const others = same.length > 1 ? ` (and ${formatCount(same.length - 1)} like it)` : '';
      return ['  to review', `${task}: ${problem}${others}`];
    }),
  ];
}

/** All gates, whatever the scenario enables. */
async function audited(context: Context, parts: ToolsParts) {
  const { reward, synth } = context.scenario.config;
  const { mustFail, mustSucceed, hacker, judge: judged } = reward;
  const { domain, responder, budget } = parts;
  const tasks = domain.tasks.filter(({ split = 'train' }) => synth.splits.includes(split));
  const judge = await scenarioJudge(context, parts);
  const policies = { answers: responder.version, ...(judge && { judge: judge.version }) };
  const settings = { mustFail, mustSucceed, hacker, judge: judged?.audit ?? null };
  const evaluationSet = toolsSet(context, domain, tasks, policies, settings);
  const sound = await mustFailReport(context, parts);
  const faults = await lintTasks(domain, tasks);
  const able = await mustSucceedReport(context, parts);
  const audit = judge && (await judgeAudit(context, judge.judge, domain));
  const refusal = audit && refusalOf(() => requireAudited(audit, judged!.audit.limits));
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
    /** Findings about tasks; a task with `shuts` receives no reward. */
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
    hacker: hackerResult(await findAnyTricks(context, parts, judge, tasks)),
    noise: await noiseOf(context, parts, judge),
    spent: budget.spent,
    spentBy: budget.spentBy,
  };
}

/** How much of a reward is chance. */
async function noiseOf(
  { scenario, seed, out, signal, progress }: GateContext,
  parts: ToolsParts,
  judge?: ScenarioJudge,
) {
  // Imported lazily: synth, which passes gates, does not need it.
  const { toolsNoise } = await import('../../../fidelity/tools/noise.js');
  const instrument = toolsNoise({ ...parts, setup: { scenario, seed, inputs: {}, out }, judge });
  const phase = progress.phase('noise', instrument.chunks, 'tasks');
  const rows = await concurrently(Array.from({ length: instrument.chunks }), NOISE_TASKS, async (_, task) => {
    const row = await instrument.measure(task, signal);
    phase.advance();
    return row;
  });
  phase.end();
  const { summary, metrics } = instrument.conclude(rows.flat()).section;
  return { summary, figures: Object.fromEntries(metrics.map(({ key, estimate }) => [key, estimate])) };
}

/** Concurrent tasks: they wait for language models. */
const NOISE_TASKS = 4;

/** Tricks, and failures of a suite, that a report lists. */
const SHOWN = 5;

function auditFacts({ mustFail, mustSucceed, tasks, judge, hacker, noise, ...result }: AuditResult): Fact[] {
  const failures = (suite: NonNullable<AuditResult['mustSucceed']>) =>
    suite.failures.slice(0, SHOWN).map(({ probe, problem }): Fact => ['  failed', `${probe}: ${problem}`]);
  const facts: Fact[] = [
    ['must-fail suite', `${formatShare(mustFail.rate)}: ${mustFail.passed ? 'fit' : 'NOT fit'} to give rewards`],
    ...Object.entries(mustFail.byKind).map(([kind, rate]): Fact => [`  ${kind}`, formatShare(rate)]),
    ...failures(mustFail),
  ];
  facts.push(...taskFacts(tasks));
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
  return [...facts, ...hackerFacts(hacker), ['noise', noise.summary], ...spendingFacts(result)];
}

/**
 * The tasks that episodes are of, those of the wanted splits; the new ones, as they were made; the domain with these among its own.
 * @throws SCENARIO_UNFIT if no task is of a wanted split; what models and storage throw
 */
export async function taskStage(context: Context, parts: ToolsParts) {
  const { synth, quality, name, tasks: wanted } = context.scenario.config;
  const file = tasksFile(context.out);
  let added = wanted.variation.count === 0 ? [] : madeTasks(context.out);
  if (wanted.variation.count > 0 && !existsSync(file)) {
    added = await newTasks(context, parts);
    await writeFileAtomic(file, sealedText({ tasks: added }));
  }
  const domain = withAddedTasks(parts.domain, added, quality.splits);
  const tasks = domain.tasks.filter((task) => synth.splits.includes(splitOf(task, quality.splits)));
  if (tasks.length > 0) return { domain, tasks, added };
  throw reverieError('SCENARIO_UNFIT', {
    problem: `Scenario "${name}" has no task in the splits ${synth.splits.join(', ')}.`,
    hint: 'Name other splits in synth.splits, or give the domain tasks of these.',
  });
}

/**
 * The domain with more tasks, each saying which split it is of: its own, or the one its family is given. Where there is nothing to add, the
 * domain itself if its tasks are worked out when they are looked at: to begin all, and to find their solutions, takes applications
 * minutes, and a page that cannot be begun would end the job.
 */
export function withAddedTasks(domain: ToolsDomain, more: readonly ToolsTask[], shares: SplitShares): ToolsDomain {
  if (more.length === 0 && domain.tasks.every(isWorkedOutLater)) {
    if (domain.tasks.every(({ split }) => split !== undefined)) return domain;
    return withSplits(domain, (task) => splitOf(task, shares));
  }
  const tasks = [...domain.tasks, ...more].map((task) => ({ ...task, split: splitOf(task, shares) }));
  return withTasks(domain, tasks);
}

const tasksSchema = z.object({ tasks: z.custom<readonly ToolsTask[]>(Array.isArray) });
const tasksFile = (out: string) => join(out, 'tasks.json');

/** Those that a run made; none where it made none. @throws CHECKPOINT_CORRUPT */
function madeTasks(out: string): readonly ToolsTask[] {
  return existsSync(tasksFile(out)) ? readSealed(tasksFile(out), tasksSchema).tasks : [];
}

async function newTasks(context: Context, { domain, responder }: ToolsParts): Promise<ToolsTask[]> {
  const { tasks: config, quality } = context.scenario.config;
  const phase = context.progress.phase('make tasks', config.variation.count, 'tasks');
  const tasks: ToolsTask[] = [];
  const rejected: Record<string, number> = {};
  const note = () => {
    const counts = Object.entries(rejected).map(([code, count]) => `${count} ${code.replaceAll('_', ' ')}`);
    return counts.length === 0 ? 'none refused' : `refused: ${counts.join(', ')}`;
  };
  const request = {
    ...{ domain, config, signal: context.signal },
    rng: Rng.fromSeed(context.seed).split('tasks'),
    seeds: domain.tasks.filter((task) => splitOf(task, quality.splits) === 'train'),
    responder: domain.rules === undefined ? responder : undefined,
  };
  for await (const { admission } of makeTasks(request)) {
    if (admission.admitted) tasks.push(admission.task);
    else for (const { code } of admission.reasons) rejected[code] = (rejected[code] ?? 0) + 1;
    phase.set(tasks.length, note());
  }
  phase.end(note());
  context.metrics.write({ kind: 'tasks', made: tasks.length, rejected });
  return tasks;
}

export const EPISODES_FILE = 'episodes.jsonl';

/** The episodes in a folder of `data`, one by one, in the order of their rows. @throws LOG_INVALID where a line is damaged */
export async function* readEpisodes(folder: string): AsyncGenerator<EpisodeRecord> {
  const path = join(folder, EPISODES_FILE);
  for await (const { where, value, problem } of recordsOf(path)) {
    if (problem !== undefined) throw reverieError('LOG_INVALID', { path, where, problem });
    yield value as EpisodeRecord;
  }
}

/** Rows as they come, each judged once; the file is there whole when all are. */
export class JudgedRows {
  /** Folder of the file. */
  readonly data: string;
  private readonly pipeline: QualityPipeline;
  private readonly lines = new PassThrough();
  private writing: Promise<void> | undefined;

  /** @throws as `QualityPipeline` */
  constructor({ scenario, out }: Context, domain: ToolsDomain) {
    const { quality } = scenario.config;
    const files = quality.decontaminate.files.map((file) => resolve(scenario.folder, file));
    const config = { ...quality, decontaminate: { ...quality.decontaminate, files } };
    this.data = join(out, 'data');
    this.pipeline = new QualityPipeline({ config, domain });
    // Thrown to the caller that waits for the end.
    this.lines.on('error', () => {});
  }

  get progress(): QualityPipeline['progress'] {
    return this.pipeline.progress;
  }

  /** Rows in order, each once. Returns the row as written, possibly cut; this row counts everywhere. */
  judge(row: EpisodeRecord | FailedRow): EpisodeRecord | undefined {
    const kept = isFailed(row) ? undefined : this.pipeline.judge(row);
    if (kept !== undefined) this.lines.write(`${JSON.stringify(kept)}\n`);
    // Not before there is a row: then nothing need be undone.
    void this.write();
    return kept;
  }

  /** Once all rows are judged: what became of them, their file being whole. @throws STORAGE_FULL, STORAGE_FAILED */
  async finish(): Promise<DatasetReport> {
    this.lines.end();
    await this.write();
    return this.pipeline.report();
  }

  /** Of a job that ends before `finish` no file is left. */
  async close(): Promise<void> {
    this.lines.destroy(new Error('abandoned'));
    await this.writing?.catch(() => undefined);
  }

  /** Whatever an interrupted run left of the file is replaced. */
  private write(): Promise<void> {
    this.writing ??= ensureFolder(this.data).then(() => writeFileAtomic(join(this.data, EPISODES_FILE), this.lines));
    this.writing.catch(() => undefined);
    return this.writing;
  }
}

/** Once all rows are judged: what became of them, and their datasets, unless they are not to be written. @throws STORAGE_FULL, STORAGE_FAILED */
export async function makeDatasets(context: Context, parts: ToolsParts, judged: JudgedRows, isWritten: boolean) {
  const phase = context.progress.phase('filter', null, 'episodes');
  const quality = await judged.finish();
  phase.end(`${quality.out} of ${quality.in} kept, ${quality.imitated} to be imitated`);
  const datasets = isWritten ? await exportDatasets(context, parts, judged.data, quality) : [];
  // Reasons of all filters, most frequent first.
  const counts = new Map<string, number>();
  for (const { dropped } of quality.filters.filter(({ name }) => name !== 'imitation'))
    for (const [reason, count] of Object.entries(dropped)) counts.set(reason, (counts.get(reason) ?? 0) + count);
  const rejected: Record<string, number> = Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
  return { datasets, quality, rejected };
}

/** Writes a dataset below `datasets/` of the run for each format; answers their folders. */
async function exportDatasets(
  { scenario, out, seed }: Context,
  { domain, experience: index }: Pick<ToolsParts, 'domain' | 'experience'>,
  data: string,
  quality?: DatasetReport,
): Promise<string[]> {
  const { config, hash } = scenario;
  const { agent, user, model, experience, synth, reward, description } = config;
  // What of the scenario decided how episodes were made; nothing of where a server was.
  const made = { scenario: config.name, scenarioHash: hash, agent, user, model, experience, synth, reward, seed };
  const generation = made as unknown as JsonObject;
  const card = { name: `${config.name}, simulated`, description, license: synth.license, generation, quality };
  const how = { domain, world: { settings: model.llm, index }, imitation: config.quality.imitation, card };
  const folders: string[] = [];
  for (const format of synth.export) {
    const folder = join(out, 'datasets', format);
    // What an earlier try left is made anew.
    await rm(folder, { recursive: true, force: true });
    await exportEpisodes(readEpisodes(data), { ...how, format, folder });
    folders.push(folder);
  }
  return folders;
}

/** `reverie export`: the episodes of an earlier run in more formats. */
export async function exportJob(context: Context) {
  const { config, folder } = context.scenario;
  const data = requireInput(context.inputs, 'episodes');
  const own = await makeDomain(config.domain, { folder });
  const experience = await ExperienceStore.open(config.experience);
  try {
    if (config.synth.export.includes('world-model')) await remember(experience, own, context.scenario, context.log);
    const needed = { path: data, input: 'episodes', env: own.id, what: 'scenario', ours: config.name };
    for await (const { scenario: theirs } of readEpisodes(data))
      if (theirs !== config.name) throw reverieError('INPUT_UNFIT', { ...needed, theirs });
    const more = madeTasks(dirname(data));
    const domain = more.length === 0 ? own : withTasks(own, [...own.tasks, ...more]);
    const datasets = await exportDatasets(context, { domain, experience }, data);
    context.show({ title: '', blocks: [{ kind: 'facts', rows: datasets.map((path) => ['dataset', path]) }] });
    return { job: 'export', family: 'tools', wallSeconds: context.metrics.wallSeconds, data, datasets };
  } finally {
    await experience.close();
    own.close();
  }
}
