// `reverie synth` of a tools scenario: episodes run in the simulation, judged, filtered, and written as datasets.
// Each stage keeps what it did in the run's folder, so that a run that was stopped resumes where it was.

import { join } from 'node:path';
import { ensureFolder, sealedText, writeFileAtomic } from '../../../core/files.js';
import { isWorkedOutLater } from '../../../env/tools/act-domain.js';
import { elsewhere } from '../../../env/tools/rules-responder.js';
import { isSolvedAtStart, SOLVED_AT_START } from '../../../env/tools/verify-episode.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { earlyExperience } from '../../../synth/early-experience/early-experience.js';
import { isFailed } from '../../../synth/episodes/produce-rows.js';
import { DeficitLedger } from '../../../synth/signals/deficits.js';
import { toolsSet } from '../../evaluation-set.js';
import type { JobContext } from '../../job.js';
import { RowCoordinator } from '../../queue/coordinator.js';
import { describedJob } from '../../queue/messages.js';
import { RowQueue } from '../../queue/redis-queue.js';
import { ThreadedRows } from '../../queue/threaded-rows.js';
import { publish } from '../../report-page.js';
import type { ToolsScenario } from '../../scenario.js';
import { JudgedRows, makeDatasets, readEpisodes } from './datasets.js';
import { episodesReport, removedTurns } from './episodes-report.js';
import { type GateFindings, hackerResult, passGates, type ScenarioJudge } from './gates.js';
import { makeEpisodeEnvironment, makeParts, type ToolsParts } from './parts.js';
import { amplifiedRows } from './row-makers.js';
import { RowStatistics } from './row-statistics.js';
import { type EpisodeRows, episodeRows, type RowRunner } from './rows.js';
import { type TaskStage, taskStage } from './task-stage.js';

type Context = JobContext<ToolsScenario>;

/** Resumable: finished rows are in the journal, and the same bytes come out however often it was stopped. */
export type SynthEpisodesResult = Awaited<ReturnType<typeof synthEpisodesJob>>;

export async function synthEpisodesJob(context: Context) {
  const queue = context.queue === undefined ? undefined : await RowQueue.open(context.queue, context.log);
  try {
    const given = await makeParts(context);
    try {
      return await madeEpisodes(context, given, queue);
    } finally {
      await given.close();
    }
  } finally {
    await queue?.close();
  }
}

async function madeEpisodes(context: Context, given: ToolsParts, queue: RowQueue | undefined) {
  const { scenario, out, log, metrics } = context;
  const { config } = scenario;
  const stage = await taskStage(context, given);
  const { tasks, added } = stage;
  const parts = { ...given, domain: stage.domain };
  const { domain, agent, user, responder, budget } = parts;
  const { episodes, groupSize, branchAt, maxSteps, pick, mode } = config.synth;
  const evaluationSet = toolsSet(
    context,
    domain,
    tasks,
    { agent: agent.version, user: user.version, answers: responder.version },
    { episodes, groupSize, branchAt, maxSteps, pick, mode, maxTurns: config.user.maxTurns },
  );
  const { gates, judge } = await passGates(context, parts, tasks);
  const free = tasks.filter((task) => !isWorkedOutLater(task) && isSolvedAtStart(domain, task));
  if (free.length > 0) log(`No reward is given in ${free.map(({ id }) => `"${id}"`).join(', ')}: ${SOLVED_AT_START}.`);
  const statistics = new RowStatistics();
  const ledger = new DeficitLedger();
  const judged = new JudgedRows(context, domain);
  const rows = await runRows(context, parts, { stage, gates, judge, statistics, ledger, judged, queue });
  try {
    const deficits = ledger.report();
    const found = sealedText({ format: 'reverie-deficits/1', domain: domain.id, deficits });
    await writeFileAtomic(join(out, 'deficits.json'), found);
    const { data, quality, rejected, ...made } = await makeDatasets(
      context,
      domain,
      judged,
      gates.unwritten === undefined,
    );
    const early = gates.unwritten !== undefined ? undefined : await makeEarlyExperience(context, parts, data);
    const datasets = early === undefined ? made.datasets : [...made.datasets, early];
    const { spent } = budget;
    const stoppedBy = rows.stoppedBy ?? null;
    const shown = await episodesReport({
      ...{ name: config.name, statistics, quality, rejected, deficits, gates, datasets, newTasks: added.length },
      ...{ spent, stoppedBy, episodes: readEpisodes(data) },
    });
    const { answeredBy, refusedOf, repairedOf } = statistics;
    return {
      ...{ job: 'synth', family: 'tools', wallSeconds: metrics.wallSeconds, evaluationSet, data, datasets },
      ...{ ...statistics.counts, accepted: quality.out, imitated: quality.imitated, rejected },
      ...{ removed: removedTurns(quality), answeredBy, refusedOf, repairedOf, deficits, spent, stoppedBy },
      ...{ mustFail: gates.mustFail ?? null, mustSucceed: gates.mustSucceed ?? null },
      ...{ hacker: hackerResult(gates.tricks), newTasks: added.length },
      report: await publish(context, shown, evaluationSet),
    };
  } finally {
    await rows.journal.close();
  }
}

interface Work {
  readonly stage: TaskStage;
  readonly gates: GateFindings;
  readonly judge: ScenarioJudge | undefined;
  readonly queue: RowQueue | undefined;
  readonly statistics: RowStatistics;
  readonly ledger: DeficitLedger;
  readonly judged: JudgedRows;
}

