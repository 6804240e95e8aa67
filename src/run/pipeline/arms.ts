// Several training runs side by side, a thread each: the ways ("arms") of training that a comparison is made of. Each run lies in a folder
// of its own, with a journal of its own, so a comparison that was stopped resumes run by run, exactly.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { writeFileAtomic } from '../../core/files.js';
import { WorkerPool } from '../../core/pool.js';
import { poolTask } from '../../core/pool-task.js';
import type { Phase } from '../../core/progress.js';
import { signalOf } from '../../core/threads.js';
import { makeEnvironment } from '../../env/environments.js';
import { judgePolicy, trainEveryArm } from '../../training/warm-start.js';
import type { JobContext } from '../job.js';
import { type MetricsEvent, MetricsWriter, readMetrics } from '../metrics.js';
import { type Progress, silentPhase } from '../progress.js';
import { METRICS_FILE, RESULT_FILE } from '../run-folder.js';
import type { Scenario } from '../scenario.js';
import { agentFor } from './inputs.js';
import type { TrainResult } from './train.js';

export interface Arm {
  readonly name: string;
  readonly scenario: Scenario;
}

interface ArmReply {
  readonly result: TrainResult;
  /** Returns of the trained policy's final real episodes. */
  readonly finalReturns: readonly number[];
}

/** One finished run of an arm, with what it answered. */
export interface ArmRun extends ArmReply {
  readonly arm: string;
  readonly seed: number;
  readonly events: readonly MetricsEvent[];
}

interface ArmTask {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly out: string;
  readonly resume: boolean;
}

/** How far a run is, reported now and then. */
interface ArmNote {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

/** Runs side by side, one a core of the smallest machine we expect; each simulates and fits in its own thread. */
const THREADS = 2;

/** Trains every arm with every seed. Runs that are finished already are not run again. */
export async function trainArms(
  arms: readonly Arm[],
  seeds: readonly number[],
  { out, resume, signal: stop, progress }: JobContext,
): Promise<ArmRun[]> {
  // A run whose thread died is not begun again behind the user's back: `--resume` continues it.
  // A whole training has the memory that it would have as a process of its own.
  const resourceLimits = { maxOldGenerationSizeMb: Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20) };
  const pool = new WorkerPool({ workers: THREADS, attempts: 1, resourceLimits });
  const failed = new AbortController();
  const signal = AbortSignal.any([stop, failed.signal]);
  const train = async ({ name: arm, scenario }: Arm, seed: number): Promise<ArmRun> => {
    const folder = join(out, 'runs', `${arm.replaceAll(/[^a-z0-9]+/gi, '-')}-seed-${seed}`);
    const file = join(folder, RESULT_FILE);
    const isFinished = resume && existsSync(file);
    const reply = isFinished
      ? (JSON.parse(readFileSync(file, 'utf8')) as ArmReply)
      : await runInThread(`${arm}, seed ${seed}`, { seed, scenario, out: folder, resume });
    return { ...reply, arm, seed, events: readMetrics(join(folder, METRICS_FILE)) };
  };
  const runInThread = async (label: string, task: ArmTask): Promise<ArmReply> => {
    let bar: Phase | undefined;
    let last = '';
    const onReport = (told: unknown) => {
      const { done, total, note } = told as ArmNote;
      bar ??= progress.phase(label, total, 'real steps');
      last = note;
      bar.set(done, note);
    };
    const reply = await pool.run(armTask, () => task, { signal, onReport, label });
    bar?.end(last);
    return reply;
  };
  try {
    return await trainEveryArm({ arms, seeds, threads: THREADS, train, giveUp: () => failed.abort() });
  } finally {
    await pool.close();
  }
}

/** A whole training run in this thread, then the final evaluation of what it learned; its folder keeps what it answers. */
export const armTask = poolTask(import.meta.url, 'armTask', async (task: ArmTask, { stop, report }) => {
  const { seed, scenario, out, resume } = task;
  const { config, folder } = scenario;
  const { trainJob } = await import('./train.js');
  mkdirSync(out, { recursive: true });
  const metrics = new MetricsWriter(join(out, METRICS_FILE));
  const { signal, done } = signalOf(stop);
  try {
    const result = await trainJob({
      ...{ scenario, seed, workers: 0, out, inputs: {}, resume, signal, progress: progressOf(report), metrics },
      ...{ log: () => {}, show: () => {} },
    });
    const env = await makeEnvironment(config.env, { folder });
    const judged = async () => {
      const agent = await agentFor(env, join(result.checkpoint, 'learner'));
      const { finalEpisodes: episodes } = config.quickstart;
      const options = { seed, episodes, deterministic: config.eval.deterministic };
      return judgePolicy(env, agent.policy, options).finally(() => agent.close());
    };
    const finalReturns = await judged().finally(() => env.close());
    const reply: ArmReply = { result, finalReturns };
    await writeFileAtomic(join(out, RESULT_FILE), `${JSON.stringify(reply, null, 2)}\n`);
    return reply;
  } finally {
    done();
    metrics.close();
  }
});

/** Only the bar of the training itself crosses the thread; all phases would drown it. */
function progressOf(report: (note: ArmNote) => void): Progress {
  return {
    phase: (name, total) => {
      if (!name.startsWith('train')) return silentPhase;
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
