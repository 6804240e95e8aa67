// What coordinator and workers send each other over a queue, as schemas: nothing that does not fit is believed.

import { hostname } from 'node:os';
import { isAbsolute, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { contentHash } from '../../core/canonical-json.js';
import { ERROR_CATALOGUE, type ErrorCode } from '../../core/errors.js';
import { packageRoot } from '../../core/packs.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { serverKeyOf } from '../../env/tools/domains.js';
import { toolsTaskSchema } from '../../env/tools/load-domain.js';
import type { JobContext } from '../job.js';
import type { ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';
import { openParcel, queueUnsuited, strayMessage } from './redis-queue.js';

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const amount = z.number().min(0);

/** What a worker needs to know of a job before it can run any of its rows. Holds no secret: keys are each worker's own. */
const jobDescriptionSchema = z.strictObject({
  format: z.literal('reverie rollouts 1'),
  /** Tells runs of one scenario apart, by machine and folder. */
  run: hex64,
  /** Version of Reverie. */
  reverie: z.string(),
  seed: count,
  /** The scenario's hash, with that of the files it names. */
  scenario: hex64,
  /** Folder that the scenario's paths start from: in the package of Reverie, or anywhere. */
  folder: z.strictObject({ base: z.enum(['package', 'root']), path: z.string() }),
  /** The effective scenario, without its budget. */
  config: z.record(z.string(), z.json()),
  /** Tasks that were made for this job, beside the domain's own. */
  tasks: z.array(toolsTaskSchema),
  /** Why no episode may be given a reward; null: each may. */
  withheld: z.string().nullable(),
  /** Who takes part: the same everywhere, or the row is refused. */
  versions: z.strictObject({
    domain: z.string(),
    responder: z.string(),
    user: z.string(),
    agent: z.string(),
    judge: z.string().nullable(),
  }),
});
export type JobDescription = z.output<typeof jobDescriptionSchema>;

/** An item of the queue: the job that it is of, and its row, a parcel. */
export const itemSchema = z.object({ job: hex64, payload: z.base64() });

/** A row, with all that rows before it decide. */
export const rowSchema = z.strictObject({ row: count, task: z.string(), maxSteps: z.int().min(1) });
export type RowMessage = z.output<typeof rowSchema>;

const costSchema = z.strictObject({
  ...{ calls: amount, promptTokens: amount, cachedTokens: amount, completionTokens: amount, money: amount },
});

/** What a worker adds to a result: what it spent since it last said so. */
export const noteSchema = z.strictObject({ spent: costSchema });
export type Note = z.output<typeof noteSchema>;

/** Why a row failed, as the worker threw it. */
export const failureSchema = z.strictObject({
  error: z.strictObject({
    name: z.string(),
    message: z.string(),
    stack: z.string().optional(),
    code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(ERROR_CATALOGUE, code)).optional(),
    values: z.record(z.string(), z.string()).optional(),
  }),
  note: noteSchema,
});

const callSchema = z.looseObject({ id: z.string(), name: z.string(), arguments: z.record(z.string(), z.json()) });
const said = z.string().nullable();

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
  messages: z.array(
    z.discriminatedUnion('role', [
      z.looseObject({ role: z.literal('system'), content: z.string() }),
      z.looseObject({ role: z.literal('user'), content: z.string() }),
      z.looseObject({ role: z.literal('assistant'), content: said, toolCalls: z.array(callSchema).optional() }),
      z.looseObject({ role: z.literal('tool'), toolCallId: z.string(), name: z.string(), content: z.string() }),
    ]),
  ),
  steps: z.array(
    z.looseObject({
      message: count,
      action: z.looseObject({ content: said }),
      predictions: z.array(z.looseObject({ backend: z.string(), cost: costSchema })),
      reward: z.number(),
      stateHash: z.string(),
    }),
  ),
  verdict: z.looseObject({
    reward: z.number().nullable(),
    checks: z.array(z.looseObject({ name: z.string(), passed: z.boolean().nullable() })),
  }),
  return: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  weight: z.number(),
  cost: costSchema,
});

export interface JobFacts {
  /** Tasks that were made for the job. */
  readonly tasks: readonly ToolsTask[];
  readonly withheld: string | undefined;
  readonly versions: JobDescription['versions'];
}

/** A scenario of somebody else's must not say whom a worker asks, or which program it starts. @throws QUEUE_REFUSED */
export function requireNoServer({ config }: ToolsScenario): void {
  const key = serverKeyOf(config.domain);
  if (key === undefined) return;
  const problem = 'workers of a queue ask no servers, and start no programs, that a scenario names';
  throw queueUnsuited(`domain.${key}`, problem);
}

/** @throws QUEUE_REFUSED */
export function describedJob(
  { scenario, seed, out, device }: Pick<JobContext<ToolsScenario>, 'scenario' | 'seed' | 'out' | 'device'>,
  { tasks, withheld, versions: who }: JobFacts,
): JobDescription {
  requireNoServer(scenario);
  if (device !== undefined) {
    const problem =
      'workers of a queue compute on their processors, and two devices round in two ways: use --device cpu';
    throw queueUnsuited(`--device ${device.kind}`, problem);
  }
  const { config, hash, folder } = scenario;
  const path = relative(packageRoot(), folder);
  const isInside = !isAbsolute(path) && path.split(sep)[0] !== '..';
  return {
    ...{
      format: 'reverie rollouts 1',
      run: contentHash([hostname(), out]),
      reverie: versions().reverie,
      seed,
      scenario: hash,
    },
    folder: isInside ? { base: 'package', path: path.split(sep).join('/') } : { base: 'root', path: folder },
    // What may be spent, and how much at once, is the coordinator's business.
    config: jsonOf({ ...config, workers: 0, synth: { ...config.synth, budget: {} } }),
    tasks: jsonOf([...tasks]),
    withheld: withheld ?? null,
    versions: who,
  };
}

/** The scenario's folder on this machine. */
export function folderHere({ folder: { base, path } }: JobDescription): string {
  return base === 'package' ? join(packageRoot(), path) : path;
}

/** SHA-256, 64 hex digits. */
export function jobIdOf(description: JobDescription): string {
  return contentHash(description);
}

/** @throws QUEUE_REFUSED, also of a description that is not the one its id says */
export async function openDescription(job: string, bytes: Uint8Array): Promise<JobDescription> {
  const what = `the description of job ${job}`;
  const description = await openParcel(bytes, jobDescriptionSchema, what);
  if (jobIdOf(description) === job) return description;
  throw strayMessage(what, 'it does not match its id');
}

/** As it will be where it arrives. */
function jsonOf<T>(value: unknown): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
