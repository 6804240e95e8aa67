// Runs one job in a run's folder: makes or reopens the folder, gives the job its context, and records how it ended.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ReverieError, reverieError } from '../core/errors.js';
import { lockFolder } from '../core/files.js';
import { kinds } from '../kinds/registry.js';
import { parseQueueUrl } from '../synth/queue/queue-url.js';
import { type SettledDevice, sameDevice, settleDevice } from './device-choice.js';
import type { DeviceFlags } from './device-flags.js';
import { listenForInterrupt, RunInterrupted } from './interrupt.js';
import { type JobContext, type JobInputs, JobInterrupted, type JobResult } from './job.js';
import { type Jobs, jobFor } from './jobs.js';
import { MetricsWriter } from './metrics.js';
import { makeProgress, type Progress } from './progress.js';
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
  /** Folder of an unfinished run to go on with; excludes everything above but `workers`. */
  readonly resume?: string;
  /** URL of the queue that the job's rows are lived over; may be another, or none, when a run goes on. */
  readonly queue?: string;
  /** Run rules of domains as ordinary code, without their sandbox. */
  readonly trustRules?: boolean;
  readonly quiet?: boolean;
  /** Where progress goes. */
  readonly stream: NodeJS.WriteStream;
  /** The command line, for the record. */
  readonly command: string;
  /** Ways to do the job, by kind of world; those that the kinds have, unless given. */
  readonly jobs?: Jobs<R>;
}

interface Prepared {
  readonly scenario: AnyScenario;
  readonly out: string;
  readonly inputs: JobInputs;
  readonly record: RunRecord;
  readonly place: SettledDevice;
  readonly unlock: () => void;
}

/**
 * Runs `job` and answers its result, which is then also in `result.json` of the run's folder.
 * @throws RunInterrupted after Ctrl-C, once the job has reached a safe point
 */
export async function launch<R extends JobResult>(name: string, options: LaunchOptions<R>): Promise<R> {
  const prepared =
    options.resume === undefined ? await begun(name, options) : await reopened(name, options.resume, options);
  const progress = makeProgress({ stream: options.stream, quiet: options.quiet });
  const metrics = openMetrics(prepared);
  const interrupt = listenForInterrupt({
    onFirst: () => progress.log('Stopping at the next safe point. Press Ctrl-C again to stop at once.'),
    onSecond: () => progress.close(),
  });
  if (prepared.place.remark !== undefined) progress.log(prepared.place.remark);
  try {
    if (options.trustRules) await trustRulesAloud((line) => progress.log(line));
    const run = await jobFor(name, prepared.scenario, options.jobs);
    const result = await run(contextOf(prepared, options, progress, metrics, interrupt.signal));
    await writeResult(prepared.out, result);
    await ended(prepared, 'finished');
    return result;
  } catch (error) {
    const stopped =
      error instanceof JobInterrupted || (interrupt.signal.aborted && (error as Error).name === 'AbortError');
    await ended(prepared, stopped ? 'interrupted' : 'failed').catch(() => undefined);
    if (stopped) throw new RunInterrupted(name, prepared.out);
    addResume(error, name, prepared.out);
    throw error;
  } finally {
    prepared.unlock();
    interrupt.dispose();
    metrics.close();
    progress.close();
  }
}

/** What a server failed is not done again once it is well. */
function addResume(error: unknown, name: string, out: string): void {
  if (!(error instanceof ReverieError) || !('retryable' in error.values)) return;
  error.hint += ` The run keeps what it has; go on with: reverie ${name} --resume ${out}`;
}

/** For the rest of the process. */
async function trustRulesAloud(log: (line: string) => void): Promise<void> {
  // Loaded where it is asked for: most jobs have no rules.
  const { trustRules } = await import('../env/tools/sandbox/trusted-sandbox.js');
  trustRules();
  log('Rules run as ordinary code of this process, without their sandbox: they can reach and hold up all that it can.');
}

function openMetrics({ out, unlock }: Prepared): MetricsWriter {
  try {
    return new MetricsWriter(join(out, METRICS_FILE));
  } catch (error) {
    unlock();
    throw error;
  }
}

async function begun(name: string, options: LaunchOptions): Promise<Prepared> {
  const inputs = checkedInputs(options.inputs ?? {});
  const scenario = await chosenScenario(options, inputs);
  // Refused before a folder is made.
  await jobFor(name, scenario, options.jobs);
  if (options.queue !== undefined) requireQueueable(options.queue, scenario);
  // Workers of a queue answer by their processors, so by itself a device is not taken then.
  const isQueued = options.queue !== undefined && options.device === undefined;
  const place = await settleDevice(isQueued ? { ...options, device: 'cpu' } : options, name, scenario, inputs);
  const startedAt = new Date();
  if (options.out === '') throw reverieError('FLAG_INVALID', { flag: '--out', value: '', expected: 'a folder' });
  const out = resolve(options.out ?? join('runs', `${scenario.config.name}-${name}-${stamp(startedAt)}`));
  const record: RunRecord = {
    job: name,
    status: 'running',
    seed: scenario.config.seed,
    inputs,
    command: options.command,
    versions: versions(),
    ...(place.device && { device: place.device }),
    startedAt: startedAt.toISOString(),
  };
  return { scenario, out, inputs, record, place, unlock: await createRun(out, record, scenario) };
}

