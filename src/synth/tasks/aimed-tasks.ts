// New tasks aimed at what an agent cannot do yet (TRACE): each deficit gets a share of them by how many episodes it lost, made from
// the tasks it lost and others that need the same, and admitted as all new tasks are.

import type { ToolsTask } from '../../env/index.js';
import { withTasks } from '../../env/index.js';
import { type Deficit, seedsFor } from '../signals/deficits.js';
import { type MadeTask, type MakeTasksRequest, makeTasks } from './make-tasks.js';

export interface AimedTask extends MadeTask {
  /** Name of the deficit it is aimed at. */
  readonly aim: string;
}

/**
 * Every proposal with its verdict; tasks that are admitted say in `origin.aim` what they are aimed at. What one deficit's seeds do
 * not yield goes to those after it.
 * @throws as `makeTasks`
 */
export async function* aimedTasks(
  request: MakeTasksRequest & { readonly seeds: readonly ToolsTask[] },
  deficits: readonly Deficit[],
): AsyncGenerator<AimedTask> {
  const { config, rng } = request;
  const made: ToolsTask[] = [];
  const shares = sharesOf(config.variation.count, deficits);
  let due = 0;
  for (const [at, deficit] of deficits.entries()) {
    due += shares[at];
    const seeds = seedsFor(deficit, request.seeds);
    const missing = due - made.length;
    if (missing === 0 || seeds.length === 0) continue;
    const own = makeTasks({
      ...request,
      // What was made before counts against duplicates, too.
      domain: withTasks(request.domain, [...request.domain.tasks, ...made]),
      config: { ...config, variation: { ...config.variation, count: missing } },
      rng: rng.split('aim', deficit.name),
      seeds,
      partners: request.seeds,
    });
    for await (const { admission, ...rest } of own) {
      const aimed = admission.admitted ? { ...admission, task: withAim(admission.task, deficit.name) } : admission;
      if (aimed.admitted) made.push(aimed.task);
      yield { ...rest, admission: aimed, aim: deficit.name };
    }
  }
}

/** So many for each, in proportion to what it lost, adding up to `count`. */
function sharesOf(count: number, deficits: readonly Deficit[]): number[] {
  const all = deficits.reduce((sum, { lost }) => sum + lost, 0);
  let [lost, given] = [0, 0];
  return deficits.map((deficit) => {
    lost += deficit.lost;
    const share = Math.round((count * lost) / all) - given;
    given += share;
    return share;
  });
}

function withAim(task: ToolsTask, aim: string): ToolsTask {
  return { ...task, origin: { ...task.origin!, aim } };
}
