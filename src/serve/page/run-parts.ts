// What lies in a run's folder, told by what each part says of itself.

import { readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { ReverieError, reverieError } from '../../core/errors.js';
import { type Inspection, inspectFolder, readRunRecord } from '../../run/index.js';
import { runRow } from './run-list.js';
import { fileIn, pathBelow } from './run-paths.js';
import type { PartView, RunView } from './wire.js';

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
