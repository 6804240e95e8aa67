// What a run tells of the settings that found themselves, from its journal of metrics: so a run that went on tells all of it.

import type { DreamPlan } from '../../algorithms/index.js';
import type { DreamReport } from '../job.js';
import type { MetricsEvent } from '../metrics.js';

/** Undefined for a run that made no plan of a dream. */
export function dreamReport(events: readonly MetricsEvent[]): DreamReport | undefined {
  const plans = events.filter(({ kind }) => kind === 'plan') as unknown as DreamPlan[];
  const last = plans.at(-1);
  if (last === undefined) return undefined;
  const shut = plans.filter(({ isOpen }) => !isOpen);
  return {
    rounds: plans.length,
    shutRounds: shut.length,
    shutBecause: shut.at(-1)?.reasons['rollout.gate']?.replace('shut: ', '') ?? null,
    settings: Object.entries(valuesOf(last)).map(([key, value]) => ({
      key,
      value: value === null ? 'none' : String(value),
      reason: last.reasons[key] ?? '',
    })),
  };
}

function valuesOf({ horizon, disagreementLimit, realRatio, starts }: DreamPlan): Record<string, number | null> {
  return {
    'rollout.horizon': horizon,
    'rollout.disagreementLimit': disagreementLimit,
    'replay.realRatio': realRatio,
    'rollout.startsPerRound': starts,
  };
}
