// The tasks of a tools job: those given, and new ones made from them until enough are admitted. What was made is kept in the
// run's folder, so that a run that goes on has the same tasks.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { openSealed, sealedText, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { isWorkedOutLater } from '../../../env/tools/act-domain.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { withSplits, withTasks } from '../../../env/tools/load-domain.js';
import { type SplitShares, splitOf } from '../../../synth/quality/quality-config.js';
import { makeTasks } from '../../../synth/tasks/make-tasks.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ToolsParts } from './parts.js';

export interface TaskStage {
  /** The domain with the new tasks among its own. */
  readonly domain: ToolsDomain;
  /** Those that episodes are lived of: of the wanted splits. */
  readonly tasks: readonly ToolsTask[];
  /** How many are new. */
  readonly made: number;
  /** The new ones, as they were made. */
  readonly added: readonly ToolsTask[];
}

type Context = JobContext<ToolsScenario>;

export const TASKS_FILE = 'tasks.json';

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
  return { domain, tasks, made: added.length, added };
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

async function newTasks(context: Context, parts: ToolsParts): Promise<readonly ToolsTask[]> {
  const { variation } = context.scenario.config.tasks;
  if (variation.count === 0) return [];
  const file = join(context.out, TASKS_FILE);
  if (existsSync(file)) return openSealed(readFileSync(file, 'utf8')).tasks as unknown as ToolsTask[];
  const tasks = await madeTasks(context, parts);
  await writeFileAtomic(file, sealedText({ tasks }));
  return tasks;
}

async function madeTasks(context: Context, { domain, cast, responder }: ToolsParts): Promise<ToolsTask[]> {
  const { tasks: section, quality } = context.scenario.config;
  const { count } = section.variation;
  const phase = context.progress.phase('make tasks', count, 'tasks');
  const tasks: ToolsTask[] = [];
  const rejected: Record<string, number> = {};
  const request = {
    domain,
    config: section,
    rng: Rng.fromSeed(context.seed).split('tasks'),
    seeds: domain.tasks.filter((task) => splitOf(task, quality.splits) === 'train'),
    model: await cast.modelIfAny('tasks'),
    judge: await cast.modelIfAny('judge'),
    responder: domain.rules === undefined ? responder : undefined,
    signal: context.signal,
  };
  for await (const { admission } of makeTasks(request)) {
    if (admission.admitted) tasks.push(admission.task);
    else for (const { code } of admission.reasons) rejected[code] = (rejected[code] ?? 0) + 1;
    phase.set(tasks.length, rejectionNote(rejected));
  }
  phase.end(rejectionNote(rejected));
  context.metrics.write({ kind: 'tasks', made: tasks.length, rejected });
  return tasks;
}

function rejectionNote(rejected: Readonly<Record<string, number>>): string {
  const counts = Object.entries(rejected).map(([code, count]) => `${count} ${code.replaceAll('_', ' ')}`);
  return counts.length === 0 ? 'none refused' : `refused: ${counts.join(', ')}`;
}
