// `reverie synth` of a tools scenario: episodes lived in the simulation, judged, filtered, and written as datasets.
// Each stage keeps what it did in the run's folder, so that a run that was stopped goes on where it was.

import { join } from 'node:path';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import { isWorkedOutLater } from '../../../env/tools/act-domain.js';
import { elsewhere } from '../../../env/tools/rules-responder.js';
import { isSolvedAtStart, SOLVED_AT_START } from '../../../env/tools/verify-episode.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type EarlyExperienceRow, earlyExperience } from '../../../synth/early-experience/early-experience.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import { openQueue } from '../../../synth/queue/open-queue.js';
import type { RolloutQueue } from '../../../synth/queue/rollout-queue.js';
import { DeficitLedger } from '../../../synth/signals/deficits.js';
import { requireSet } from '../../evaluation-set.js';
import { type JobContext, whileOpen } from '../../job.js';
import { RowCoordinator } from '../../queue/coordinator.js';
import { onlyComputes, ThreadedRows } from '../../queue/threaded-rows.js';
import type { ToolsScenario } from '../../scenario.js';
import type { SynthEpisodesResult } from '../../tools-results.js';
import { trustedTurns } from '../fidelity/auto-horizon.js';
import { amplifiedRows } from './amplified-rows.js';
import { estimateJob, estimateText } from './cost-estimate.js';
import { makeDatasets, readEpisodes } from './datasets.js';
import { writeDeficits } from './deficits-file.js';
import { episodesPanel } from './episodes-panel.js';
import { type GateFindings, judgeGate, mustFailGate, mustSucceedGate, type ScenarioJudge } from './gates.js';
import { hackerGate, hackerResult } from './hacker-gate.js';
import { JudgedRows } from './judged-rows.js';
import { type LivedRows, livedRows } from './lived-rows.js';
import { makeEpisodeEnvironment, makeParts, type ToolsParts } from './parts.js';
import { RowStatistics } from './row-statistics.js';
import { makeShadow, type Shadow } from './shadow.js';
import { type TaskStage, taskStage } from './task-stage.js';

type Context = JobContext<ToolsScenario>;

/** Resumable: finished rows are in the journal, and the same bytes come out however often it was stopped. */
export async function synthEpisodesJob(context: Context): Promise<SynthEpisodesResult> {
  const queue = context.queue === undefined ? undefined : await openQueue(context.queue, { onTrouble: context.log });
  try {
    return await madeEpisodes(context, queue);
  } finally {
    await queue?.close();
  }
}

async function madeEpisodes(context: Context, queue: RolloutQueue | undefined): Promise<SynthEpisodesResult> {
  const given = await makeParts(context);
  return whileOpen(context, given, async () => {
    const stage = await taskStage(context, given);
    const parts = { ...given, domain: stage.domain };
    const panel = episodesPanel(context, parts, stage.tasks, parts.responder.version);
    requireSet(panel, context.inputs);
    const { gates, judge } = await passGates(context, parts, stage);
    const estimate = estimateJob(context.scenario.config, parts.domain, stage.tasks);
    if (estimate !== undefined) context.log(estimateText(estimate));
    const statistics = new RowStatistics();
    const deficits = new DeficitLedger(stage.tasks);
    const shadow = makeShadow(context, parts);
    const turns = await trustedTurns(context, parts.responder.version);
    const judged = new JudgedRows(context, parts.domain);
    const life = { stage, gates, judge, statistics, deficits, judged, shadow, queue, turns };
    const lived = await live(context, parts, life);
    try {
      await writeDeficits(context.out, parts.domain, deficits.report());
      const material = { statistics, deficits: deficits.report(), gates, panel };
      let made = await makeDatasets(context, parts, judged, material);
      const early = gates.unwritten !== undefined ? undefined : await makeEarlyExperience(context, parts, made.data);
      if (early !== undefined) made = { ...made, datasets: [...made.datasets, early] };
      const work = { stage, gates, lived, statistics, deficits, made, shadow };
      return { ...resultOf(context, parts, work), panel };
    } finally {
      await lived.journal.close();
    }
  });
}

/** What must hold before the first episode; each gate is asked only if those before it are open. */
async function passGates(context: Context, parts: ToolsParts, { tasks }: TaskStage) {
  const sound = await mustFailGate(context, parts);
  const able = await mustSucceedGate(context, parts);
  const judge = await judgeGate(context, parts);
  const shut = sound.withheld ?? able.withheld;
  const honest = shut === undefined ? await hackerGate(context, parts, { judge, tasks }) : {};
  const free = tasks.filter((task) => !isWorkedOutLater(task) && isSolvedAtStart(parts.domain, task));
  if (free.length > 0) {
    context.log(`No reward is given in ${free.map(({ id }) => `"${id}"`).join(', ')}: ${SOLVED_AT_START}.`);
  }
  const gates: GateFindings = {
    mustFail: sound.report,
    mustSucceed: able.report,
    tricks: honest.report,
    unrewarded: shut ?? honest.withheld,
    unwritten: able.withheld ?? honest.withheld,
  };
  return { gates, judge };
}

interface Life {
  readonly stage: TaskStage;
  readonly gates: GateFindings;
  readonly judge: ScenarioJudge | undefined;
  readonly queue: RolloutQueue | undefined;
  readonly statistics: RowStatistics;
  readonly deficits: DeficitLedger;
  readonly judged: JudgedRows;
  readonly shadow: Shadow | undefined;
  /** That the dream is trusted for. */
  readonly turns: number | undefined;
}

