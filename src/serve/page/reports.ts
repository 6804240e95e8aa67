// Reports of runs: every report page below the folder of runs, each as a document that can do nothing, and reports of fidelity.

import { type Dirent, readdirSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { FIDELITY_FILE, openFidelityReport, type ShownReport, withoutSamples } from '../../run/index.js';
import { pathBelow } from './run-list.js';
import type { ReportRow } from './wire.js';

const FIDELITY_PAGE = 'fidelity.html';
const DEPTH = 5;
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

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, FIDELITY_REPORT_INVALID */
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
    else if (entry.isDirectory() && depth < DEPTH) yield* reportFiles(path, depth + 1);
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
