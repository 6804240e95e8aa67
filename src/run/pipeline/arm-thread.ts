// One run of a comparison, in a worker thread: it has a folder and a journal of its own, and tells only how far it is.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../../core/files.js';
import type { TaskContext } from '../../core/pool-task.js';
import { signalOf } from '../../core/threads.js';
import type { JobContext } from '../job.js';
import { MetricsWriter } from '../metrics.js';
import type { Phase, Progress } from '../progress.js';
import { METRICS_FILE, RESULT_FILE } from '../run-folder.js';
import type { AnyScenario, Scenario } from '../scenario.js';

export interface ArmTask<S extends AnyScenario = Scenario> {
  readonly arm: string;
  readonly seed: number;
  readonly scenario: S;
  readonly out: string;
  readonly resume: boolean;
}

/** How far a run is, reported now and then. */
export interface ArmNote {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

/** The run's own bar, by the name of its phase; `others`: phases beside it, which are told as its note where there is a total. */
export interface ArmBar {
  readonly isBar: (name: string) => boolean;
  readonly others?: { readonly total: number };
}

/** Runs `job`, and keeps what it answers as the result of the run's folder. */
export async function runArm<S extends AnyScenario, R extends object>(
  task: ArmTask<S>,
  { stop, report }: TaskContext,
  bar: ArmBar,
  job: (context: JobContext<S>) => Promise<R>,
): Promise<R> {
  mkdirSync(task.out, { recursive: true });
  const metrics = new MetricsWriter(join(task.out, METRICS_FILE));
  const { signal, done } = signalOf(stop);
  const { scenario, seed, out, resume } = task;
  const progress = toldOf(report, bar);
  try {
    const context = { scenario, seed, workers: 0, out, inputs: {}, resume, signal, progress, metrics, log: () => {} };
    const reply = await job(context);
    await writeFileAtomic(join(out, RESULT_FILE), `${JSON.stringify(reply, null, 2)}\n`);
    return reply;
  } finally {
    done();
    metrics.close();
  }
}

/** Only the run's own bar crosses the thread, and, where that is asked for, what it is at; all phases would drown it. */
function toldOf(report: (note: ArmNote) => void, { isBar, others }: ArmBar): Progress {
  const silent: Phase = { advance() {}, set() {}, end() {} };
  let now: ArmNote = { done: 0, total: others?.total ?? 0, note: '' };
  const tell = (note: ArmNote) => {
    now = note;
    report(now);
  };
  return {
    phase: (name, total) => {
      if (!isBar(name)) {
        if (others !== undefined) tell({ ...now, note: name });
        return silent;
      }
      const set = (done: number, note = '') => tell({ done, total: total ?? 0, note });
      return { set, advance: (by = 1, note) => set(now.done + by, note), end: (note) => set(now.done, note) };
    },
    log() {},
    close() {},
  };
}
