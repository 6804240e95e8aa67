// The jobs by name, as the kinds of world have them. Each is loaded when it is asked for.

import { reverieError } from '../core/errors.js';
import type { KindJob } from '../core/kind.js';
import { kinds } from '../kinds/registry.js';
import type {
  CollectResult,
  EvalResult,
  FidelityResult,
  FitResult,
  JobContext,
  JobResult,
  QuickstartResult,
  SynthResult,
  TrainResult,
} from './job.js';
import type { AnyScenario } from './scenario.js';
import type {
  AuditResult,
  BackendFitResult,
  ExportResult,
  RealEpisodesResult,
  SynthEpisodesResult,
  TextQuickstartResult,
} from './tools-results.js';

export type AnyJobResult =
  | CollectResult
  | FitResult
  | BackendFitResult
  | SynthResult
  | SynthEpisodesResult
  | RealEpisodesResult
  | AuditResult
  | ExportResult
  | TrainResult
  | EvalResult
  | FidelityResult
  | QuickstartResult
  | TextQuickstartResult;
export type JobName = AnyJobResult['job'];

/** One job's ways by the name of the kind of world, each loaded when it is asked for. */
export type Jobs<R extends JobResult> = Readonly<Record<string, () => Promise<(context: never) => Promise<R>>>>;

/** The job as it is done for `scenario`. @throws SCENARIO_UNFIT */
export async function jobFor<R extends JobResult>(
  name: string,
  { family, config }: AnyScenario,
  jobs = registeredJobs(name) as Jobs<R>,
): Promise<(context: JobContext<AnyScenario>) => Promise<R>> {
  const load = jobs[family];
  if (load === undefined) {
    const wanted = Object.keys(jobs).join(' or ');
    throw reverieError('SCENARIO_UNFIT', {
      problem: `Scenario "${config.name}" is of family ${family}; this is for scenarios of family ${`${wanted} (reverie ${name})`}.`,
      hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
    });
  }
  return (await load()) as (context: JobContext<AnyScenario>) => Promise<R>;
}

function registeredJobs(name: string): Record<string, KindJob['load']> {
  const able = kinds
    .list()
    .flatMap((kind) => (kind.jobs[name] === undefined ? [] : [[kind.name, kind.jobs[name].load]]));
  return Object.fromEntries(able);
}

/** `reverie worker`, which lives rows of others' jobs. */
export const loadWorker = async () => (await import('./queue/worker.js')).workUntilInterrupted;
