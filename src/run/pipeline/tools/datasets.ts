// What a tools job begins and ends with. Tasks: those given, and new ones made from them until enough are admitted, kept in the run's folder,
// so that a resumed run has the same. Datasets: each row is judged once as it comes, what passes is a line of data/episodes.jsonl, and that
// file is written out in each format that was asked for; `reverie export` does the last again.

import { createReadStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import type { JsonObject } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import { withSplits, withTasks } from '../../../env/tools/load-domain.js';
import { isWorkedOutLater } from '../../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import { exportEpisodes } from '../../../synth/export/episodes/export-episodes.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import { type SplitShares, splitOf } from '../../../synth/quality/quality-config.js';
import { QualityPipeline } from '../../../synth/quality/quality-pipeline.js';
import { makeTasks } from '../../../synth/tasks/make-tasks.js';
import type { JobContext } from '../../job.js';
import { readSealed } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import { requireInput } from '../inputs.js';
import type { ToolsParts } from './parts.js';

type Context = JobContext<ToolsScenario>;

export interface TaskStage {
  /** The domain with the new tasks among its own. */
  readonly domain: ToolsDomain;
  /** Those that episodes are of: of the wanted splits. */
  readonly tasks: readonly ToolsTask[];
  /** The new ones, as they were made. */
  readonly added: readonly ToolsTask[];
}

/** @throws SCENARIO_UNFIT if no task is of a wanted split; what models and storage throw */
export async function taskStage(context: Context, parts: ToolsParts): Promise<TaskStage> {
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

/** The episodes in a folder of `data`, one by one, in the order of their rows. */
export async function* readEpisodes(folder: string): AsyncGenerator<EpisodeRecord> {
  const input = createReadStream(join(folder, EPISODES_FILE), 'utf8');
  for await (const line of createInterface({ input, crlfDelay: Infinity })) yield JSON.parse(line) as EpisodeRecord;
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

  /** Rows in order, each once. */
  judge(row: EpisodeRecord | FailedRow): void {
    const kept = isFailed(row) ? undefined : this.pipeline.judge(row);
    if (kept !== undefined) this.lines.write(`${JSON.stringify(kept)}\n`);
    // Not before there is a row: then nothing need be undone.
    void this.write();
  }

  /** Once all rows are judged: what became of them, their file being whole. @throws STORAGE_FULL, STORAGE_FAILED */
  async finish(): Promise<DatasetReport> {
    this.lines.end();
    await this.write();
    return this.pipeline.report();
  }

  /** Of a job that ends otherwise no file is left. */
  async abandon(): Promise<void> {
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
export async function makeDatasets(context: Context, domain: ToolsDomain, judged: JudgedRows, isWritten: boolean) {
  const { data } = judged;
  const phase = context.progress.phase('filter', null, 'episodes');
  const quality = await judged.finish();
  phase.end(`${quality.out} of ${quality.in} kept, ${quality.imitated} to be imitated`);
  const datasets = isWritten ? await exportDatasets(context, domain, data, quality) : [];
  // Reasons of all filters, most frequent first.
  const counts = new Map<string, number>();
  for (const { dropped } of quality.filters.filter(({ name }) => name !== 'imitation'))
    for (const [reason, count] of Object.entries(dropped)) counts.set(reason, (counts.get(reason) ?? 0) + count);
  const rejected: Record<string, number> = Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
  return { data, datasets, quality, rejected };
}

/** Writes a dataset below `datasets/` of the run for each format; answers their folders. */
async function exportDatasets(
  { scenario, out, seed }: Context,
  domain: ToolsDomain,
  data: string,
  quality?: DatasetReport,
): Promise<string[]> {
  const { config, hash } = scenario;
  const { agent, user, model, experience, synth, reward, description } = config;
  // What of the scenario decided how episodes were made; nothing of where a server was.
  const made = { scenario: config.name, scenarioHash: hash, agent, user, model, experience, synth, reward, seed };
  const generation = made as unknown as JsonObject;
  const card = { name: `${config.name}, simulated`, description, license: synth.license, generation, quality };
  const folders: string[] = [];
  for (const format of synth.export) {
    const folder = join(out, 'datasets', format);
    // What an earlier try left is made anew.
    await rm(folder, { recursive: true, force: true });
    await exportEpisodes(readEpisodes(data), { format, folder, domain, imitation: config.quality.imitation, card });
    folders.push(folder);
  }
  return folders;
}

/** `reverie export`: the episodes of an earlier run in more formats. */
export async function exportJob(context: Context) {
  const { config, folder } = context.scenario;
  const data = requireInput(context.inputs, 'episodes');
  const own = await makeDomain(config.domain, { folder });
  try {
    const more = madeTasks(dirname(data));
    const domain = more.length === 0 ? own : withTasks(own, [...own.tasks, ...more]);
    const datasets = await exportDatasets(context, domain, data);
    const rows = datasets.map((path) => ['dataset', path] as const);
    context.show({ title: '', blocks: [{ kind: 'facts', rows }] });
    return { job: 'export', family: 'tools', wallSeconds: context.metrics.wallSeconds, data, datasets };
  } finally {
    own.close();
  }
}
