// A job as workers are told of it: what they need to make the same parts, and the versions to check them by.

import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAbsolute, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { contentHash, sha256 } from '../../core/hash.js';
import { packageRoot } from '../../core/packs.js';
import { serverKeyOf, type ToolsTask } from '../../env/index.js';
import { writeFileAtomic } from '../../store/atomic-file.js';
import { openParcel } from '../../synth/index.js';
import type { JobContext } from '../job.js';
import type { ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';
import { type JobDescription, jobDescriptionSchema } from './messages.js';

const RUN_FILE = 'queue.json';
const runFileSchema = z.object({ run: z.string().regex(/^[0-9a-f]{64}$/) });

export interface JobFacts {
  /** Tasks that were made for the job. */
  readonly tasks: readonly ToolsTask[];
  readonly withheld: string | undefined;
  readonly versions: JobDescription['versions'];
}

export type JobSource = Pick<JobContext<ToolsScenario>, 'scenario' | 'seed' | 'out' | 'device'>;

/**
 * A scenario of somebody else's must not say whom a worker asks, or which program it starts.
 * @throws QUEUE_UNSUITED
 */
export function requireNoServer({ config }: ToolsScenario): void {
  const key = serverKeyOf(config.domain);
  if (key === undefined) return;
  const problem = 'workers of a queue ask no servers, and start no programs, that a scenario names';
  throw reverieError('QUEUE_UNSUITED', { setting: `domain.${key}`, problem });
}

/** @throws QUEUE_UNSUITED */
export async function describedJob(
  source: JobSource,
  { tasks, withheld, versions: who }: JobFacts,
): Promise<JobDescription> {
  requireNoServer(source.scenario);
  if (source.device !== undefined) {
    const problem =
      'workers of a queue compute on their processors, and two devices round in two ways: use --device cpu';
    throw reverieError('QUEUE_UNSUITED', { setting: `--device ${source.device.kind}`, problem });
  }
  const { config, hash, folder } = source.scenario;
  return {
    format: 'reverie rollouts 1',
    run: await runOf(source.out),
    reverie: versions().reverie,
    seed: source.seed,
    scenario: hash,
    folder: folderOf(folder),
    // What may be spent, and how much at once, is the coordinator's business.
    config: jsonOf({ ...config, workers: 0, synth: { ...config.synth, budget: {} } }),
    tasks: jsonOf([...tasks]),
    withheld: withheld ?? null,
    versions: who,
  };
}

/** SHA-256, 64 hex digits. */
export function jobIdOf(description: JobDescription): string {
  return contentHash(description);
}

/** @throws QUEUE_MESSAGE_INVALID, also of a description that is not the one its id says; QUEUE_JOB_REFUSED by version */
export async function openDescription(job: string, bytes: Uint8Array): Promise<JobDescription> {
  const what = `the description of job ${job}`;
  const description = await openParcel(bytes, jobDescriptionSchema, what);
  if (jobIdOf(description) !== job) {
    throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: 'it does not match its id' });
  }
  return description;
}

/** The scenario's folder on this machine. */
export function folderHere({ folder: { base, path } }: JobDescription): string {
  return base === 'package' ? join(packageRoot(), path) : path;
}

function folderOf(folder: string): JobDescription['folder'] {
  const path = relative(packageRoot(), folder);
  const isInside = !isAbsolute(path) && path.split(sep)[0] !== '..';
  return isInside ? { base: 'package', path: path.split(sep).join('/') } : { base: 'root', path: folder };
}

/** What tells this run from all others: made once, and kept with it. */
async function runOf(out: string): Promise<string> {
  const file = join(out, RUN_FILE);
  if (existsSync(file)) return readRun(file);
  const own = [hostname(), out, process.pid, new Date().toISOString()];
  const run = sha256(JSON.stringify(own));
  await writeFileAtomic(file, `${JSON.stringify({ run })}\n`);
  return run;
}

function readRun(file: string): string {
  try {
    return runFileSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).run;
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path: file, problem: (error as Error).message }, error);
  }
}

/** As it will be where it arrives. */
function jsonOf<T>(value: unknown): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
