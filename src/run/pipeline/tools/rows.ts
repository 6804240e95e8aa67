// The rows of a tools job: each an episode, durable when it ends. They run in this process, in threads or in workers of a queue
// (../../queue); what a row depends on comes with it. An episode comes about turn by turn, written whole by one call of a language model
// (Simia), or as a walk over screens made into a task that it solves.

import { join, resolve } from 'node:path';
import { addCosts, type Cost, NO_COST } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import type { EvaluationSet } from '../../../core/evaluation-set.js';
import type { Fact } from '../../../core/report.js';
import { service } from '../../../core/services.js';
import { type Rate, rateOf } from '../../../core/statistics.js';
import { isScreenDomain } from '../../../env/screens/screen-state.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import type { Message } from '../../../env/tools/message.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import { verifyEpisode } from '../../../env/tools/verify-episode.js';
import { type EpisodeRecord, episodeSteps } from '../../../replay/experience/experience.js';
import { readEpisodeLogs } from '../../../replay/experience/logs/read-episode-logs.js';
import {
  type FailedRow,
  isFailed,
  produceRows,
  RowJournal,
  type RowsOutcome,
} from '../../../synth/episodes/produce-rows.js';
import {
  type EpisodeSettings,
  episodeRecord,
  planRow,
  type RowPlan,
  runEpisode,
  settleVerdict,
} from '../../../synth/episodes/run-episode.js';
import { deficitOf, lostStep } from '../../../synth/signals/deficits.js';
import { Curriculum } from '../../../synth/tasks/curriculum.js';
import { prefilterEpisodes } from '../../../synth/tasks/seed-filter.js';
import { amplifyTrajectory } from '../../../worldmodel/llm/amplify.js';
import { episodeWeight } from '../../../worldmodel/tools/checks.js';
import { toolsSet } from '../../evaluation-set.js';
import { formatCount, formatCounts, formatNumber, formatPercent, formatShare } from '../../format.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

/** Everything of a row that rows before it decide, or the job's seed. */
export interface PlannedRow {
  readonly plan: RowPlan;
  readonly task: ToolsTask;
  /** Turns of the agent after which the episode is truncated. */
  readonly maxSteps: number;
}

/** Throws what the models throw that are asked. */
type RunRow = (row: PlannedRow, signal: AbortSignal) => Promise<EpisodeRecord>;

/** Who runs rows, if not this thread. */
export interface RowRunner {
  readonly run: RunRow;
  /** Rows under way at once. */
  readonly concurrency: number;
  /** For the progress bar; may be empty. */
  readonly note: string;
  /** Called for each row that is durable, and known to all that may depend on it. */
  known(row: number): void;
  close(): Promise<void>;
}

export interface RowSettings extends Pick<EpisodeSettings, 'source' | 'judge' | 'keepPicture' | 'withheld'> {
  readonly responder: Responder;
}

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>;

/** Runs rows in this process. */
export async function rowsHere(context: Context, parts: ToolsParts, settings: RowSettings): Promise<RunRow> {
  const { domain } = parts;
  const make = await rowMaker(context.scenario, parts, settings);
  const episode = episodeSettings(context, parts, settings);
  return async ({ plan, task, maxSteps }, signal) => {
    try {
      const made = await make(plan, task, { ...episode, maxSteps }, signal);
      const lost = lostStep(domain, task, made);
      const record = { ...made, ...(lost !== undefined && { lostStep: lost }) };
      const lostBy = deficitOf(domain, task, record);
      return { ...record, ...(lostBy && { lostBy }) };
    } finally {
      // Before the row is: a row that is there is never asked for again, so its replies would stay missing.
      await parts.cast.flush();
    }
  };
}

/** How episodes of a job are recorded and judged. */
export function episodeSettings(
  { scenario: { config, hash }, seed }: Context,
  { user }: Pick<ToolsParts, 'user'>,
  { source, responder, judge, withheld, keepPicture }: RowSettings,
): EpisodeSettings {
  return {
    ...{ scenario: config.name, scenarioHash: hash, seed, source, maxSteps: config.synth.maxSteps },
    ...{ responderVersion: responder.version, userVersion: user.version, judge, withheld },
    weigh: (predictions) => episodeWeight(predictions, config.model),
    ...(keepPicture && { keepPicture }),
  };
}

/** What figures of a job's episodes are measured on. */
export function episodesSet(
  context: Context,
  { domain, agent, user }: Pick<ToolsParts, 'domain' | 'agent' | 'user'>,
  responder: Responder,
  tasks: readonly ToolsTask[],
): EvaluationSet {
  const { synth, user: talks } = context.scenario.config;
  const { episodes, groupSize, branchAt, maxSteps, pick, mode } = synth;
  const policies = { agent: agent.version, user: user.version, answers: responder.version };
  const settings = { episodes, groupSize, branchAt, maxSteps, pick, mode, maxTurns: talks.maxTurns };
  return toolsSet(context, domain, tasks, policies, settings);
}

