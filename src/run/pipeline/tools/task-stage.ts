// The tasks of a tools job: those given, and new ones made from them until enough are admitted. What was made is kept in the
// run's folder, so that a resumed run has the same tasks.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import { sealedText, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { isWorkedOutLater } from '../../../env/tools/act-domain.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { withSplits, withTasks } from '../../../env/tools/load-domain.js';
import { type SplitShares, splitOf } from '../../../synth/quality/quality-config.js';
import { makeTasks } from '../../../synth/tasks/make-tasks.js';
import type { JobContext } from '../../job.js';
import { readSealed } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ToolsParts } from './parts.js';

export interface TaskStage {
  /** The domain with the new tasks among its own. */
  readonly domain: ToolsDomain;
  /** Those that episodes are of: of the wanted splits. */
  readonly tasks: readonly ToolsTask[];
  /** The new ones, as they were made. */
  readonly added: readonly ToolsTask[];
}

type Context = JobContext<ToolsScenario>;

/** @throws SCENARIO_UNFIT if no task is of a wanted split; what models and storage throw */
export async function taskStage(context: Context, parts: ToolsParts): Promise<TaskStage> {
  const { synth, quality, name } = context.scenario.config;
  const added = await newTasks(context, parts);
  const domain = withAddedTasks(parts.domain, added, quality.splits);
  const tasks = domain.tasks.filter((task) => synth.splits.includes(splitOf(task, quality.splits)));
  if (tasks.length === 0)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `Scenario "${name}" has no task in the splits ${synth.splits.join(', ')}.`,
      hint: 'Name other splits in synth.splits, or give the domain tasks of these.',
    });
  return { domain, tasks, added };
}

/**
 * The domain with more tasks, each saying which split it is of: its own, or the one its family is given. Where there is nothing to add, the
 * domain itself if its tasks are worked out when they are looked at: to begin all, and to find their solutions, takes applications
 * minutes, and a page that cannot be begun would end the job.
 */
export function withAddedTasks(domain: ToolsDomain, more: readonly ToolsTask[], shares: SplitShares): ToolsDomain {
  if (more.length === 0 && domain.tasks.every(isWorkedOutLater)) {
    if (domain.tasks.every(({ split }) => split !== undefined)) return domain;
    return withSplits(domain, (task) => splitOf(task, shares));
  }
  const tasks = [...domain.tasks, ...more].map((task) => ({ ...task, split: splitOf(task, shares) }));
  return withTasks(domain, tasks);
}

const tasksSchema = z.object({ tasks: z.custom<readonly ToolsTask[]>(Array.isArray) });
const fileOf = (out: string) => join(out, 'tasks.json');

/** Those that a run made; none where it made none. @throws CHECKPOINT_CORRUPT */
export function madeTasks(out: string): readonly ToolsTask[] {
  return existsSync(fileOf(out)) ? readSealed(fileOf(out), tasksSchema).tasks : [];
}

async function newTasks(context: Context, parts: ToolsParts): Promise<readonly ToolsTask[]> {
  if (context.scenario.config.tasks.variation.count === 0) return [];
  if (existsSync(fileOf(context.out))) return madeTasks(context.out);
  const tasks = await proposedTasks(context, parts);
  await writeFileAtomic(fileOf(context.out), sealedText({ tasks }));
  return tasks;
}

async function proposedTasks(context: Context, { domain, responder }: ToolsParts): Promise<ToolsTask[]> {
  const { tasks: config, quality } = context.scenario.config;
  const phase = context.progress.phase('make tasks', config.variation.count, 'tasks');
  const tasks: ToolsTask[] = [];
  const rejected: Record<string, number> = {};
  const note = () => {
    const counts = Object.entries(rejected).map(([code, count]) => `${count} ${code.replaceAll('_', ' ')}`);
    return counts.length === 0 ? 'none refused' : `refused: ${counts.join(', ')}`;
  };
  const request = {
    ...{ domain, config, signal: context.signal },
    rng: Rng.fromSeed(context.seed).split('tasks'),
    seeds: domain.tasks.filter((task) => splitOf(task, quality.splits) === 'train'),
    responder: domain.rules === undefined ? responder : undefined,
  };
  for await (const { admission } of makeTasks(request)) {
    if (admission.admitted) tasks.push(admission.task);
    else for (const { code } of admission.reasons) rejected[code] = (rejected[code] ?? 0) + 1;
    phase.set(tasks.length, note());
  }
  phase.end(note());
  context.metrics.write({ kind: 'tasks', made: tasks.length, rejected });
  return tasks;
}
