// One run of a comparison of agents of text, as a task for worker threads: a whole training run.

import { poolTask } from '../../../core/pool-task.js';
import { reviveScenario, type ToolsScenario } from '../../scenario.js';
import type { TextTrainResult } from '../../tools-results.js';
import { type ArmTask, runArm } from '../arm-thread.js';
import { trainPolicyJob } from './train-policy.js';

export interface TextArmReply {
  readonly result: TextTrainResult;
}

export const textArmTask = poolTask(
  import.meta.url,
  'textArmTask',
  async (task: ArmTask<ToolsScenario>, context): Promise<TextArmReply> => {
    // A thread knows only the domains that it has loaded itself.
    await reviveScenario(task.scenario, `${task.scenario.config.name} (of a thread)`);
    const bar = { isBar: (name: string) => name === 'rounds', others: { total: task.scenario.config.train.rounds } };
    return runArm(task, context, bar, async (job) => ({ result: await trainPolicyJob(job) }));
  },
);
