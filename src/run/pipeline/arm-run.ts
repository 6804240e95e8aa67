// One run of a comparison as a task for worker threads: a whole training run, then the final evaluation of what it learned.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { judgePolicy } from '../../algorithms/index.js';
import { signalOf } from '../../core/stop-flag.js';
import { makeEnvironment } from '../../env/index.js';
import { poolTask } from '../../pool/index.js';
import { loadLearner } from '../../rl/index.js';
import { writeFileAtomic } from '../../store/atomic-file.js';
import type { JobContext, TrainResult } from '../job.js';
import { MetricsWriter } from '../metrics.js';
import type { Phase, Progress } from '../progress.js';
import { METRICS_FILE, RESULT_FILE } from '../run-folder.js';
import type { Scenario } from '../scenario.js';
import { agentOf } from './given-parts.js';
import { trainJob } from './train.js';

export interface ArmTask {
  readonly arm: string;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly out: string;
  readonly resume: boolean;
  readonly finalEpisodes: number;
}

/** How far a run is, reported now and then. */
export interface ArmNote {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

export interface ArmReply {
  readonly result: TrainResult;
  readonly finalReturns: readonly number[];
}

export const armTask = poolTask(
  import.meta.url,
  'armTask',
  async (task: ArmTask, { stop, report }): Promise<ArmReply> => {
    mkdirSync(task.out, { recursive: true });
    const metrics = new MetricsWriter(join(task.out, METRICS_FILE));
    const { signal, done } = signalOf(stop);
    try {
      const result = await trainJob(contextOf(task, metrics, reported(report), signal));
      const reply = { result, finalReturns: await judge(task, result.checkpoint) };
      await writeFileAtomic(join(task.out, RESULT_FILE), `${JSON.stringify(reply, null, 2)}\n`);
      return reply;
    } finally {
      done();
      metrics.close();
    }
  },
);

function contextOf(task: ArmTask, metrics: MetricsWriter, progress: Progress, signal: AbortSignal): JobContext {
  const { scenario, seed, out, resume } = task;
  return { scenario, seed, workers: 0, out, inputs: {}, resume, signal, progress, metrics, log: () => {} };
}

async function judge(task: ArmTask, checkpoint: string): Promise<number[]> {
  const { config, folder } = task.scenario;
  const { learner } = await loadLearner(join(checkpoint, 'learner'));
  const agent = await agentOf(learner, join(checkpoint, 'learner'));
  const env = await makeEnvironment(config.env, { folder });
  const { seed, finalEpisodes: episodes } = task;
  try {
    return await judgePolicy(env, agent.policy, { seed, episodes, deterministic: config.eval.deterministic });
  } finally {
    await agent.close();
    await learner.close();
    await env.close();
  }
}

/** Only the run's own bar crosses the thread; the phases within a round would drown it. */
function reported(report: (note: ArmNote) => void): Progress {
  const silent: Phase = { advance() {}, set() {}, end() {} };
  return {
    phase: (name, total) => {
      if (!name.startsWith('train')) return silent;
      let done = 0;
      const set = (now: number, note = '') => {
        done = now;
        report({ done, total: total ?? 0, note });
      };
      return { set, advance: (by = 1, note) => set(done + by, note), end: (note) => set(done, note) };
    },
    log() {},
    close() {},
  };
}
