// Several training runs side by side, a thread each: the ways ("arms") of training that a comparison is made of.
// Each run lies in a folder of its own, so a comparison that was stopped goes on run by run, exactly.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { trainEveryArm } from '../../algorithms/index.js';
import { type PackedError, unpackError } from '../../core/errors.js';
import { makeStopFlag, raise, type StopFlag } from '../../core/stop-flag.js';
import { compiledUrl } from '../../core/worker-url.js';
import { interrupted, type JobContext, type TrainResult } from '../job.js';
import { type MetricsEvent, readMetrics } from '../metrics.js';
import type { Phase } from '../progress.js';
import { METRICS_FILE } from '../run-folder.js';
import type { Scenario } from '../scenario.js';

export interface Arm {
  readonly name: string;
  readonly scenario: Scenario;
}

/** One finished run of an arm. */
export interface ArmRun {
  readonly arm: string;
  readonly seed: number;
  readonly result: TrainResult;
  /** Returns of the trained policy's final real episodes. */
  readonly finalReturns: readonly number[];
  readonly events: readonly MetricsEvent[];
}

export interface ArmOptions {
  readonly seeds: readonly number[];
  readonly finalEpisodes: number;
  /** Runs side by side; each dreams and fits in its own thread. */
  readonly threads: number;
}

export interface ArmTask {
  readonly arm: string;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly out: string;
  readonly resume: boolean;
  readonly finalEpisodes: number;
}

/** How far a run is, sent now and then. */
export interface ArmMessage {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

interface ArmReply {
  readonly result: TrainResult;
  readonly finalReturns: readonly number[];
}

/** What a thread answers: a failure crosses as data, so that its catalogue code survives. */
export type ArmOutcome =
  | { readonly kind: 'done'; readonly reply: ArmReply }
  | { readonly kind: 'failed'; readonly error: PackedError };

/** Trains every arm with every seed. Runs that are finished already are not run again. */
export async function trainArms(arms: readonly Arm[], options: ArmOptions, context: JobContext): Promise<ArmRun[]> {
  const pool = new Piscina({
    filename: compiledUrl(import.meta.url, './arm-worker.js'),
    minThreads: 1,
    maxThreads: options.threads,
    concurrentTasksPerWorker: 1,
  });
  const stop = makeStopFlag();
  const giveUp = () => raise(stop);
  if (context.signal.aborted) giveUp();
  context.signal.addEventListener('abort', giveUp);
  try {
    const train = (arm: Arm, seed: number) => runTask(pool, taskOf(arm, seed, options, context), context, stop);
    return await trainEveryArm({ arms, ...options, train, giveUp });
  } finally {
    context.signal.removeEventListener('abort', giveUp);
    await pool.destroy();
  }
}

function taskOf(arm: Arm, seed: number, options: ArmOptions, context: JobContext): ArmTask {
  const out = join(context.out, 'runs', `${arm.name.replaceAll(/[^a-z0-9]+/gi, '-')}-seed-${seed}`);
  return {
    arm: arm.name,
    seed,
    scenario: arm.scenario,
    out,
    resume: context.resume,
    finalEpisodes: options.finalEpisodes,
  };
}

async function runTask(pool: Piscina, task: ArmTask, context: JobContext, stop: StopFlag): Promise<ArmRun> {
  const reply = finishedReply(task) ?? (await runInThread(pool, task, context, stop));
  const { result, finalReturns } = reply;
  return { arm: task.arm, seed: task.seed, result, finalReturns, events: readMetrics(join(task.out, METRICS_FILE)) };
}

function finishedReply(task: ArmTask): ArmReply | undefined {
  const file = join(task.out, 'result.json');
  return task.resume && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ArmReply) : undefined;
}

async function runInThread(pool: Piscina, task: ArmTask, context: JobContext, stop: StopFlag): Promise<ArmReply> {
  const { port1: near, port2: far } = new MessageChannel();
  const board = new ArmBoard(task, context);
  near.on('message', (message: ArmMessage) => board.show(message));
  try {
    const outcome: ArmOutcome = await pool.run({ task, port: far, stop }, { transferList: [far] });
    if (context.signal.aborted) interrupted();
    if (outcome.kind === 'failed') throw unpackError(outcome.error);
    board.end();
    return outcome.reply;
  } finally {
    near.close();
  }
}

/** The run's one bar on this side. */
class ArmBoard {
  private phase: Phase | undefined;
  private note = '';

  constructor(
    private readonly task: ArmTask,
    private readonly context: JobContext,
  ) {}

  show({ done, total, note }: ArmMessage): void {
    const { arm, seed } = this.task;
    this.phase ??= this.context.progress.phase(`${arm}, seed ${seed}`, total, 'real steps');
    this.note = note;
    this.phase.set(done, note);
  }

  end(): void {
    this.phase?.end(this.note);
  }
}
