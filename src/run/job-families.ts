// A job is done in another way for each family of scenarios: which way, and what is said where there is none.

import { reverieError } from '../core/errors.js';
import type { Job, JobContext, JobResult } from './job.js';
import type { AnyScenario, Scenario, ToolsScenario } from './scenario.js';

/** One job's ways, each loaded when it is asked for. */
export interface Jobs<R extends JobResult> {
  readonly vector?: () => Promise<Job<R, Scenario>>;
  readonly tools?: () => Promise<Job<R, ToolsScenario>>;
}

/** The job as it is done for `scenario`. @throws SCENARIO_FAMILY */
export async function jobFor<R extends JobResult>(
  name: string,
  jobs: Jobs<R>,
  { family, config }: AnyScenario,
): Promise<(context: JobContext<AnyScenario>) => Promise<R>> {
  const load = jobs[family];
  if (load === undefined) {
    const wanted = Object.keys(jobs).join(' or ');
    throw reverieError('SCENARIO_FAMILY', { name: config.name, family, wanted: `${wanted} (reverie ${name})` });
  }
  return (await load()) as (context: JobContext<AnyScenario>) => Promise<R>;
}
