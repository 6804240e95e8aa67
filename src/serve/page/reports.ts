// Reports of runs: every report page below the folder of runs, and each as a document that can do nothing.

import { type Dirent, readdirSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { reverieError } from '../../errors.js';
import { pathBelow } from './run-paths.js';
import type { ReportRow } from './wire.js';

const DEPTH = 5;
const MOST_REPORTS = 1_000;
/** Bytes in which a page's title is looked for. */
const HEAD = 4_096;

/** No script, no request, no form, an origin of its own; styles and pictures within the file. */
export const REPORT_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** Every `report.html`, and others whose names end in `-report.html`; the latest first. */
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

function isReport(name: string): boolean {
  return /(^|[/\\]|-)report\.html$/.test(name);
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
    if (entry.isFile() && isReport(entry.name)) yield path;
    else if (entry.isDirectory() && depth < DEPTH) yield* reportFiles(path, depth + 1);
  }
}

async function reportRow(root: string, file: string): Promise<ReportRow> {
  const path = relative(root, file).split(sep).join('/');
  const { mtime } = statSync(file);
  return { path, run: dirname(path), title: (await titleOf(file)) ?? path, writtenAt: mtime.toISOString() };
}

async function titleOf(file: string): Promise<string | undefined> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD), 0, HEAD, 0);
    const [, title] = /<title>([^<]*)<\/title>/.exec(buffer.subarray(0, bytesRead).toString('utf8')) ?? [];
    return title?.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))).trim();
  } finally {
    await handle.close();
  }
}