interface RowsSettings extends RowSettings {
  readonly tasks: readonly ToolsTask[];
  /** Rows under way at once, where less than the job's own number are possible. */
  readonly concurrency?: number;
  readonly runner?: RowRunner;
  /** Called for every row in order, as soon as all before it are there. */
  readonly observe: (value: EpisodeRecord | FailedRow) => void;
  /** `trouble`: why rows may be waiting. */
  readonly onProgress: (done: number, trouble: string | undefined) => void;
}

export interface EpisodeRows extends RowsOutcome {
  readonly journal: RowJournal<EpisodeRecord | FailedRow>;
}

/** Episodes wait for models most of the time. */
const DEFAULT_CONCURRENCY = 32;
const BEAT_MS = 2000;

/** Runs what the journal lacks. The caller closes the journal. Throws as `produceRows`; EPISODES_ALL_FAILED. */
export async function episodeRows(
  context: JobContext<ToolsScenario>,
  parts: ToolsParts,
  settings: RowsSettings,
): Promise<EpisodeRows> {
  const { seed, workers, device, signal, out, scenario, metrics } = context;
  const { synth, experience, model, tasks: section } = scenario.config;
  const { episodes: rows, groupSize, branchAt, maxSteps } = synth;
  const { runner, responder, tasks } = settings;
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const entries = tasks.map(({ id, origin }) => ({ id, synthetic: origin !== undefined }));
  const curriculum =
    synth.pick === 'cycle' ? undefined : new Curriculum(entries, { ...section.curriculum, group: groupSize });
  const taskOf = ({ row, rng }: RowPlan) => {
    if (curriculum === undefined) return tasks[Math.floor(row / groupSize) % tasks.length];
    const pick = curriculum.pick(row, rng);
    metrics.write({ kind: 'pick', ...pick });
    return byId.get(pick.task)!;
  };
  const isEnriched = experience.enrich !== 'never';
  const lags = [
    ...(curriculum === undefined ? [] : [section.curriculum.lag]),
    ...(isEnriched && model.llm.retrieval.sources === 'both' ? [model.llm.retrieval.lag] : []),
  ];
  const run = runner?.run ?? (await rowsHere(context, parts, settings));
  // What decides the rows: a journal of others is not resumed.
  const journal = await RowJournal.open<EpisodeRecord | FailedRow>(join(out, 'journal'), {
    ...{ format: 'reverie episodes 1', scenario: scenario.hash, seed, domain: parts.domain.version },
    ...{ responder: responder.version, user: parts.user.version, agent: parts.agent.version },
  });
  const own = workers === 0 || device !== undefined ? DEFAULT_CONCURRENCY : workers;
  const tell = () => settings.onProgress(journal.size, parts.cast.trouble);
  // No row ends while a server is away, which is when there is something to say.
  const beat = setInterval(() => parts.cast.trouble !== undefined && tell(), BEAT_MS);
  const failures: FailedRow[] = [];
  try {
    const outcome = await produceRows<EpisodeRecord>({
      ...{ rows, journal, signal, onProgress: tell },
      concurrency: Math.min(runner?.concurrency ?? own, settings.concurrency ?? Number.POSITIVE_INFINITY),
      lag: Math.min(...lags),
      make: (row, stop) => {
        const plan = planRow(row, { seed, groupSize, branchAt });
        return run({ plan, task: taskOf(plan), maxSteps }, stop);
      },
      observe: async (row, value) => {
        if (isFailed(value)) failures.push(value);
        const { task, reward } = isFailed(value)
          ? { task: '', reward: null }
          : { task: value.task, reward: value.return };
        curriculum?.observe(row, { task, reward });
        if (isEnriched && !isFailed(value)) await parts.experience.add(episodeSteps(value));
        runner?.known(row);
        settings.observe(value);
      },
    });
    if (failures.length > 0 && failures.length === outcome.done) throw allFailed(failures);
    return { ...outcome, journal };
  } catch (error) {
    await journal.close();
    throw error;
  } finally {
    clearInterval(beat);
  }
}

function allFailed(failures: readonly FailedRow[]): Error {
  const reasons = [...new Set(failures.map(({ failed }) => failed.code))].map((code) => {
    const alike = failures.filter(({ failed }) => failed.code === code);
    return `${alike.length} ${code}, the first of them: ${alike[0].failed.message.replace(/\.$/, '')}`;
  });
  return reverieError('EPISODES_ALL_FAILED', { rows: failures.length, reasons: reasons.join('; ') });
}

