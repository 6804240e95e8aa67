// What a run tells of its synthetic rows, from its journal of metrics: so a run that went on tells all of it.

import type { ScenarioConfig } from '../../kinds/vector.js';
import type { DreamPlan } from '../../training/settings.js';
import type { GenerationSummary } from '../../training/world.js';
import type { DreamReport, GenerativeReport } from '../job.js';
import type { MetricsEvent } from '../metrics.js';

/** Settings that found themselves. Undefined for a run that made no plan of a dream. */
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

/** Undefined for a run that draws no rows. */
export function generativeReport(
  events: readonly MetricsEvent[],
  settings: ScenarioConfig['replay']['generative'],
): GenerativeReport | undefined {
  if (settings === null) return undefined;
  const generations = events.filter(({ kind }) => kind === 'generate') as unknown as GenerationSummary[];
  const last = generations.at(-1);
  return {
    fits: generations.length,
    rows: generations.reduce((sum, { rows }) => sum + rows, 0),
    share: settings.share,
    fittedTo: last?.fittedTo ?? null,
    modelVersion: last?.modelVersion ?? null,
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
