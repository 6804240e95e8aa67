// From rows to datasets: each row is judged once as it comes, what passes is a line of data/episodes.jsonl, and that file is written out in
// each format that was asked for. `reverie export` does the last again.

import { createReadStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../../core/canonical-json.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import { withTasks } from '../../../env/tools/load-domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import { exportEpisodes } from '../../../synth/export/episodes/export-episodes.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import { QualityPipeline } from '../../../synth/quality/quality-pipeline.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { requireInput } from '../inputs.js';
import { madeTasks } from './task-stage.js';

type Context = JobContext<ToolsScenario>;

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
  /** Lines that wait to be written are written together. */
  private waiting: Uint8Array[] = [];
  private ended: 'done' | 'abandoned' | undefined;
  private wake: () => void = () => {};
  private writing: Promise<void> | undefined;

  /** @throws as `QualityPipeline` */
  constructor({ scenario, out }: Pick<Context, 'scenario' | 'out'>, domain: ToolsDomain) {
    const { quality } = scenario.config;
    const files = quality.decontaminate.files.map((file) => resolve(scenario.folder, file));
    const config = { ...quality, decontaminate: { ...quality.decontaminate, files } };
    this.data = join(out, 'data');
    this.pipeline = new QualityPipeline({ config, domain });
  }

  get progress(): QualityPipeline['progress'] {
    return this.pipeline.progress;
  }

  /** Rows in order, each once. */
  judge(row: EpisodeRecord | FailedRow): void {
    const kept = isFailed(row) ? undefined : this.pipeline.judge(row);
    if (kept !== undefined) {
      this.waiting.push(Buffer.from(`${JSON.stringify(kept)}\n`));
      this.wake();
    }
    // Not before there is a row: then nothing need be undone.
    void this.begin();
  }

  /** Once all rows are judged: what became of them, their file being whole. @throws STORAGE_FULL, STORAGE_FAILED */
  async finish(): Promise<DatasetReport> {
    this.end('done');
    await this.begin();
    return this.pipeline.report();
  }

  /** Of a job that ends otherwise no file is left. Does nothing once all is there. */
  async abandon(): Promise<void> {
    this.end('abandoned');
    await this.writing?.catch(() => undefined);
  }

  private end(how: 'done' | 'abandoned'): void {
    this.ended ??= how;
    this.wake();
  }

  /** Whatever an interrupted run left of the file is replaced. */
  private begin(): Promise<void> {
    this.writing ??= ensureFolder(this.data).then(() => writeFileAtomic(join(this.data, EPISODES_FILE), this.lines()));
    // Thrown to the caller that waits for the end.
    this.writing.catch(() => undefined);
    return this.writing;
  }

  private async *lines(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const lines = this.waiting;
      this.waiting = [];
      if (lines.length > 0) yield Buffer.concat(lines);
      else if (this.ended === 'done') return;
      else if (this.ended === 'abandoned') throw new Error('abandoned');
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    }
  }
}

/** Once all rows are judged: what became of them, and their datasets, unless they are not to be written. @throws STORAGE_FULL, STORAGE_FAILED */
export async function makeDatasets(context: Context, domain: ToolsDomain, judged: JudgedRows, isWritten: boolean) {
  const { data } = judged;
  const phase = context.progress.phase('filter', null, 'episodes');
  const quality = await judged.finish();
  phase.end(`${quality.out} of ${quality.in} kept, ${quality.imitated} to be imitated`);
  const formats = isWritten ? context.scenario.config.synth.export : [];
  const datasets: string[] = [];
  for (const format of formats) datasets.push(await exportDataset(context, domain, format, data, quality));
  return { data, datasets, quality, rejected: rejections(quality) };
}

/** Reasons of all filters, most frequent first. */
function rejections({ filters }: DatasetReport): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { dropped } of filters.filter(({ name }) => name !== 'imitation'))
    for (const [reason, count] of Object.entries(dropped)) counts.set(reason, (counts.get(reason) ?? 0) + count);
  return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
}

/** Writes one dataset below `datasets/` of the run; answers its folder. */
async function exportDataset(
  { scenario, out, seed }: Pick<Context, 'scenario' | 'out' | 'seed'>,
  domain: ToolsDomain,
  format: string,
  data: string,
  quality?: DatasetReport,
): Promise<string> {
  const { config, hash } = scenario;
  const { agent, user, model, experience, synth, reward, description } = config;
  const folder = join(out, 'datasets', format);
  // What of the scenario decided how episodes were made; nothing of where a server was.
  const made = { scenario: config.name, scenarioHash: hash, agent, user, model, experience, synth, reward, seed };
  const generation = made as unknown as JsonObject;
  const card = { name: `${config.name}, simulated`, description, license: synth.license, generation, quality };
  // What an earlier try left is made anew.
  await rm(folder, { recursive: true, force: true });
  await exportEpisodes(readEpisodes(data), { format, folder, domain, imitation: config.quality.imitation, card });
  return folder;
}

/** `reverie export`: the episodes of an earlier run in more formats. */
export async function exportJob(context: Context) {
  const { config, folder } = context.scenario;
  const data = requireInput(context.inputs, 'episodes');
  const own = await makeDomain(config.domain, { folder });
  const more = existsSync(dirname(data)) ? madeTasks(dirname(data)) : [];
  const domain = more.length === 0 ? own : withTasks(own, [...own.tasks, ...more]);
  try {
    const datasets: string[] = [];
    for (const format of config.synth.export) datasets.push(await exportDataset(context, domain, format, data));
    const rows = datasets.map((path) => ['dataset', path] as const);
    context.show({ title: '', blocks: [{ kind: 'facts', rows }] });
    return { job: 'export', family: 'tools', wallSeconds: context.metrics.wallSeconds, data, datasets };
  } finally {
    own.close();
  }
}
