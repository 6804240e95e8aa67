// The runs below a folder: which there are, and what each of them has to show.

import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { ReverieError, reverieError } from '../../core/errors.js';
import { type Inspection, inspectFolder, METRICS_FILE, readRunRecord, SCENARIO_FILE } from '../../run/index.js';
import type { PartView, RunRow, RunsView, RunView } from './wire.js';

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
  const metrics = fileIn(root, folder, METRICS_FILE);
  // A job that has nothing to measure leaves an empty file.
  const hasMetrics = metrics !== undefined && statSync(metrics).size > 0;
  const files = { hasEpisodes: has(EPISODES_FILE), hasMetrics, hasReport: has(REPORT_FILE) };
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

// Which files of runs may be looked at: those below the root, really there, and not by way of a link that leads out.

/**
 * The real path of `name` below `root`.
 * @throws RUN_PATH_REFUSED for a name that leads out, also through a link; RUN_NOT_FOUND for one that is not there
 */
export function pathBelow(root: string, name: string): string {
  const clean = normalize(name);
  if (isAbsolute(name) || leadsOut(clean) || name.includes('\0'))
    throw reverieError('RUN_PATH_REFUSED', { path: name });
  const path = join(root, clean);
  if (!existsSync(path)) throw reverieError('RUN_NOT_FOUND', { path: name });
  if (!isBelow(root, path)) throw reverieError('RUN_PATH_REFUSED', { path: name });
  return realpathSync(path);
}

/** Whether what is at `path`, links followed, lies in `root`. */
function isBelow(root: string, path: string): boolean {
  return !leadsOut(relative(realpathSync(root), realpathSync(path)));
}

/** A file within a folder below the root; undefined where it is missing, no file, or elsewhere. */
export function fileIn(root: string, folder: string, ...names: readonly string[]): string | undefined {
  const path = join(folder, ...names);
  return existsSync(path) && statSync(path).isFile() && isBelow(root, path) ? path : undefined;
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}

// What lies in a run's folder, told by what each part says of itself.

/** Folders that are looked through for links. */
const MOST_FOLDERS = 500;

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED */
export async function runView(root: string, name: string): Promise<RunView> {
  const folder = pathBelow(root, name);
  if (!statSync(folder).isDirectory()) throw reverieError('RUN_NOT_FOUND', { path: name });
  const run = runRow(root, folder);
  if (run === undefined) throw reverieError('RUN_NOT_FOUND', { path: name });
  const command = fileIn(root, folder, 'run.json') === undefined ? '' : (readRunRecord(folder)?.command ?? '');
  if (hasLinks(folder)) return { run, command, parts: [], notes: ['Its parts are not described: it holds links.'] };
  // An arm of a comparison has no record of its own; its parts have.
  const folders = command === '' ? foldersIn(folder) : [folder];
  const notes: string[] = [];
  const parts: PartView[] = [];
  for (const one of folders) {
    try {
      parts.push(...partsOf(root, await inspectFolder(one)));
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      if (error.code !== 'NOTHING_TO_INSPECT') notes.push(`Its parts cannot be described: ${error.message}`);
    }
  }
  return { run, command, parts, notes };
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

function partsOf(root: string, { kind, folder, facts, parts }: Inspection): PartView[] {
  const path = relative(root, folder).split(sep).join('/');
  const told = Object.entries(facts).flatMap(([name, value]) => factOf(name, value));
  return [{ kind, path, facts: told }, ...parts.flatMap((part) => partsOf(root, part))];
}

function factOf(name: string, value: unknown): (readonly [string, string])[] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'number') return [[name, Number.isInteger(value) ? String(value) : value.toPrecision(4)]];
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, part]) => factOf(`${name} ${key}`, part));
}

/** Whether anything in it is a link, which could lead out. */
function hasLinks(folder: string): boolean {
  const waiting = [folder];
  for (let looked = 0; waiting.length > 0; looked++) {
    if (looked > MOST_FOLDERS) return true;
    const here = waiting.pop()!;
    for (const entry of readdirSync(here, { withFileTypes: true })) {
      if (entry.isSymbolicLink()) return true;
      if (entry.isDirectory()) waiting.push(join(here, entry.name));
    }
  }
  return false;
}