/** How the episode of a row comes about. */
type MakeRow = (
  plan: RowPlan,
  task: ToolsTask,
  settings: EpisodeSettings,
  signal: AbortSignal,
) => Promise<EpisodeRecord>;

/** Real episodes are run turn by turn, whatever the scenario says of simulated ones. */
async function rowMaker(
  scenario: ToolsScenario,
  parts: ToolsParts,
  { source, responder }: RowSettings,
): Promise<MakeRow> {
  const { mode, wrap } = scenario.config.synth;
  if (source === 'synthetic' && mode === 'amplify') return amplifiedRows(scenario, parts);
  const byTurns: MakeRow = async (plan, task, settings, signal) =>
    runEpisode(makeEpisodeEnvironment(parts, responder, scenario.config), parts.agent, task, plan, settings, signal);
  return source === 'synthetic' && wrap !== undefined ? wrappedRows(scenario, parts, responder, byTurns) : byTurns;
}

/** Whole trajectories, checked afterwards. An exemplar is drawn for each row from the real records, where there are any. */
async function amplifiedRows({ config, folder }: ToolsScenario, { domain, cast }: ToolsParts): Promise<MakeRow> {
  const model = await cast.model('world');
  const { logs, tolerant } = config.experience;
  // Of the scenario's records those that are complete and sound, in their order.
  const exemplars: (readonly Message[])[] = [];
  for (const path of logs) {
    const { episodes } = await readEpisodeLogs(resolve(folder, path), { domain, tolerant });
    const { kept } = await prefilterEpisodes(episodes, domain);
    exemplars.push(...kept.map(({ messages }) => messages));
  }
  const { stateTokens } = config.model.llm;
  return async (plan, task, settings, signal) => {
    const exemplar =
      exemplars.length === 0 ? undefined : exemplars[plan.rng.split('exemplar', plan.row).int(exemplars.length)];
    const asked = { domain, task, exemplar, model, seed: plan.agentSeed, stateTokens, signal };
    const written = await amplifyTrajectory(asked);
    const { messages, initialState, finalState, modelVersion } = written;
    const end = { initialState, finalState, messages };
    const predictions = written.steps.flatMap((step) => step.predictions);
    const found = verifyEpisode(domain, task, end);
    const { verdict, cost } = await settleVerdict({ task, domain, end, verdict: found, predictions }, settings, signal);
    const policyVersion = `${modelVersion} (whole trajectory)`;
    const made = { ...written, verdict, policyVersion, cost: addCosts(written.cost, cost) };
    return episodeRecord(made, task, plan, settings);
  };
}

/** Each asked by itself, all must agree. */
const JUDGES = 3;

/**
 * Each walk becomes a task that it solves.
 * @param run  how a walk is made where none are recorded
 * @throws DOMAIN_UNFIT, SCENARIO_UNFIT where there are too few recorded walks
 */
async function wrappedRows(
  { config, folder }: ToolsScenario,
  { domain, cast }: ToolsParts,
  responder: Responder,
  run: MakeRow,
): Promise<MakeRow> {
  const { wrap, episodes: rows } = config.synth;
  const { walks = [], judges = JUDGES } = wrap!;
  if (!isScreenDomain(domain))
    throw reverieError('DOMAIN_UNFIT', {
      problem: `synth.wrap needs a domain of screens, and "${domain.id}" has none.`,
      hint: 'Take a domain of screens: miniwob, screen-graph, or an application.',
    });
  const { tolerant } = config.experience;
  const logs = walks.map((path) => readEpisodeLogs(resolve(folder, path), { domain, tolerant }));
  const recorded: readonly EpisodeRecord[] = (await Promise.all(logs)).flatMap(({ episodes }) => episodes);
  const isRecorded = walks.length > 0;
  if (isRecorded && recorded.length < rows)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `There are ${recorded.length} recorded walks (synth.wrap.walks), and ${rows} rows are wanted of them.`,
      hint: 'Set synth.episodes to as many as there are walks, or fewer, or name more logs.',
    });
  const taskOf = ({ task }: EpisodeRecord): ToolsTask => {
    const begun = domain.tasks.find(({ id }) => id === task);
    if (begun !== undefined) return begun;
    throw reverieError('TRAJECTORY_INVALID', {
      problem: `A walk of task "${task}" became no example: the domain has no such task.`,
      hint: 'See docs/screens.md for what is asked of walks. Another model (roles.tasks), or longer walks, may do better.',
    });
  };
  return async (plan, asked, settings, signal) => {
    const record = isRecorded ? recorded[plan.row] : await run(plan, asked, settings, signal);
    const walk = { record, task: isRecorded ? taskOf(record) : asked, isRecorded };
    const judge = judges > 0 ? { judge: await cast.model('judge') } : {};
    const wrapWalk = await service<(request: object) => Promise<EpisodeRecord>>('wrapped-walk');
    // Who writes.
    const model = await cast.model('tasks');
    return wrapWalk({ ...walk, ...judge, domain, responder, model, judges, plan, settings, signal });
  };
}

