// POST /aggregate_metrics: mean rewards of rollouts, of all and of each task, under NeMo-Gym's names.

import { z } from 'zod';

const TASK = '_ng_task_index';

export const metricsBody = z.looseObject({
  verify_responses: z.array(z.looseObject({ reward: z.number(), [TASK]: z.number().optional() })),
});

export function aggregateMetrics({ verify_responses: rollouts }: z.infer<typeof metricsBody>) {
  const byTask = new Map<unknown, number[]>();
  for (const { reward, [TASK]: task } of rollouts) byTask.set(task, [...(byTask.get(task) ?? []), reward]);
  const all = { 'mean/reward': mean(rollouts.map(({ reward }) => reward)) };
  const groups = [...byTask].map(([task, rewards]) => ({ [TASK]: task ?? null, 'mean/reward': mean(rewards) }));
  return { group_level_metrics: groups, agent_metrics: all, key_metrics: all };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
