// One run of a comparison as a task for worker threads: a whole training run, then the final evaluation of what it learned.

import { join } from 'node:path';
import { poolTask } from '../../core/pool-task.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { loadLearner } from '../../rl/checkpoint.js';
import { judgePolicy } from '../../training/warm-start.js';
import type { TrainResult } from '../job.js';
import { type ArmTask, runArm } from './arm-thread.js';
import { agentOf } from './given-parts.js';
import { trainJob } from './train.js';

export interface ArmReply {
  readonly result: TrainResult;
  /** Returns of the trained policy's final real episodes. */
  readonly finalReturns: readonly number[];
}

export const armTask = poolTask(import.meta.url, 'armTask', (task: ArmTask, context): Promise<ArmReply> => {
  const bar = { isBar: (name: string) => name.startsWith('train') };
  return runArm(task, context, bar, async (job) => {
    const result = await trainJob(job);
    return { result, finalReturns: await judge(task, result.checkpoint) };
  });
});

async function judge({ seed, scenario }: ArmTask, checkpoint: string): Promise<number[]> {
  const { config, folder } = scenario;
  const { learner } = await loadLearner(join(checkpoint, 'learner'));
  const agent = await agentOf(learner, join(checkpoint, 'learner'));
  const env = await makeEnvironment(config.env, { folder });
  const { finalEpisodes: episodes } = config.quickstart;
  try {
    return await judgePolicy(env, agent.policy, { seed, episodes, deterministic: config.eval.deterministic });
  } finally {
    await agent.close();
    await learner.close();
    await env.close();
  }
}