async function live(context: Context, parts: ToolsParts, life: Life): Promise<LivedRows> {
  const { stage, gates, judge, statistics, deficits, judged, shadow, turns } = life;
  const { config } = context.scenario;
  const phase = context.progress.phase('live', config.synth.episodes, 'episodes');
  const responder = shadow?.responder ?? parts.responder;
  let done = 0;
  let trouble: string | undefined;
  const tell = () => {
    const note = progressNote(statistics, judged, elsewhere);
    phase.set(done, [note, trouble].filter(Boolean).join(' · '));
  };
  const elsewhere = await rowsElsewhere(context, parts, life, () => tell());
  const isAmplifiedHere = config.synth.mode === 'amplify' && elsewhere === undefined;
  try {
    const rows = await livedRows(context, parts, {
      source: 'synthetic',
      responder,
      tasks: stage.tasks,
      trustedTurns: turns,
      withheld: gates.unrewarded,
      judge: judge?.decide,
      shadow,
      make: isAmplifiedHere ? await amplifiedRows(context, parts) : undefined,
      elsewhere,
      observe: (row: EpisodeRecord | FailedRow) => {
        statistics.add(row);
        if (!isFailed(row)) deficits.add(row);
        judged.judge(row);
      },
      onProgress: (progress) => {
        ({ done, trouble } = progress);
        tell();
      },
    });
    const note = progressNote(statistics, judged, undefined);
    phase.end(rows.stoppedBy === undefined ? note : `the budget of ${rows.stoppedBy} is spent`);
    context.metrics.write({ kind: 'live', episodes: rows.done, steps: statistics.steps, cost: statistics.cost });
    return rows;
  } catch (error) {
    await judged.abandon();
    throw error;
  } finally {
    await elsewhere?.close();
  }
}

/** Who lives the rows, if not this thread: workers of a queue, or threads where rows only compute. */
async function rowsElsewhere(
  context: Context,
  parts: ToolsParts,
  { stage, gates, judge, shadow, queue }: Life,
  onTick: () => void,
): Promise<RowCoordinator | ThreadedRows | undefined> {
  const responder = shadow?.responder ?? parts.responder;
  const facts = { tasks: stage.added, withheld: gates.unrewarded, responder };
  if (queue !== undefined) {
    return RowCoordinator.of(context, parts, { queue, ...facts, judge: judge?.version, onTick });
  }
  // What asks a device is asked side by side here: it answers all of them at once.
  if (context.workers === 0 || context.device !== undefined) return undefined;
  if (!onlyComputes(context) || elsewhere(parts.domain) !== undefined) return undefined;
  return new ThreadedRows(context, parts, facts);
}

/** Acceptance so far, the most frequent reason against it, success and cost; who lives them, if that is others. */
function progressNote(
  statistics: RowStatistics,
  judged: JudgedRows,
  elsewhere: { readonly note?: string } | undefined,
): string {
  const report = judged.progress;
  const [first] = Object.entries(report.dropped).sort(([, a], [, b]) => b - a);
  const reason = first === undefined ? '' : ` (${first[1]} ${first[0]})`;
  const accepted = report.in === 0 ? [] : [`${Math.round((100 * report.out) / report.in)} % accepted${reason}`];
  return [...accepted, statistics.note, elsewhere?.note ?? ''].filter((part) => part !== '').join(' · ');
}

interface Work {
  readonly stage: TaskStage;
  readonly gates: GateFindings;
  readonly lived: LivedRows;
  readonly statistics: RowStatistics;
  readonly deficits: DeficitLedger;
  readonly shadow: Shadow | undefined;
  readonly made: Awaited<ReturnType<typeof makeDatasets>>;
}

function resultOf(
  context: Context,
  { budget }: ToolsParts,
  { stage, gates, lived, statistics, deficits, made, shadow }: Work,
): SynthEpisodesResult {
  const { episodes, steps, failed, failedFor, success, abstained, answeredBy, refusedOf, repairedOf } = statistics;
  const { signals, walks, lostBy, cost } = statistics;
  return {
    job: 'synth',
    family: 'tools',
    wallSeconds: context.metrics.wallSeconds,
    ...made,
    episodes,
    failed,
    ...(Object.keys(failedFor).length > 0 && { failedFor }),
    steps,
    success,
    abstained,
    answeredBy,
    refusedOf,
    repairedOf,
    signals,
    ...(Object.keys(walks).length > 0 && { walks }),
    lostBy,
    deficits: deficits.report(),
    cost,
    spent: budget.spent,
    stoppedBy: lived.stoppedBy ?? null,
    mustFail: gates.mustFail ?? null,
    mustSucceed: gates.mustSucceed ?? null,
    hacker: hackerResult(gates.tricks),
    shadow: shadow?.result() ?? null,
    newTasks: stage.made,
  };
}

// What else could have been done: from episodes that succeeded, the actions not taken and what would have followed, as
// world-modelling triples and reflections. Made anew by a run that goes on; answers of models come from its cache.

/** Folder of the files, or undefined where none were asked for. */
async function makeEarlyExperience(
  context: JobContext<ToolsScenario>,
  parts: ToolsParts,
  data: string,
): Promise<string | undefined> {
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
    alternatives,
    seed: context.seed,
    signal: context.signal,
  });
  for await (const row of made) {
    phase.advance();
    if (row.kind === 'skipped') rows.skipped++;
    else rows[row.kind].push(lineOf(row));
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

function lineOf(row: EarlyExperienceRow): string {
  return `${JSON.stringify(row)}\n`;
}
