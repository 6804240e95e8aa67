// The runs below a folder, and which of their files may be looked at: those that really lie there, not by way of a link out.

import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { ReverieError, reverieError } from '../../core/errors.js';
import { readRunRecord, SCENARIO_FILE } from '../../run/run-folder.js';
import type { RunRow, RunsView } from './wire.js';

/** Folders below the root that are looked into. */
const DEPTH = 4;
/** Runs that are listed. */
const MOST_RUNS = 2_000;

const REPORTS = ['report.html', 'fidelity.html'];

/** The latest first. @param root  undefined: none are shown */
export function listRuns(root: string | undefined): RunsView {
  if (root === undefined) return { root: null, runs: [], cut: false };
  const folders = [...runFolders(root, root, 0)];
  const rows = folders.slice(0, MOST_RUNS).flatMap((folder) => runRow(root, folder) ?? []);
  const runs = rows.sort((a, b) => b.startedAt.localeCompare(a.startedAt) || a.path.localeCompare(b.path));
  return { root, runs, cut: folders.length > MOST_RUNS };
}

/** Folders that hold a run, outermost first; links are not followed. */
function* runFolders(root: string, folder: string, depth: number): Generator<string> {
  if (fileIn(root, folder, 'run.json') !== undefined) yield folder;
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
function runRow(root: string, folder: string): RunRow | undefined {
  const has = (name: string) => fileIn(root, folder, name) !== undefined;
  const path = relative(root, folder).split(sep).join('/') || '.';
  try {
    const record = readRunRecord(folder);
    if (record === undefined) return undefined;
    const { job, status, startedAt } = record;
    const scenario = scenarioName(root, folder);
    const report = REPORTS.find(has);
    return { path, job, status, scenario, startedAt, ...(report && { report: `${path}/${report}` }) };
  } catch (error) {
    if (error instanceof ReverieError) return undefined;
    throw error;
  }
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

/**
 * The real path of `name` below `root`.
 * @throws RUN_PATH_REFUSED for a name that leads out, also through a link; RUN_NOT_FOUND for one that is not there
 */
function pathBelow(root: string, name: string): string {
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
function fileIn(root: string, folder: string, name: string): string | undefined {
  const path = join(folder, name);
  return existsSync(path) && statSync(path).isFile() && isBelow(root, path) ? path : undefined;
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}

/** No script, no request, no form, an origin of its own; styles and pictures within the file. */
export const REPORT_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED */
export async function readReport(root: string, name: string): Promise<Buffer> {
  const path = pathBelow(root, name);
  if (!path.endsWith('.html') || !statSync(path).isFile()) throw reverieError('RUN_NOT_FOUND', { path: name });
  return readFile(path);
}
