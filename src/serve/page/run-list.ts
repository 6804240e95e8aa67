// The runs below a folder: which there are, and what each of them has to show.

import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { ReverieError } from '../../core/errors.js';
import { METRICS_FILE, readRunRecord, SCENARIO_FILE } from '../../run/index.js';
import { fileIn } from './run-paths.js';
import type { RunRow, RunsView } from './wire.js';

/** Folders below the root that are looked into. */
const DEPTH = 4;
/** Runs that are listed. */
const MOST_RUNS = 2_000;
/** Milliseconds for which a list is not made anew. */
const FRESH = 2_000;

export const EPISODES_FILE = join('data', 'episodes.jsonl');
export const REPORT_FILE = 'report.html';

/** Lists runs, the latest first; looks anew when it was asked some time ago. */
export class RunList {
  private list: RunsView | undefined;
  private madeAt = 0;

  /** @param root  undefined: none are shown */
  constructor(readonly root: string | undefined) {}

  view(): RunsView {
    const { root } = this;
    if (root === undefined) return { root: null, runs: [], cut: false };
    if (this.list !== undefined && Date.now() - this.madeAt < FRESH) return this.list;
    const folders = [...runFolders(root, root, 0)];
    const rows = folders.slice(0, MOST_RUNS).flatMap((folder) => runRow(root, folder) ?? []);
    this.list = {
      root,
      runs: rows.sort((a, b) => b.startedAt.localeCompare(a.startedAt) || a.path.localeCompare(b.path)),
      cut: folders.length > MOST_RUNS,
    };
    this.madeAt = Date.now();
    return this.list;
  }
}

/** Folders that hold a run or the metrics of one, outermost first; links are not followed. */
function* runFolders(root: string, folder: string, depth: number): Generator<string> {
  if (fileIn(root, folder, 'run.json') !== undefined || fileIn(root, folder, METRICS_FILE) !== undefined) yield folder;
  if (depth === DEPTH) return;
  for (const entry of entriesOf(folder)) {
    if (entry.isDirectory()) yield* runFolders(root, join(folder, entry.name), depth + 1);
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Gone since its parent was read, or not ours to read: not among the runs then.
    return [];
  }
}

/** undefined where its record cannot be read, e.g. while it is being written. */
export function runRow(root: string, folder: string): RunRow | undefined {
  const has = (name: string) => fileIn(root, folder, name) !== undefined;
  const files = { hasEpisodes: has(EPISODES_FILE), hasMetrics: has(METRICS_FILE), hasReport: has(REPORT_FILE) };
  const path = relative(root, folder).split(sep).join('/') || '.';
  try {
    const record = has('run.json') ? readRunRecord(folder) : undefined;
    // An arm of a comparison has metrics of its own and no record: its run's is the one above.
    if (record === undefined) return { ...armRow(root, folder), path, ...files };
    const { job, status, seed, startedAt, endedAt } = record;
    const scenario = scenarioName(root, folder);
    return { path, job, status, scenario, seed, startedAt, ...(endedAt && { endedAt }), ...files };
  } catch (error) {
    if (error instanceof ReverieError) return undefined;
    throw error;
  }
}

function armRow(root: string, folder: string) {
  const above = join(folder, '..', '..');
  const record = existsSync(join(above, 'run.json')) && above.startsWith(root) ? readRunRecord(above) : undefined;
  return {
    job: record === undefined ? 'unknown' : `arm of ${record.job}`,
    status: record?.status ?? 'unknown',
    scenario: scenarioName(root, above),
    seed: null,
    startedAt: record?.startedAt ?? '',
  };
}

function scenarioName(root: string, folder: string): string | null {
  const file = fileIn(root, folder, SCENARIO_FILE);
  if (file === undefined) return null;
  try {
    const { config } = JSON.parse(readFileSync(file, 'utf8')) as { config?: { name?: unknown } };
    return typeof config?.name === 'string' ? config.name : null;
  } catch {
    return null;
  }
}
