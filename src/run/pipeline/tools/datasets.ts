// From the rows that passed the filters, as they are in data/episodes.jsonl, to datasets in each format that was asked for.

import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../../core/canonical-json.js';
import type { Panel } from '../../../core/evaluation-set.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { exportEpisodes } from '../../../synth/export/episodes/export-episodes.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import type { Deficit } from '../../../synth/signals/deficits.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { SynthEpisodesResult } from '../../tools-results.js';
import { writeEpisodesReport } from './episodes-report.js';
import type { GateFindings } from './gates.js';
import { EPISODES_FILE, type JudgedRows } from './judged-rows.js';
import type { ToolsParts } from './parts.js';
import type { RowStatistics } from './row-statistics.js';

type Context = JobContext<ToolsScenario>;

export interface MadeDatasets {
  readonly data: string;
  readonly datasets: readonly string[];
  readonly accepted: number;
  /** Of the accepted: written as examples to imitate. */
  readonly imitated: number;
  readonly rejected: Readonly<Record<string, number>>;
  readonly removed: SynthEpisodesResult['removed'];
  readonly report: string;
}

interface Material {
  readonly statistics: RowStatistics;
  /** What episodes were lost by. */
  readonly deficits: readonly Deficit[];
  /** What the gates before rewards found. */
  readonly gates: GateFindings;
  readonly panel: Panel;
}

/** Once all rows are judged. Throws STORAGE_FULL, STORAGE_FAILED. */
export async function makeDatasets(
  context: Context,
  { domain }: Pick<ToolsParts, 'domain'>,
  judged: JudgedRows,
  { statistics, deficits, gates, panel }: Material,
): Promise<MadeDatasets> {
  const { config } = context.scenario;
  const { data } = judged;
  const phase = context.progress.phase('filter', null, 'episodes');
  const quality = await judged.finish();
  phase.end(`${quality.out} of ${quality.in} kept, ${quality.imitated} to be imitated`);
  const datasets: string[] = [];
  for (const format of gates.unwritten !== undefined ? [] : config.synth.export) {
    datasets.push(await exportDataset(context, domain, { format, data, quality }));
  }
  const rejected = rejections(quality);
  const report = join(context.out, 'report.html');
  const episodes = () => readEpisodes(data);
  await writeEpisodesReport(report, { context, statistics, quality, rejected, deficits, gates, panel, episodes });
  const counts = { accepted: quality.out, imitated: quality.imitated, rejected, removed: removedOf(quality) };
  return { data, datasets, ...counts, report };
}

/** The episodes in a folder of `data`, one by one, in the order of their rows. */
export async function* readEpisodes(folder: string): AsyncGenerator<EpisodeRecord> {
  const input = createReadStream(join(folder, EPISODES_FILE), 'utf8');
  for await (const line of createInterface({ input, crlfDelay: Infinity })) yield JSON.parse(line) as EpisodeRecord;
}

export interface ExportRequest {
  readonly format: string;
  /** Folder of the episodes. */
  readonly data: string;
  readonly quality?: DatasetReport;
}

/** Writes one dataset below `datasets/` of the run; answers its folder. */
export async function exportDataset(
  { scenario, out, seed }: Pick<Context, 'scenario' | 'out' | 'seed'>,
  domain: ToolsParts['domain'],
  { format, data, quality }: ExportRequest,
): Promise<string> {
  const { config } = scenario;
  const folder = join(out, 'datasets', format);
  const generation = { ...generationOf(scenario), seed } as unknown as JsonObject;
  const card = { name: `${config.name}, dreamt`, description: config.description, license: config.synth.license };
  // What an earlier try left is made anew.
  await rm(folder, { recursive: true, force: true });
  const { imitation } = config.quality;
  await exportEpisodes(readEpisodes(data), {
    format,
    folder,
    domain,
    imitation,
    card: { ...card, generation, quality },
  });
  return folder;
}

/** What of the scenario decided how episodes were made; nothing of where a server was. */
function generationOf({ config, hash }: ToolsScenario): object {
  const { agent, user, model, experience, synth, reward } = config;
  return { scenario: config.name, scenarioHash: hash, agent, user, model, experience, synth, reward };
}

function removedOf({ filters }: DatasetReport): SynthEpisodesResult['removed'] {
  return filters.flatMap(({ name: filter, turnsIn, turnsOut, in: before, out }) =>
    turnsIn === turnsOut && before === out ? [] : [{ filter, episodes: before - out, turns: turnsIn - turnsOut }],
  );
}

/** Reasons of all filters, most frequent first. */
function rejections({ filters }: DatasetReport): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { dropped, name } of filters) {
    if (name === 'imitation') continue;
    for (const [reason, count] of Object.entries(dropped)) counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
}
