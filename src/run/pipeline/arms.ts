// Several training runs side by side, a thread each: the ways ("arms") of training that a comparison is made of.
// Each run lies in a folder of its own, so a comparison that was stopped goes on run by run, exactly.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { WorkerPool } from '../../core/pool.js';
import type { PoolTask } from '../../core/pool-task.js';
import { trainEveryArm } from '../../training/warm-start.js';
import { interrupted, type JobContext } from '../job.js';
import { type MetricsEvent, readMetrics } from '../metrics.js';
import type { Phase } from '../progress.js';
import { METRICS_FILE } from '../run-folder.js';
import type { AnyScenario, Scenario } from '../scenario.js';
import type { ArmReply } from './arm-run.js';
import type { ArmNote, ArmTask } from './arm-thread.js';

export interface Arm<S extends AnyScenario = Scenario> {
  readonly name: string;
  readonly scenario: S;
}

/** One finished run of an arm, with what it answered. */
export type ArmRun<R = ArmReply> = R & {
  readonly arm: string;
  readonly seed: number;
  readonly events: readonly MetricsEvent[];
};

export interface ArmOptions<S extends AnyScenario, R> {
  readonly seeds: readonly number[];
  /** Runs side by side; each dreams and fits in its own thread. */
  readonly threads: number;
  /** A whole run. */
  readonly task: PoolTask<ArmTask<S>, R>;
  /** What its bar counts. */
  readonly unit: string;
}

type Options<S extends AnyScenario, R> = Pick<ArmOptions<S, R>, 'task' | 'unit'>;

/** Trains every arm with every seed. Runs that are finished already are not run again. */
export async function trainArms<S extends AnyScenario, R extends object>(
  arms: readonly Arm<S>[],
  options: ArmOptions<S, R>,
  context: JobContext<S>,
): Promise<ArmRun<R>[]> {
  // A run whose thread died is not begun again behind the user's back: `--resume` goes on with it.
  // A whole training has the memory that it would have as a process of its own.
  const resourceLimits = { maxOldGenerationSizeMb: Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20) };
  const pool = new WorkerPool({ workers: options.threads, attempts: 1, resourceLimits });
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const train = (arm: Arm<S>, seed: number) => runTask(pool, taskOf(arm, seed, context), options, context, signal);
  try {
    return await trainEveryArm({ arms, ...options, train, giveUp: () => failed.abort() });
  } catch (error) {
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await pool.close();
  }
}

function taskOf<S extends AnyScenario>(arm: Arm<S>, seed: number, { out, resume }: JobContext<S>): ArmTask<S> {
  const folder = join(out, 'runs', `${arm.name.replaceAll(/[^a-z0-9]+/gi, '-')}-seed-${seed}`);
  return { arm: arm.name, seed, scenario: arm.scenario, out: folder, resume };
}

async function runTask<S extends AnyScenario, R extends object>(
  pool: WorkerPool,
  task: ArmTask<S>,
  options: Options<S, R>,
  context: JobContext<S>,
  signal: AbortSignal,
): Promise<ArmRun<R>> {
  const reply = finishedReply<R>(task) ?? (await runInThread(pool, task, options, context, signal));
  return { ...reply, arm: task.arm, seed: task.seed, events: readMetrics(join(task.out, METRICS_FILE)) };
}

function finishedReply<R>({ out, resume }: Pick<ArmTask, 'out' | 'resume'>): R | undefined {
  const file = join(out, 'result.json');
  return resume && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as R) : undefined;
}

async function runInThread<S extends AnyScenario, R>(
  pool: WorkerPool,
  given: ArmTask<S>,
  { task, unit }: Options<S, R>,
  context: JobContext<S>,
  signal: AbortSignal,
): Promise<R> {
  const label = `${given.arm}, seed ${given.seed}`;
  const board = new ArmBoard(label, unit, context.progress);
  const onReport = (note: unknown) => board.show(note as ArmNote);
  const reply = await pool.run(task, () => given, { signal, onReport, label });
  board.end();
  return reply;
}

/** The run's one bar on this side. */
class ArmBoard {
  private phase: Phase | undefined;
  private note = '';

  constructor(
    private readonly label: string,
    private readonly unit: string,
    private readonly progress: JobContext['progress'],
  ) {}

  show({ done, total, note }: ArmNote): void {
    this.phase ??= this.progress.phase(this.label, total, this.unit);
    this.note = note;
    this.phase.set(done, note);
  }

  end(): void {
    this.phase?.end(this.note);
  }
}
