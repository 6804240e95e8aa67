// The runs below a folder: which there are, and what each of them has to show.

import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { ReverieError, reverieError } from '../../core/errors.js';
import { FIDELITY_FILE, openFidelityReport } from '../../fidelity/report/report-file.js';
import { type ShownReport, withoutSamples } from '../../fidelity/report/shown-report.js';
import { type Inspection, inspectFolder } from '../../run/inspect.js';
import type { MetricsEvent } from '../../run/metrics.js';
import { METRICS_FILE, readRunRecord, SCENARIO_FILE } from '../../run/run-folder.js';
import type { CurvesView, CurveView, PartView, ReportRow, RunRow, RunsView, RunView } from './wire.js';

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

const FIDELITY_PAGE = 'fidelity.html';
const REPORT_DEPTH = 5;
const MOST_REPORTS = 1_000;
/** Bytes in which a page's title is looked for. */
const HEAD = 4_096;

/** No script, no request, no form, an origin of its own; styles and pictures within the file. */
export const REPORT_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** Every `report.html`, others whose names end in `-report.html`, and every `fidelity.json`; the latest first. */
export async function listReports(root: string): Promise<ReportRow[]> {
  const files = [...reportFiles(root, 0)].slice(0, MOST_REPORTS);
  const rows = await Promise.all(files.map((file) => reportRow(root, file)));
  return rows.sort((a, b) => (a.writtenAt < b.writtenAt ? 1 : -1));
}

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED */
export async function readReport(root: string, name: string): Promise<Buffer> {
  const path = pathBelow(root, name);
  if (!isReport(path) || !statSync(path).isFile()) throw reverieError('RUN_NOT_FOUND', { path: name });
  return readFile(path);
}

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, FILE_INVALID */
export async function readFidelity(root: string, name: string): Promise<ShownReport> {
  const path = pathBelow(root, name);
  if (!isFidelity(path) || !statSync(path).isFile()) throw reverieError('RUN_NOT_FOUND', { path: name });
  return withoutSamples(openFidelityReport(await readFile(path, 'utf8'), name));
}

/** The page that a run of fidelity writes is read like the others, and listed by its JSON. */
function isReport(name: string): boolean {
  return /(^|[/\\]|-)report\.html$/.test(name) || basename(name) === FIDELITY_PAGE;
}

function isFidelity(name: string): boolean {
  return basename(name) === FIDELITY_FILE;
}

function* reportFiles(folder: string, depth: number): Generator<string> {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // Gone since its parent was read, or not ours to read.
    return;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    const isListed = isFidelity(entry.name) || (isReport(entry.name) && entry.name !== FIDELITY_PAGE);
    if (entry.isFile() && isListed) yield path;
    else if (entry.isDirectory() && depth < REPORT_DEPTH) yield* reportFiles(path, depth + 1);
  }
}

async function reportRow(root: string, file: string): Promise<ReportRow> {
  const path = relative(root, file).split(sep).join('/');
  const { mtime } = statSync(file);
  const kind = isFidelity(file) ? 'fidelity' : 'page';
  const title = titleIn(await headOf(file), kind) ?? path;
  return { path, run: dirname(path), kind, title, writtenAt: mtime.toISOString() };
}

async function headOf(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD), 0, HEAD, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}

function titleIn(head: string, kind: ReportRow['kind']): string | undefined {
  if (kind === 'fidelity') {
    const [, scenario] = /"scenario": "([^"\\]*)"/.exec(head) ?? [];
    return scenario === undefined ? undefined : `Fidelity: ${scenario}`;
  }
  const [, title] = /<title>([^<]*)<\/title>/.exec(head) ?? [];
  return title?.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))).trim();
}

/** Points of a curve that are sent. */
const MOST_POINTS = 600;
const AXES = ['realSteps', 'syntheticSteps', 'updates', 'wallSeconds', 'round'] as const;
const PREFERRED = ['eval.return', 'episode.return', 'update.criticLoss'];

