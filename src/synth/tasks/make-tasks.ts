// Makes the tasks a scenario asks for: proposals in a fixed order, each judged before the next, until there are enough.

import type { Rng } from '../../core/rng.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Responder } from '../../env/tools/tools-family.js';
import type { LanguageModel } from '../../llm/language-model.js';
import { type Admission, Admissions } from './admission.js';
import { isForEvaluation, type TaskProposal } from './proposal.js';
import type { TasksConfig } from './tasks-schema.js';
import { varyTask } from './vary-task.js';

export interface MakeTasksRequest {
  readonly domain: ToolsDomain;
  readonly config: Pick<TasksConfig, 'variation' | 'admission'>;
  /** Not advanced: proposal i has a stream of its own, so equal streams make equal tasks. */
  readonly rng: Rng;
  /** Tasks to start from; default: all of the domain that are not kept for evaluation, and have a reference. */
  readonly seeds?: readonly ToolsTask[];
  /** Needed by `propose`. */
  readonly model?: LanguageModel;
  /** Who is asked about what strategy `propose` found; default: `model`. */
  readonly judge?: LanguageModel;
  /** Who answers calls where the domain has no rules. */
  readonly responder?: Responder;
  readonly signal?: AbortSignal;
}

export interface MadeTask {
  /** Number of the proposal. */
  readonly number: number;
  readonly proposal: TaskProposal;
  readonly admission: Admission;
}

/**
 * Every proposal with its verdict, admitted or not; ends when `variation.count` were admitted, or when `overGeneration`
 * times as many were proposed.
 * @throws SCENARIO_UNFIT, SCENARIO_UNFIT, and what the model's server throws
 */
export async function* makeTasks(request: MakeTasksRequest): AsyncGenerator<MadeTask> {
  const { domain, rng, model, judge, responder, signal } = request;
  const { count, strategies, overGeneration, attempts, judges, steps } = request.config.variation;
  const isSeed = (task: ToolsTask) => !isForEvaluation(task) && task.reference !== undefined;
  const seeds = (request.seeds ?? domain.tasks).filter(isSeed);
  if (count === 0 || seeds.length === 0) return;
  const admissions = new Admissions(domain, { ...request.config.admission, responder });
  for (let number = 0; number < Math.ceil(count * overGeneration); number++) {
    signal?.throwIfAborted();
    const round = Math.floor(number / seeds.length);
    const first = rng.split('seeds', round).permutation(seeds.length)[number % seeds.length];
    const ordered = [seeds[first], ...seeds.filter((task) => task !== seeds[first])];
    const strategy = strategies[number % strategies.length];
    const own = rng.split('proposal', number);
    const proposal = await varyTask({
      domain,
      seeds: ordered,
      strategy,
      rng: own,
      model,
      responder,
      attempts,
      judge,
      judges,
      steps,
      signal,
    });
    const admission = await admissions.admit(proposal);
    yield { number, proposal, admission };
    if (admissions.counts.admitted >= count) return;
  }
}
