// Logs of the real environment as episodes and steps: OpenAI messages, ShareGPT, or trajectories of τ-bench.

import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { reverieError } from '../../../core/errors.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { EpisodeRecord, ExperienceStep } from '../experience.js';
import type { ExperienceConfig } from '../experience-schema.js';
import { livedSteps } from '../lived-steps.js';
import { RecordProblem } from './logged-call.js';
import { readConversation } from './logged-conversation.js';
import { loggedEpisode } from './logged-episode.js';

export interface LogOptions {
  /** Whose logs they are: gives the policy, families of tasks and, with rules, states and operations of the calls. */
  readonly domain?: ToolsDomain;
  /** Name under which steps are remembered; by default the domain's id. */
  readonly scenario?: string;
  /** Skip records that cannot be read, and say which; otherwise the first is an error. */
  readonly tolerant?: boolean;
}

export interface EpisodeLogs {
  readonly episodes: readonly EpisodeRecord[];
  readonly steps: readonly ExperienceStep[];
  readonly skipped: readonly SkippedRecord[];
  /** Calls whose state and operations are known: the domain's rules answer as was recorded. */
  readonly replayed: number;
}

export interface SkippedRecord {
  readonly path: string;
  readonly where: string;
  readonly problem: string;
}

/**
 * Reads a file, or all .jsonl and .json files of a folder, in order of names.
 * Throws LOG_INVALID naming file and line.
 */
export async function readEpisodeLogs(path: string, options: LogOptions = {}): Promise<EpisodeLogs> {
  const episodes: EpisodeRecord[] = [];
  const steps: ExperienceStep[] = [];
  const skipped: SkippedRecord[] = [];
  const files = filesAt(path);
  if (files.length === 0)
    throw reverieError('LOG_INVALID', { path, where: 'the folder', problem: 'it holds no .jsonl or .json file' });
  for (const file of files) {
    for await (const record of recordsOf(file)) {
      const read = readRecord(record, options);
      if ('problem' in read) {
        if (!options.tolerant) throw reverieError('LOG_INVALID', { path: file, ...read });
        skipped.push({ path: file, ...read });
        continue;
      }
      episodes.push(read.episode);
      for (const step of read.steps) steps.push(step);
    }
  }
  return { episodes, steps, skipped, replayed: steps.filter(({ operations }) => operations !== undefined).length };
}

function readRecord(
  { where, value, problem }: LogRecord,
  { domain, scenario = domain?.id ?? '' }: LogOptions,
): { episode: EpisodeRecord; steps: ExperienceStep[] } | { where: string; problem: string } {
  if (problem !== undefined) return { where, problem };
  try {
    const { record, states } = loggedEpisode(readConversation(value), scenario, domain);
    return { episode: record, steps: livedSteps(record, states) };
  } catch (error) {
    if (error instanceof RecordProblem) return { where, problem: error.message };
    throw error;
  }
}

// Files of logs and the records in them: JSON lines, or one JSON list.

/** One record, or why there is none. */
export interface LogRecord {
  /** `line 3` or `record 3`. */
  readonly where: string;
  readonly value?: unknown;
  readonly problem?: string;
}

/** The files that `logs` names, relative to the scenario's folder; what is not there is named as it is. */
export function episodeLogFiles({ logs }: Pick<ExperienceConfig, 'logs'>, folder: string): string[] {
  return logs.flatMap((path) => filesAt(resolve(folder, path)));
}

/** The file itself, or those of a folder that end in .jsonl or .json, by name; of the folder of a run, those of its logs. */
export function filesAt(path: string): string[] {
  if (!existsSync(path) || !statSync(path).isDirectory()) return [path];
  if (existsSync(join(path, 'run.json'))) return filesAt(join(path, 'logs'));
  const names = readdirSync(path).filter((name) => /\.jsonl?$/.test(name));
  return names.sort().map((name) => join(path, name));
}

/** Records in order. Throws LOG_INVALID if the file cannot be read, or is one JSON text that is damaged. */
export async function* recordsOf(path: string): AsyncGenerator<LogRecord> {
  const file = await open(path, 'r').catch((error) => {
    throw unreadable(path, error);
  });
  const first = await firstCharacter(file).finally(() => file.close());
  yield* first === '[' ? listed(path) : lines(path);
}

async function* lines(path: string): AsyncGenerator<LogRecord> {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    const where = `line ${++number}`;
    if (line.trim() === '') continue;
    try {
      yield { where, value: JSON.parse(line) };
    } catch (error) {
      yield { where, problem: `it is not JSON (${(error as Error).message})` };
    }
  }
}

async function* listed(path: string): AsyncGenerator<LogRecord> {
  let records: unknown[];
  try {
    records = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw unreadable(path, error);
  }
  for (const [i, value] of records.entries()) yield { where: `record ${i + 1}`, value };
}

async function firstCharacter(file: Awaited<ReturnType<typeof open>>): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0).catch(() => ({
    buffer: Buffer.alloc(0),
    bytesRead: 0,
  }));
  return buffer.subarray(0, bytesRead).toString('utf8').trimStart().slice(0, 1);
}

function unreadable(path: string, error: unknown) {
  const problem = (error as Error).message;
  return reverieError('LOG_INVALID', { path, where: 'the file', problem: `it cannot be read (${problem})` }, error);
}