interface CurveRequest {
  readonly runs: readonly string[];
  /** `kind.field`; the first that the runs have unless given. */
  readonly quantity?: string;
  /** A counter; real steps unless given. */
  readonly axis?: string;
}

type Values = Map<string, [x: Record<string, number>, y: number][]>;

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, LINE_TOO_LONG */
export async function curvesView(root: string, { runs, quantity, axis }: CurveRequest): Promise<CurvesView> {
  const read = await Promise.all(runs.map(async (run) => [run, await valuesOf(root, run)] as const));
  const quantities = [...new Set(read.flatMap(([, values]) => [...values.keys()]))].sort();
  const shown = quantity ?? PREFERRED.find((one) => quantities.includes(one)) ?? quantities[0] ?? null;
  const axes = AXES.filter((name) => read.some(([, values]) => values.get(shown ?? '')?.some(([x]) => name in x)));
  const along = axis ?? axes[0] ?? 'wallSeconds';
  const curves = read.map(([run, values]): CurveView => ({ run, points: pointsOf(values.get(shown ?? ''), along) }));
  return { quantities, axes, quantity: shown, axis: along, curves };
}

async function valuesOf(root: string, run: string): Promise<Values> {
  const file = fileIn(root, pathBelow(root, run), METRICS_FILE);
  const values: Values = new Map();
  if (file === undefined) return values;
  for await (const { text } of linesOf(file)) {
    const event = eventOf(text);
    if (event === undefined) continue;
    const counters = Object.fromEntries(AXES.flatMap((name) => numberAt(event, name)));
    for (const [field, value] of Object.entries(event)) {
      if (typeof value !== 'number' || (AXES as readonly string[]).includes(field)) continue;
      const key = `${event.kind}.${field}`;
      const known = values.get(key) ?? [];
      known.push([counters, value]);
      values.set(key, known);
    }
  }
  return values;
}

function eventOf(text: string): MetricsEvent | undefined {
  try {
    const event = JSON.parse(text) as MetricsEvent | null;
    return typeof event?.kind === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

function numberAt(event: MetricsEvent, name: string): [string, number][] {
  const value = event[name];
  return typeof value === 'number' ? [[name, value]] : [];
}

/** Values at one place, such as episodes that end together, are one point: their mean. A curve has no upright lines. */
function meansOf(points: readonly (readonly [number, number])[]): [number, number][] {
  const found: [x: number, mean: number][] = [];
  let count = 0;
  for (const [x, y] of points) {
    const last = found.at(-1);
    if (last?.[0] !== x) {
      found.push([x, y]);
      count = 1;
    } else last[1] += (y - last[1]) / ++count;
  }
  return found;
}

/** Thinned by leaving out points between: first and last stay. */
function pointsOf(
  values: Values extends Map<string, infer V> ? V | undefined : never,
  axis: string,
): CurveView['points'] {
  const points = meansOf((values ?? []).flatMap(([x, y]): [number, number][] => (axis in x ? [[x[axis], y]] : [])));
  if (points.length <= MOST_POINTS) return points;
  const stride = (points.length - 1) / (MOST_POINTS - 1);
  return Array.from({ length: MOST_POINTS }, (_, i) => points[Math.round(i * stride)]);
}

// Lines of a large file with the bytes at which they begin, without ever holding the file.

/** Bytes of the longest line that is read. */
const LONGEST_LINE = 32 << 20;
const CHUNK = 1 << 18;

interface FileLine {
  /** Byte at which it begins. */
  readonly at: number;
  /** Byte after its end. */
  readonly end: number;
  readonly text: string;
}

/** Whole lines from byte `from` on; a last line without an end is left out. @throws LINE_TOO_LONG */
export async function* linesOf(file: string, from = 0): AsyncGenerator<FileLine> {
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
        yield { at, end: at + bytes.length + 1, text: bytes.toString('utf8') };
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
