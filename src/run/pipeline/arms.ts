// Several training runs side by side, a thread each: the ways ("arms") of training that a comparison is made of. Each run lies in a folder
// of its own, with a journal of its own, so a comparison that was stopped resumes run by run, exactly.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { writeFileAtomic } from '../../core/files.js';
import { WorkerPool } from '../../core/pool.js';
import { type PoolTask, poolTask, type TaskContext } from '../../core/pool-task.js';
import type { Phase } from '../../core/progress.js';
import { signalOf } from '../../core/threads.js';
import { makeEnvironment } from '../../env/environments.js';
import { judgePolicy, trainEveryArm } from '../../training/warm-start.js';
import type { JobContext } from '../job.js';
import { type MetricsEvent, MetricsWriter, readMetrics } from '../metrics.js';
import { type Progress, silentPhase } from '../progress.js';
import { METRICS_FILE, RESULT_FILE } from '../run-folder.js';
import { type AnyScenario, reviveScenario, type Scenario, type ToolsScenario } from '../scenario.js';
import { agentFor } from './inputs.js';
import type { TextTrainResult } from './tools/train-policy.js';
import type { TrainResult } from './train.js';

export interface Arm<S extends AnyScenario = Scenario> {
  readonly name: string;
  readonly scenario: S;
}

interface ArmReply {
  readonly result: TrainResult;
  /** Returns of the trained policy's final real episodes. */
  readonly finalReturns: readonly number[];
}

export interface TextArmReply {
  readonly result: TextTrainResult;
}

/** One finished run of an arm, with what it answered. */
export type ArmRun<R = ArmReply> = R & {
  readonly arm: string;
  readonly seed: number;
  readonly events: readonly MetricsEvent[];
};

interface ArmOptions<S extends AnyScenario, R> {
  readonly seeds: readonly number[];
  /** Runs side by side; each simulates and fits in its own thread. */
  readonly threads: number;
  /** A whole run. */
  readonly task: PoolTask<ArmTask<S>, R>;
  /** What its bar counts. */
  readonly unit: string;
}

interface ArmTask<S extends AnyScenario = Scenario> {
  readonly seed: number;
  readonly scenario: S;
  readonly out: string;
  readonly resume: boolean;
}

/** How far a run is, reported now and then. */
interface ArmNote {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

/** Trains every arm with every seed. Runs that are finished already are not run again. */
export async function trainArms<S extends AnyScenario, R extends object>(
  arms: readonly Arm<S>[],
  options: ArmOptions<S, R>,
  { out, resume, signal: stop, progress }: JobContext<S>,
): Promise<ArmRun<R>[]> {
  // A run whose thread died is not begun again behind the user's back: `--resume` continues it.
  // A whole training has the memory that it would have as a process of its own.
  const resourceLimits = { maxOldGenerationSizeMb: Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20) };
  const pool = new WorkerPool({ workers: options.threads, attempts: 1, resourceLimits });
  const failed = new AbortController();
  const signal = AbortSignal.any([stop, failed.signal]);
  const train = async ({ name: arm, scenario }: Arm<S>, seed: number): Promise<ArmRun<R>> => {
    const folder = join(out, 'runs', `${arm.replaceAll(/[^a-z0-9]+/gi, '-')}-seed-${seed}`);
    const file = join(folder, RESULT_FILE);
    const isFinished = resume && existsSync(file);
    const reply = isFinished
      ? (JSON.parse(readFileSync(file, 'utf8')) as R)
      : await runInThread(`${arm}, seed ${seed}`, { seed, scenario, out: folder, resume });
    return { ...reply, arm, seed, events: readMetrics(join(folder, METRICS_FILE)) };
  };
  const runInThread = async (label: string, task: ArmTask<S>): Promise<R> => {
    let bar: Phase | undefined;
    let last = '';
    const onReport = (told: unknown) => {
      const { done, total, note } = told as ArmNote;
      bar ??= progress.phase(label, total, options.unit);
      last = note;
      bar.set(done, note);
    };
    const reply = await pool.run(options.task, () => task, { signal, onReport, label });
    bar?.end(last);
    return reply;
  };
  try {
    return await trainEveryArm({ arms, ...options, train, giveUp: () => failed.abort() });
  } finally {
    await pool.close();
  }
}

/** A whole training run, then the final evaluation of what it learned. */
export const armTask = poolTask(import.meta.url, 'armTask', (task: ArmTask, context): Promise<ArmReply> => {
  const { seed, scenario } = task;
  const { config, folder } = scenario;
  return runArm(task, context, async (job) => {
    const { trainJob } = await import('./train.js');
    const result = await trainJob(job);
    const env = await makeEnvironment(config.env, { folder });
    const agent = await agentFor(env, join(result.checkpoint, 'learner'));
    const { finalEpisodes: episodes } = config.quickstart;
    try {
      const { deterministic } = config.eval;
      return { result, finalReturns: await judgePolicy(env, agent.policy, { seed, episodes, deterministic }) };
    } finally {
      await agent.close();
      await env.close();
    }
  });
});

/** The same of an agent of text. */
export const textArmTask = poolTask(
  import.meta.url,
  'textArmTask',
  async (task: ArmTask<ToolsScenario>, context): Promise<TextArmReply> => {
    // A thread knows only the domains that it has loaded itself.
    await reviveScenario(task.scenario, `${task.scenario.config.name} (of a thread)`);
    const { trainPolicyJob } = await import('./tools/train-policy.js');
    return runArm(task, context, async (job) => ({ result: await trainPolicyJob(job) }));
  },
);

/** Runs `job` in this thread, and keeps what it answers as the result of the run's folder. */
async function runArm<S extends AnyScenario, R extends object>(
  { scenario, seed, out, resume }: ArmTask<S>,
  { stop, report }: TaskContext,
  job: (context: JobContext<S>) => Promise<R>,
): Promise<R> {
  mkdirSync(out, { recursive: true });
  const metrics = new MetricsWriter(join(out, METRICS_FILE));
  const { signal, done } = signalOf(stop);
  try {
    const reply = await job({
      ...{ scenario, seed, workers: 0, out, inputs: {}, resume, signal, progress: progressOf(report), metrics },
      ...{ log: () => {}, show: () => {} },
    });
    await writeFileAtomic(join(out, RESULT_FILE), `${JSON.stringify(reply, null, 2)}\n`);
    return reply;
  } finally {
    done();
    metrics.close();
  }
}

/** Only the bar of the training itself crosses the thread; all phases would drown it. */
function progressOf(report: (note: ArmNote) => void): Progress {
  return {
    phase: (name, total) => {
      if (!/^(train|rounds)/.test(name)) return silentPhase;
      let at = 0;
      const set = (done: number, note = '') => {
        at = done;
        report({ done, total: total ?? 0, note });
      };
      return { set, advance: (by = 1, note) => set(at + by, note), end: (note) => set(at, note) };
    },
    log() {},
    close() {},
  };
}
