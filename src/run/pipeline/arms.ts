// Several training runs side by side, a thread each: the ways ("arms") of training that a comparison is made of.
// Each run lies in a folder of its own, so a comparison that was stopped goes on run by run, exactly.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { trainEveryArm } from '../../algorithms/index.js';
import { WorkerPool } from '../../pool/index.js';
import { interrupted, type JobContext, type TrainResult } from '../job.js';
import { type MetricsEvent, readMetrics } from '../metrics.js';
import type { Phase } from '../progress.js';
import { METRICS_FILE } from '../run-folder.js';
import type { Scenario } from '../scenario.js';
import { type ArmNote, type ArmReply, type ArmTask, armTask } from './arm-run.js';

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

/** Trains every arm with every seed. Runs that are finished already are not run again. */
export async function trainArms(arms: readonly Arm[], options: ArmOptions, context: JobContext): Promise<ArmRun[]> {
  // A run whose thread died is not begun again behind the user's back: `--resume` goes on with it.
  const pool = new WorkerPool({ workers: options.threads, attempts: 1 });
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const train = (arm: Arm, seed: number) => runTask(pool, taskOf(arm, seed, options, context), context, signal);
  try {
    return await trainEveryArm({ arms, ...options, train, giveUp: () => failed.abort() });
  } catch (error) {
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await pool.close();
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

async function runTask(pool: WorkerPool, task: ArmTask, context: JobContext, signal: AbortSignal): Promise<ArmRun> {
  const reply = finishedReply(task) ?? (await runInThread(pool, task, context, signal));
  const { result, finalReturns } = reply;
  return { arm: task.arm, seed: task.seed, result, finalReturns, events: readMetrics(join(task.out, METRICS_FILE)) };
}

function finishedReply(task: ArmTask): ArmReply | undefined {
  const file = join(task.out, 'result.json');
  return task.resume && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ArmReply) : undefined;
}

async function runInThread(
  pool: WorkerPool,
  task: ArmTask,
  context: JobContext,
  signal: AbortSignal,
): Promise<ArmReply> {
  const board = new ArmBoard(task, context);
  const onReport = (note: unknown) => board.show(note as ArmNote);
  const reply = await pool.run(armTask, () => task, { signal, onReport, label: `${task.arm}, seed ${task.seed}` });
  board.end();
  return reply;
}

/** The run's one bar on this side. */
class ArmBoard {
  private phase: Phase | undefined;
  private note = '';

  constructor(
    private readonly task: ArmTask,
    private readonly context: JobContext,
  ) {}

  show({ done, total, note }: ArmNote): void {
    const { arm, seed } = this.task;
    this.phase ??= this.context.progress.phase(`${arm}, seed ${seed}`, total, 'real steps');
    this.note = note;
    this.phase.set(done, note);
  }

  end(): void {
    this.phase?.end(this.note);
  }
}
