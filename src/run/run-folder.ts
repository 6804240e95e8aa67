// A run's folder: what it ran, with which scenario, and how that ended. Everything else in it belongs to the job.

import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { describeIssues, reverieError } from '../core/errors.js';
import { ensureFolder, isLockFile, lockFolder, openSealed, storageError, writeFileAtomic } from '../core/files.js';
import { runDeviceSchema } from './device.js';
import { quoted } from './format.js';
import { closedOnFailure, type JobInputs, type JobResult } from './job.js';
import { type AnyScenario, reviveScenario } from './scenario.js';
import { checkAgainst } from './schema-check.js';

export const RUN_FILE = 'run.json';
export const SCENARIO_FILE = 'scenario.json';
export const RESULT_FILE = 'result.json';
export const METRICS_FILE = 'metrics.jsonl';

const text = z.string().optional();
const list = z.array(z.string()).optional();

const runRecordSchema = z.object({
  job: z.string(),
  status: z.enum(['running', 'finished', 'interrupted', 'failed']),
  seed: z.int(),
  inputs: z.object({
    ...{ data: text, model: text, checkpoint: text, episodes: text, heldOut: text },
    ...{ compare: list, failUnder: list, tasks: z.boolean().optional() },
  }),
  /** The command line, as far as it names what was run. */
  command: z.string(),
  versions: z.record(z.string(), z.string()),
  /** Absent for the processor. */
  device: runDeviceSchema.optional(),
  startedAt: z.string(),
  endedAt: text,
});

export type RunRecord = Omit<z.output<typeof runRecordSchema>, 'inputs'> & { readonly inputs: JobInputs };

/**
 * Makes the folder of a new run and takes its lock; answers what releases it.
 * @throws OUTPUT_EXISTS if something lies there that it would write over, RUN_IN_USE, STORAGE_DENIED
 */
export async function createRun(folder: string, record: RunRecord, scenario: AnyScenario): Promise<() => void> {
  requireFree(folder);
  await ensureFolder(folder);
  const unlock = lockFolder(folder);
  return closedOnFailure({ close: unlock }, async () => {
    // Once more, now that no other process can begin a run here.
    requireFree(folder);
    await rm(join(folder, METRICS_FILE), { force: true });
    await writeFileAtomic(join(folder, SCENARIO_FILE), jsonText(scenario));
    await writeRunRecord(folder, record);
    return unlock;
  });
}

export async function writeRunRecord(folder: string, record: RunRecord): Promise<void> {
  await writeFileAtomic(join(folder, RUN_FILE), jsonText(record));
}

export async function writeResult(folder: string, result: JobResult): Promise<void> {
  await writeFileAtomic(join(folder, RESULT_FILE), jsonText(result));
}

/** A folder is free if it holds nothing, or only the record of a run that failed, or never began, and kept nothing. */
function requireFree(folder: string): void {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return;
  const earlier = readRunRecord(folder);
  const entry = readdirSync(folder).find((name) => !isRecord(name, earlier));
  if (earlier !== undefined && (earlier.status !== 'failed' || entry !== undefined))
    throw reverieError('OUTPUT_EXISTS', {
      problem: `Folder "${folder}" already holds a run, which is ${earlier.status}.`,
      hint: `Give another --out; a run that is not finished goes on with reverie ${earlier.job} --resume ${quoted(folder)}.`,
    });
  if (entry !== undefined) throw notEmpty(folder, entry);
}

/** What is said of a folder that something would be written over in. */
export function notEmpty(folder: string, entry: string): Error {
  return reverieError('OUTPUT_EXISTS', {
    problem: `Folder "${folder}" is not empty: "${entry}" lies in it.`,
    hint: 'Give --out a folder that is new or empty, so that nothing in it is overwritten.',
  });
}

/** Whether a file only describes a run: what `launch` writes, and the metrics, from which no run can be resumed. */
function isRecord(name: string, earlier: RunRecord | undefined): boolean {
  if (name === METRICS_FILE) return earlier !== undefined;
  return isLockFile(name) || [RUN_FILE, SCENARIO_FILE, `${RUN_FILE}.tmp`, `${SCENARIO_FILE}.tmp`].includes(name);
}

/** Others, too, call a file of theirs `scenario.json`. */
const savedSchema = z.looseObject({ config: z.looseObject({}), folder: z.string(), hash: z.string() });

/** What `folder` ran, or undefined if it is no run's folder. */
export function readRunRecord(folder: string): RunRecord | undefined {
  const file = join(folder, RUN_FILE);
  return existsSync(file) ? checkAgainst(runRecordSchema, readJson(file), file) : undefined;
}

/** The scenario saved in `folder` or in the nearest folder above it, up to three levels; undefined if there is none. */
export async function savedScenario(folder: string): Promise<AnyScenario | undefined> {
  const places = ['', '..', '../..', '../../..'].map((up) => join(resolve(folder), up, SCENARIO_FILE));
  const file = places.find((place) => existsSync(place));
  if (file === undefined) return undefined;
  return reviveScenario(checkAgainst(savedSchema, readJson(file), file) as unknown as AnyScenario, file);
}

/** The run in `folder`, to be resumed. @throws STATE_MISMATCH, saying why not; STORAGE_DENIED for another user's */
export async function resumableRun(folder: string, job: string): Promise<{ record: RunRecord; scenario: AnyScenario }> {
  const refuse = (problem: string) =>
    reverieError('STATE_MISMATCH', {
      problem: `Cannot go on with "${folder}": ${problem}.`,
      hint: 'Give the folder that was named when the run stopped; see reverie inspect.',
    });
  const record = readRunRecord(folder);
  const scenario = record && (await savedScenario(folder));
  if (record === undefined || scenario === undefined) throw refuse('it is not the folder of a run');
  if (record.job !== job) throw refuse(`it holds a run of ${record.job}, not of ${job}`);
  if (record.status === 'finished') throw refuse('that run is finished');
  for (const name of readdirSync(folder)) {
    try {
      accessSync(join(folder, name), constants.R_OK | constants.W_OK);
    } catch (error) {
      throw storageError(join(folder, name), error);
    }
  }
  return { record, scenario };
}

/** A sealed file of a run. @throws CHECKPOINT_CORRUPT where it is not as it was written */
export function readSealed<S extends z.ZodType>(path: string, schema: S): z.output<S> {
  try {
    return schema.parse(openSealed(readFileSync(path, 'utf8')));
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem }, error);
  }
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw storageError(file, error);
    throw reverieError('CHECKPOINT_CORRUPT', { path: file, problem: (error as Error).message }, error);
  }
}

/** As files are written that people read. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
