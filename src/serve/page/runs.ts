// The runs below a folder: which there are, and the reports they wrote.

import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { ReverieError, reverieError } from '../../core/errors.js';
import { METRICS_FILE, readRunRecord, SCENARIO_FILE } from '../../run/run-folder.js';
import type { ReportRow, RunRow, RunsView } from './wire.js';

/** Folders below the root that are looked into. */
const DEPTH = 4;
/** Runs that are listed. */
const MOST_RUNS = 2_000;
/** Milliseconds for which a list is not made anew. */
const FRESH = 2_000;

export const EPISODES_FILE = join('data', 'episodes.jsonl');
const REPORT_FILE = 'report.html';

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
function runRow(root: string, folder: string): RunRow | undefined {
  const has = (name: string) => fileIn(root, folder, name) !== undefined;
  const files = { hasEpisodes: has(EPISODES_FILE), hasReport: has(REPORT_FILE) };
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

const REPORT_DEPTH = 5;
const MOST_REPORTS = 1_000;
/** Bytes in which a page's title is looked for. */
const HEAD = 4_096;

/** No script, no request, no form, an origin of its own; styles and pictures within the file. */
export const REPORT_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** What jobs write: `report.html`, others whose names end in `-report.html`, and `fidelity.html`. */
const REPORT = /(^|[/\\]|-)(report|fidelity)\.html$/;

/** The latest first. */
export async function listReports(root: string): Promise<ReportRow[]> {
  const files = [...reportFiles(root, 0)].slice(0, MOST_REPORTS);
  const rows = await Promise.all(files.map((file) => reportRow(root, file)));
  return rows.sort((a, b) => (a.writtenAt < b.writtenAt ? 1 : -1));
}

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED */
export async function readReport(root: string, name: string): Promise<Buffer> {
  const path = pathBelow(root, name);
  if (!REPORT.test(path) || !statSync(path).isFile()) throw reverieError('RUN_NOT_FOUND', { path: name });
  return readFile(path);
}

function* reportFiles(folder: string, depth: number): Generator<string> {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isFile() && REPORT.test(entry.name)) yield path;
    else if (entry.isDirectory() && depth < REPORT_DEPTH) yield* reportFiles(path, depth + 1);
  }
}

async function reportRow(root: string, file: string): Promise<ReportRow> {
  const path = relative(root, file).split(sep).join('/');
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD), 0, HEAD, 0);
    const [, title = path] = /<title>([^<]*)<\/title>/.exec(buffer.toString('utf8', 0, bytesRead)) ?? [];
    const plain = title.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))).trim();
    return { path, run: dirname(path), title: plain, writtenAt: statSync(file).mtime.toISOString() };
  } finally {
    await handle.close();
  }
}

/** Bytes of the longest line that is read. */
const LONGEST_LINE = 32 << 20;
const CHUNK = 1 << 18;

/** Whole lines from byte `from` on, each with the byte at which it begins; one without an end is left out. @throws LINE_TOO_LONG */
export async function* linesOf(file: string, from = 0): AsyncGenerator<{ readonly at: number; readonly text: string }> {
  const handle = await open(file);
  try {
    const parts: Buffer[] = [];
    let [at, position] = [from, from];
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      let rest = buffer.subarray(0, bytesRead);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const bytes = Buffer.concat([...parts, rest.subarray(0, end)]);
        parts.length = 0;
        yield { at, text: bytes.toString('utf8') };
        at += bytes.length + 1;
        rest = rest.subarray(end + 1);
      }
      parts.push(rest);
      if (position - at > LONGEST_LINE) throw reverieError('LINE_TOO_LONG', { path: file, at, limit: LONGEST_LINE });
    }
  } finally {
    await handle.close();
  }
}