async function runRows(context: Context, parts: ToolsParts, work: Work): Promise<EpisodeRows> {
  const { stage, gates, judge, statistics, ledger, judged } = work;
  const { config } = context.scenario;
  const phase = context.progress.phase('run', config.synth.episodes, 'episodes');
  let done = 0;
  let trouble: string | undefined;
  const tell = () => phase.set(done, [noteOf(statistics, judged, runner?.note), trouble].filter(Boolean).join(' · '));
  const runner = await runnerOf(context, parts, work, () => tell());
  const isAmplified = config.synth.mode === 'amplify' && runner === undefined;
  try {
    const rows = await episodeRows(context, parts, {
      ...{ source: 'synthetic', responder: parts.responder, tasks: stage.tasks },
      ...{ withheld: gates.unrewarded, judge: judge?.decide, runner },
      make: isAmplified ? await amplifiedRows(context.scenario, parts) : undefined,
      observe: (row) => {
        statistics.add(row);
        if (!isFailed(row)) ledger.add(row);
        judged.judge(row);
      },
      onProgress: (progress) => {
        ({ done, trouble } = progress);
        tell();
      },
    });
    const { stoppedBy } = rows;
    phase.end(stoppedBy === undefined ? noteOf(statistics, judged) : `the budget of ${stoppedBy} is spent`);
    context.metrics.write({ kind: 'live', episodes: rows.done, steps: statistics.steps, cost: statistics.cost });
    return rows;
  } catch (error) {
    await judged.abandon();
    throw error;
  } finally {
    await runner?.close();
  }
}

/** Who runs the rows, if not this thread: workers of a queue, or threads where rows only compute. */
async function runnerOf(
  context: Context,
  { domain, user, agent, responder, budget }: ToolsParts,
  { stage, gates, judge, queue }: Work,
  onTick: () => void,
): Promise<RowRunner | undefined> {
  const versions = {
    ...{ domain: domain.version, responder: responder.version, user: user.version, agent: agent.version },
    judge: judge?.version ?? null,
  };
  const facts = { tasks: stage.added, withheld: gates.unrewarded, versions };
  const { workers, device, log, scenario } = context;
  if (queue !== undefined) {
    const description = describedJob(context, facts);
    return RowCoordinator.begin({ queue, description, budget, window: workers, log, onTick });
  }
  // What asks a device is asked side by side here: it answers all of them at once.
  if (workers === 0 || device !== undefined || elsewhere(domain) !== undefined) return undefined;
  const { llm, synth, reward } = scenario.config;
  const onlyComputes = llm === null && synth.mode !== 'amplify' && reward.judge === null;
  return onlyComputes ? new ThreadedRows(context, facts) : undefined;
}

/** Acceptance so far, the most frequent reason against it, success and cost; who runs them, if that is others. */
function noteOf(statistics: RowStatistics, { progress }: JudgedRows, runner = ''): string {
  const [first] = Object.entries(progress.dropped).sort(([, a], [, b]) => b - a);
  const reason = first === undefined ? '' : ` (${first[1]} ${first[0]})`;
  const share = Math.round((100 * progress.out) / progress.in);
  const accepted = progress.in === 0 ? '' : `${share} % accepted${reason}`;
  return [accepted, statistics.note, runner].filter(Boolean).join(' · ');
}

/**
 * What else could have been done: from episodes that succeeded, the actions not taken and what would have followed, as world-modelling
 * triples and reflections. Made anew by a resumed run; answers of models come from its cache.
 * @returns folder of the files, or undefined where none were asked for
 */
async function makeEarlyExperience(context: Context, parts: ToolsParts, data: string): Promise<string | undefined> {
  const { config } = context.scenario;
  const { counterfactuals: alternatives, reflections } = config.synth.earlyExperience;
  if (alternatives === 0) return undefined;
  const folder = join(context.out, 'datasets', 'early-experience');
  await ensureFolder(folder);
  const phase = context.progress.phase('early experience', null, 'rows');
  const rows = { 'world-model': [] as string[], reflection: [] as string[], skipped: 0 };
  const made = earlyExperience({
    episodes: experts(readEpisodes(data)),
    environment: (user) => makeEpisodeEnvironment({ ...parts, user }, parts.responder, config),
    user: parts.user,
    policy: config.agent.kind === 'llm' ? parts.agent : undefined,
    model: reflections ? await parts.cast.model('tasks') : undefined,
    ...{ alternatives, seed: context.seed, signal: context.signal },
  });
  for await (const row of made) {
    phase.advance();
    if (row.kind === 'skipped') rows.skipped++;
    else rows[row.kind].push(`${JSON.stringify(row)}\n`);
  }
  await writeFileAtomic(join(folder, 'world-model.jsonl'), rows['world-model'].join(''));
  if (reflections) await writeFileAtomic(join(folder, 'reflections.jsonl'), rows.reflection.join(''));
  phase.end(`${rows['world-model'].length} triples, ${rows.reflection.length} reflections, ${rows.skipped} skipped`);
  return folder;
}

/** Episodes that show how it is done. */
async function* experts(episodes: AsyncIterable<EpisodeRecord>): AsyncGenerator<EpisodeRecord> {
  for await (const record of episodes) if (record.return === 1 && !record.truncated) yield record;
}