async function reopened(name: string, folder: string, options: LaunchOptions): Promise<Prepared> {
  const out = resolve(folder);
  const { record, scenario, inputs } = await resumableRun(out, name);
  const adjusted = await adjustScenario(scenario, { workers: options.workers });
  if (options.queue !== undefined) requireQueueable(options.queue, adjusted);
  const place = await sameDevice(record.device);
  const unlock = lockFolder(out);
  try {
    // Once more, now that nobody else can end it.
    await resumableRun(out, name);
    await writeRunRecord(out, { ...record, status: 'running' });
    return { scenario: adjusted, out, inputs, record, place, unlock };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function chosenScenario(options: LaunchOptions, inputs: JobInputs): Promise<AnyScenario> {
  if (options.scenario !== undefined) return loadAnyScenario(options.scenario, options);
  const source = inputs.checkpoint ?? inputs.model ?? inputs.data ?? inputs.episodes;
  const saved = source === undefined ? undefined : await savedScenario(source);
  if (saved === undefined) {
    throw reverieError('FLAG_INVALID', {
      flag: 'The scenario',
      value: '',
      expected: 'a name or path, as no folder given has one saved',
    });
  }
  return adjustScenario(saved, options);
}

function checkedInputs(inputs: JobInputs): JobInputs {
  const { compare, url, failUnder, panel, ...folders } = inputs;
  const found = Object.entries(folders).filter(([, path]) => path !== undefined);
  const others = {
    ...(compare && { compare: compare.map((given) => checkedSource('compare', given)) }),
    url,
    failUnder,
    panel: panel !== undefined && existsSync(panel) ? resolve(panel) : panel,
  };
  return {
    ...Object.fromEntries(found.map(([input, path]) => [input, checkedPath(input, path)])),
    ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
  };
}

/** A folder, or the URL of a server. */
function checkedSource(input: string, given: string): string {
  return /^https?:/.test(given) ? given : checkedPath(input, given);
}

function checkedPath(input: string, path: string): string {
  if (!existsSync(path))
    throw reverieError('INPUT_NEEDED', {
      problem: `There is nothing at "${path}" (--${input}).`,
      hint: 'Give the folder of a run, or of what it made.',
    });
  return resolve(path);
}

function contextOf(
  { scenario, out, inputs, place, record }: Prepared,
  options: LaunchOptions,
  progress: Progress,
  metrics: MetricsWriter,
  signal: AbortSignal,
): JobContext<AnyScenario> {
  const { seed, workers: asked } = scenario.config;
  const isAutoWorkers = asked === 'auto';
  const workers = isAutoWorkers ? 0 : asked;
  const log = (line: string) => progress.log(line);
  const { queue } = options;
  const resume = options.resume !== undefined;
  const { device } = place;
  const { command } = record;
  return {
    ...{ scenario, seed, workers, isAutoWorkers, device, out, inputs, resume, signal, progress, metrics, log, queue },
    command,
  };
}

async function ended({ out, record }: Prepared, status: RunRecord['status']): Promise<void> {
  await writeRunRecord(out, { ...record, status, endedAt: new Date().toISOString() });
}

/** `20261121-120435`, so that folders sort by age. */
function stamp(date: Date): string {
  return date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
}

// Whether a run can be spread over a queue at all; asked before anything is made.

const PLUGINS_AT_HOME = { setting: 'plugins', problem: "workers of a queue run no modules of others' scenarios" };

/** @throws QUEUE_REFUSED, SCENARIO_UNFIT, QUEUE_UNSUITED naming the setting that stands against it */
function requireQueueable(url: string, { family, config }: AnyScenario): void {
  parseQueueUrl(url);
  const { queue } = kinds.get(family);
  if (queue === undefined) {
    const able = kinds.list().filter((kind) => kind.queue !== undefined);
    const wanted = able.map(({ name }) => name).join(' or ');
    throw reverieError('SCENARIO_UNFIT', {
      problem: `Scenario "${config.name}" is of family ${family}; this is for scenarios of family ${wanted}.`,
      hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
    });
  }
  const problem = config.plugins === undefined ? queue(config as never) : PLUGINS_AT_HOME;
  if (problem !== undefined) throw reverieError('QUEUE_UNSUITED', problem);
}
