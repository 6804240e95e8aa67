// What coordinator and workers tell each other over a queue, as schemas: nothing that does not fit is believed.

import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAbsolute, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { contentHash, sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { writeFileAtomic } from '../../core/files.js';
import { packageRoot } from '../../core/packs.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { serverKeyOf } from '../../env/tools/domains.js';
import { toolsTaskSchema } from '../../env/tools/load-domain.js';
import { openParcel } from '../../synth/queue/rollout-queue.js';
import type { JobContext } from '../job.js';
import type { ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);

/** What a worker needs to know of a job before it can live any of its rows. Holds no secret: keys are each worker's own. */
export const jobDescriptionSchema = z.strictObject({
  format: z.literal('reverie rollouts 1').describe('What this is.'),
  run: hex64.describe('Tells runs of one scenario apart.'),
  reverie: z.string().describe('Version of Reverie.'),
  seed: count.describe('Seed of the job.'),
  scenario: hex64.describe("The scenario's hash, with that of the files it names."),
  folder: z
    .strictObject({
      base: z.enum(['package', 'root']).describe('Whether it lies in the package of Reverie, or anywhere.'),
      path: z.string().describe('Where, from there.'),
    })
    .describe("Folder that the scenario's paths start from."),
  config: z.record(z.string(), z.json()).describe('The effective scenario, without its budget.'),
  tasks: z.array(toolsTaskSchema).describe("Tasks that were made for this job, beside the domain's own."),
  withheld: z.string().nullable().describe('Why no episode may be given a reward; null: each may.'),
  versions: z
    .strictObject({
      domain: z.string().describe('Tools, rules, tasks and all.'),
      responder: z.string().describe('Who answers calls.'),
      user: z.string().describe('Who talks to the agent.'),
      agent: z.string().describe('Who acts.'),
      judge: z.string().nullable().describe('Who decides what checks leave open; null: nobody.'),
    })
    .describe('Who takes part: the same everywhere, or the row is refused.'),
});
export type JobDescription = z.output<typeof jobDescriptionSchema>;

/** A row, with all that rows before it decide. */
export const rowSchema = z.strictObject({
  row: count.describe('Row of the job.'),
  task: z.string().describe('Its task.'),
  maxSteps: z.int().min(1).describe('Turns of the agent after which it is truncated.'),
  attempt: count.describe('Tries before this one.'),
});
export type RowMessage = z.output<typeof rowSchema>;

const costSchema = z.strictObject({
  calls: z.number().min(0),
  promptTokens: z.number().min(0),
  cachedTokens: z.number().min(0),
  completionTokens: z.number().min(0),
  money: z.number().min(0),
});

/** What a worker tells beside a result. */
export const noteSchema = z.strictObject({
  worker: z.string().max(200).describe('Who it was.'),
  spent: costSchema.describe('What it spent since it told last.'),
});
export type Note = z.output<typeof noteSchema>;

const callSchema = z.looseObject({ id: z.string(), name: z.string(), arguments: z.record(z.string(), z.json()) });

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: z.string() }),
  z.looseObject({ role: z.literal('user'), content: z.string() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    toolCalls: z.array(callSchema).optional(),
  }),
  z.looseObject({ role: z.literal('tool'), toolCallId: z.string(), name: z.string(), content: z.string() }),
]);

const verdictSchema = z.looseObject({
  reward: z.number().nullable(),
  checks: z.array(z.looseObject({ name: z.string(), passed: z.boolean().nullable() })),
});

const stepSchema = z.looseObject({
  message: count,
  action: z.looseObject({ content: z.string().nullable() }),
  predictions: z.array(z.looseObject({ backend: z.string(), cost: costSchema })),
  reward: z.number(),
  stateHash: z.string(),
});

/** An `EpisodeRecord`, as far as anything reads it. */
export const recordSchema = z.looseObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  row: count,
  source: z.enum(['real', 'synthetic']),
  scenario: z.string(),
  scenarioHash: hex64,
  task: z.string(),
  family: z.string(),
  split: z.enum(['train', 'validation', 'test']),
  seed: count,
  group: z.int().min(-1),
  policyVersion: z.string(),
  userVersion: z.string(),
  responderVersion: z.string(),
  messages: z.array(messageSchema),
  steps: z.array(stepSchema),
  verdict: verdictSchema,
  return: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  weight: z.number(),
  cost: costSchema,
});

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

/** @throws QUEUE_REFUSED, also of a description that is not the one its id says; QUEUE_REFUSED by version */
export async function openDescription(job: string, bytes: Uint8Array): Promise<JobDescription> {
  const what = `the description of job ${job}`;
  const description = await openParcel(bytes, jobDescriptionSchema, what);
  if (jobIdOf(description) !== job) {
    throw reverieError('QUEUE_REFUSED', {
      problem: `The queue holds something else where ${what} should be: it does not match its id.`,
      hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
    });
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

/** Resolves when `work` is over, however it ended, or after `ms`. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(timer);
}
