// Shadow steps of a tools job: a share of simulated calls is answered by the real environment too, and what that finds says
// how many simulated steps can be trusted.

import { reverieError } from '../../../core/errors.js';
import { comparedResponder, isReal } from '../../../env/tools/rules-responder.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { ShadowEstimates, type ShadowRow, shadowResponder, trustHorizon } from '../../../worldmodel/tools/shadow.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ShadowResult } from '../../tools-results.js';
import type { ToolsParts } from './parts.js';

export interface Shadow {
  /** Answers as the simulation does, and compares. */
  readonly responder: Responder;
  readonly lag: number;
  /** What the row's calls found; forgets it. */
  take(row: number): ShadowRow;
  observe(record: EpisodeRecord): void;
  /** Steps that row's episode may have; infinite unless episodes are limited to what can be trusted. */
  horizon(row: number): number;
  result(): ShadowResult;
}

/** Undefined where no steps are compared. @throws SCENARIO_INVALID without rules to compare with */
export function makeShadow(
  { scenario, seed }: Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>,
  { domain, responder }: Pick<ToolsParts, 'domain' | 'responder'>,
): Shadow | undefined {
  const { share, tolerance, lag, limit } = scenario.config.shadow;
  if (share === 0) return undefined;
  if (!isReal(domain)) {
    const problem = '"shadow.share" is above 0, but the domain has no rules to compare with.';
    throw reverieError('SCENARIO_INVALID', { path: scenario.config.name, problem });
  }
  const compared = shadowResponder({ responder, real: comparedResponder(domain), share, seed });
  const estimates = new ShadowEstimates();
  return {
    responder: compared,
    lag: limit === true ? lag : Number.POSITIVE_INFINITY,
    take: (row) => compared.takeRow(row),
    observe: ({ row, shadow }) => {
      if (shadow !== undefined) estimates.addRow(row, shadow as unknown as ShadowRow);
    },
    horizon: (row) => {
      if (limit !== true) return Number.POSITIVE_INFINITY;
      const { all } = estimates.counts(row - lag);
      // Before anything was compared episodes have their full length: somebody has to measure.
      return all.steps === 0 ? Number.POSITIVE_INFINITY : Math.max(1, trustHorizon(all, tolerance));
    },
    result: () => {
      const { all } = estimates.report();
      return {
        steps: all.steps,
        transitionError: all.transition,
        observationError: all.observation,
        rewardError: all.reward,
        trustHorizon: trustHorizon(estimates.counts().all, tolerance),
      };
    },
  };
}
