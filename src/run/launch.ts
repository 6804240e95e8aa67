// Runs one job in a run's folder: makes or reopens the folder, gives the job its context, and records how it ended.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ReverieError, reverieError } from '../core/errors.js';
import { lockFolder } from '../core/files.js';
import type { Report } from '../core/report.js';
import { isToolsScenario, wrongFamily } from '../kinds/registry.js';
import { sameDevice, settleDevice } from './device.js';
import { quoted } from './format.js';
import { listenForInterrupt, RunInterrupted } from './interrupt.js';
import { closedOnFailure, type DeviceFlags, type JobContext, type JobInputs, type JobResult } from './job.js';
import { type Jobs, jobFor, requireUsed } from './jobs.js';
import { MetricsWriter } from './metrics.js';
import { makeProgress } from './progress.js';
import { parseQueueUrl, queueUnsuited } from './queue/redis-queue.js';
import {
  createRun,
  METRICS_FILE,
  type RunRecord,
  resumableRun,
  savedScenario,
  writeResult,
  writeRunRecord,
} from './run-folder.js';
import { type AnyScenario, adjustScenario, loadAnyScenario, type ScenarioOptions } from './scenario.js';
import { versions } from './versions.js';

export interface LaunchOptions<R extends JobResult = JobResult> extends ScenarioOptions, DeviceFlags {
  /** Name of a built-in scenario, or path; without it, the one saved with an input is used. */
  readonly scenario?: string;
  readonly inputs?: JobInputs;
  /** Folder of the new run; by default a new one under runs/. */
  readonly out?: string;
  /** Folder of an unfinished run to resume; excludes everything above but `workers`. */
  readonly resume?: string;
  /** URL of the queue by which workers run the job's rows; may be another, or none, when a run is resumed. */
  readonly queue?: string;
  /** Run rules of domains as ordinary code, without their sandbox. */
  readonly trustRules?: boolean;
  readonly quiet?: boolean;
  /** Where progress goes. */
  readonly stream: NodeJS.WriteStream;
  /** The command line, for the record. */
  readonly command: string;
  /** Given what the job has to show to people. */
  readonly onReport?: (report: Report) => void;
  /** Ways to do the job, by kind of world; those of the table unless given. */
  readonly jobs?: Jobs<R>;
}

/**
 * Runs `job` and answers its result, which is then also in `result.json` of the run's folder.
 * @throws RunInterrupted after Ctrl-C, once the job has reached a safe point
 */
export async function launch<R extends JobResult>(name: string, options: LaunchOptions<R>): Promise<R> {
  const prepare = options.resume === undefined ? begun : reopened;
  const { scenario, out, record, place, unlock } = await prepare(name, options);
  const progress = makeProgress({ stream: options.stream, quiet: options.quiet });
  const log = (line: string) => progress.log(line);
  const interrupt = listenForInterrupt({
    onFirst: () => log('Stopping at the next safe point. Press Ctrl-C again to stop at once.'),
    onSecond: () => progress.close(),
  });
  const ended = (status: RunRecord['status']) =>
    writeRunRecord(out, { ...record, status, endedAt: new Date().toISOString() });
  let metrics: MetricsWriter | undefined;
  try {
    metrics = new MetricsWriter(join(out, METRICS_FILE));
    if (place.remark !== undefined) log(place.remark);
    if (options.trustRules) {
      // For the rest of the process.
      (await import('../env/tools/sandbox/sandbox.js')).trustRules();
      log('Rules run as ordinary code of this process, without a sandbox: they can reach and hold up all that it can.');
    }
    const run = await jobFor(name, scenario, options.jobs);
    const { seed, workers } = scenario.config;
    const isAutoWorkers = workers === 'auto';
    const context: JobContext<AnyScenario> = {
      ...{ scenario, seed, workers: isAutoWorkers ? 0 : workers, isAutoWorkers, device: place.device, out },
      ...{ inputs: record.inputs, resume: options.resume !== undefined, signal: interrupt.signal },
      ...{ progress, metrics, log, queue: options.queue, command: record.command },
      show: (report) => options.onReport?.(report),
    };
    const result = await run(context);
    await writeResult(out, result);
    await ended('finished');
    return result;
  } catch (error) {
    // What is thrown once the run was asked to stop is the stop: everything is on disk.
    const isStopped = interrupt.signal.aborted;
    await ended(isStopped ? 'interrupted' : 'failed').catch(() => undefined);
    if (isStopped) throw new RunInterrupted(name, out);
    // What a server failed, or an environment, is not done again once it is well.
    if (error instanceof ReverieError && ('retryable' in error.values || existsSync(join(out, 'checkpoint'))))
      error.hint += ` The run keeps what it has; go on with: reverie ${name} --resume ${quoted(out)}`;
    throw error;
  } finally {
    unlock();
    interrupt.dispose();
    metrics?.close();
    progress.close();
  }
}