/** What a job's rows have come to so far: for its progress while it runs, and for its result. */
export class RowStatistics {
  episodes = 0;
  steps = 0;
  judged = 0;
  succeeded = 0;
  cost: Cost = NO_COST;
  /** Rows that became no episode, by error code. */
  readonly failed: Record<string, number> = {};
  /** Why the first row of each of these codes failed. */
  readonly failedFor: Record<string, string> = {};
  /** Calls by the backend that answered them. */
  readonly answeredBy: Record<string, number> = {};
  /** Answers that were refused, so that the agent was shown an error of the environment; by backend. */
  readonly refusedOf: Record<string, number> = {};
  /** Answers that stand after they were sent back once; by backend. */
  readonly repairedOf: Record<string, number> = {};
  readonly returnsByTask = new Map<string, number[]>();

  add(row: EpisodeRecord | FailedRow): void {
    const count = (counts: Record<string, number>, key: string) => {
      counts[key] = (counts[key] ?? 0) + 1;
    };
    if (isFailed(row)) {
      const { code, message } = row.failed;
      count(this.failed, code);
      this.failedFor[code] ??= message;
      return;
    }
    this.episodes++;
    this.cost = addCosts(this.cost, row.cost);
    this.steps += row.steps.length;
    if (row.return !== null) {
      this.judged++;
      if (row.return > 0.5) this.succeeded++;
      this.returnsByTask.set(row.task, [...(this.returnsByTask.get(row.task) ?? []), row.return]);
    }
    for (const { backend, refused = [], repaired } of row.steps.flatMap(({ predictions }) => predictions)) {
      count(this.answeredBy, backend);
      if (refused.length > 0) count(this.refusedOf, backend);
      if (repaired) count(this.repairedOf, backend);
    }
  }

  /** For the result of a job. `success`: of judged episodes; null if none was judged. */
  get counts() {
    const { episodes, steps, judged, failed, failedFor, cost } = this;
    const success: Rate | null = judged === 0 ? null : rateOf(this.succeeded, judged);
    const reasons = Object.keys(failedFor).length > 0 && { failedFor };
    return { episodes, steps, success, abstained: episodes - judged, failed, ...reasons, cost };
  }

  /** `83 % succeeded · 1.2 M tokens · cost 4.1` */
  get note(): string {
    const { calls, promptTokens, completionTokens, money } = this.cost;
    const parts = this.judged === 0 ? [] : [`${formatPercent(this.succeeded / this.judged)} succeeded`];
    if (calls > 0) parts.push(`${formatCount(calls)} calls, ${formatCount(promptTokens + completionTokens)} tokens`);
    if (money > 0) parts.push(`cost ${formatNumber(money)}`);
    const lost = Object.values(this.failed).reduce((a, b) => a + b, 0);
    if (lost > 0) parts.push(`${lost} failed`);
    return parts.join(' · ');
  }
}

/** What is shown of the episodes of any job. */
export function episodeFacts(statistics: RowStatistics, spent: Cost, stoppedBy: string | null): Fact[] {
  const { episodes, steps, success, abstained, failed, cost } = statistics.counts;
  const tokens = formatCount(cost.promptTokens + cost.completionTokens);
  const money = cost.money > 0 ? `, cost ${formatNumber(cost.money)}` : '';
  const now = spent.calls === cost.calls ? '' : ` (${formatCount(spent.calls)} asked in this run)`;
  return [
    ['episodes', `${formatCount(episodes)}, ${formatCount(steps)} turns of the agent`],
    ['success', success === null ? 'no episode was judged' : formatShare(success)],
    ...(abstained > 0 ? [['not judged', formatCount(abstained)] as const] : []),
    ...(Object.keys(failed).length > 0 ? [['failed', formatCounts(failed)] as const] : []),
    ...Object.entries(statistics.failedFor).map(([code, message]): Fact => [`  ${code}`, message]),
    ...(cost.calls > 0 ? [['model calls', `${formatCount(cost.calls)}, ${tokens} tokens${money}${now}`] as const] : []),
    ...(stoppedBy === null ? [] : [['stopped by', `the budget of ${stoppedBy}`] as const]),
  ];
}