async function begun(name: string, options: LaunchOptions) {
  const inputs = await checkedInputs(options.inputs ?? {});
  const scenario = await chosenScenario(options, inputs);
  // Refused before a folder is made.
  await jobFor(name, scenario, options.jobs);
  requireUsed(name, scenario, inputs);
  if (options.queue !== undefined) requireQueueable(options.queue, scenario);
  // Workers of a queue answer by their processors, so by itself a device is not taken then.
  const isQueued = options.queue !== undefined && options.device === undefined;
  const place = await settleDevice(isQueued ? { ...options, device: 'cpu' } : options, name, scenario, inputs);
  const startedAt = new Date();
  if (options.out === '') throw reverieError('FLAG_INVALID', { flag: '--out', value: '', expected: 'a folder' });
  // `20261121-120435-123`, so that folders sort by age, and runs that start together have one each.
  const stamp = startedAt.toISOString().slice(0, 23).replaceAll(/[-:]/g, '').replace(/[T.]/g, '-');
  const out = resolve(options.out ?? join('runs', `${scenario.config.name}-${name}-${stamp}`));
  const record: RunRecord = {
    ...{ job: name, status: 'running', seed: scenario.config.seed, inputs },
    ...{ command: options.command, versions: versions() },
    ...(place.device && { device: place.device as RunRecord['device'] }),
    startedAt: startedAt.toISOString(),
  };
  return { scenario, out, record, place, unlock: await createRun(out, record, scenario) };
}

async function reopened(name: string, options: LaunchOptions) {
  const out = resolve(options.resume!);
  const { record, scenario } = await resumableRun(out, name);
  const adjusted = await adjustScenario(scenario, { workers: options.workers });
  if (options.queue !== undefined) requireQueueable(options.queue, adjusted);
  const place = await sameDevice(record.device);
  const unlock = lockFolder(out);
  return closedOnFailure({ close: unlock }, async () => {
    // Once more, now that no other process can end it.
    await resumableRun(out, name);
    await writeRunRecord(out, { ...record, status: 'running' });
    return { scenario: adjusted, out, record, place, unlock };
  });
}

async function chosenScenario(options: LaunchOptions, inputs: JobInputs): Promise<AnyScenario> {
  if (options.scenario !== undefined) return loadAnyScenario(options.scenario, options);
  const source = inputs.checkpoint ?? inputs.model ?? inputs.data ?? inputs.episodes;
  const saved = source === undefined ? undefined : await savedScenario(source);
  if (saved !== undefined) return adjustScenario(saved, options);
  const expected = 'a name or path, as no folder given has one saved';
  throw reverieError('FLAG_INVALID', { flag: 'The scenario', value: '', expected });
}

/** Paths become absolute. @throws INPUT_NEEDED */
async function checkedInputs({ failUnder, tasks, ...folders }: JobInputs): Promise<JobInputs> {
  const path = async (input: string, given: string) => {
    await (await import('./pipeline/inputs.js')).recoverCheckpoint(given);
    if (existsSync(given)) return resolve(given);
    throw reverieError('INPUT_NEEDED', {
      problem: `There is nothing at "${given}" (--${input}).`,
      hint: 'Give the folder of a run, or of what it made.',
    });
  };
  const found: Record<string, string | string[]> = {};
  for (const [input, given] of Object.entries(folders) as [string, string | readonly string[] | undefined][]) {
    if (typeof given === 'string') found[input] = await path(input, given);
    else if (given !== undefined) found[input] = await Promise.all(given.map((one) => path(input, one)));
  }
  return { ...found, ...(failUnder && { failUnder }), ...(tasks && { tasks }) };
}

/** Asked before anything is made. @throws QUEUE_REFUSED, SCENARIO_UNFIT naming the setting that stands against it */
function requireQueueable(url: string, scenario: AnyScenario): void {
  parseQueueUrl(url);
  const { family, config } = scenario;
  if (!isToolsScenario(scenario)) throw wrongFamily(config.name, family, 'tools');
  if (config.plugins !== undefined)
    throw queueUnsuited('plugins', "workers of a queue run no modules of others' scenarios");
  const { experience, model } = scenario.config;
  if (experience.enrich === 'never' || model.llm.retrieval.sources !== 'both') return;
  throw queueUnsuited(
    `model.llm.retrieval.sources=both with experience.enrich=${experience.enrich}`,
    'what earlier rows simulated would have to be with every worker before a later row begins',
  );
}
