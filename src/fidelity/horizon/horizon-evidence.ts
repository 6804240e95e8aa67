// What the trust horizon is asked with, and what it is made from: figures of other sections.

import type { DriftPoint, Finding } from '../instrument.js';
import type { SectionId } from '../report/fidelity-report.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';

export interface HorizonPlan {
  readonly family: 'vector' | 'tools';
  /** tools: probability of a wrong state that is allowed; vector: drift that is allowed, as `k-steps` measures it. */
  readonly tolerance: number;
  /** Discount of the returns that the section on rank compares. */
  readonly gamma: number;
  /** Steps of an episode at most. */
  readonly maxSteps: number;
}

export type Findings = ReadonlyMap<SectionId, Finding>;

/** Estimate of a metric; NOTHING where the section or the metric is not there. */
export function estimateOf(findings: Findings, section: SectionId, key: string): Estimate {
  const metrics = findings.get(section)?.section.metrics ?? [];
  return metrics.find((metric) => metric.key === key)?.estimate ?? NOTHING;
}

/** The share that is missing to 1. */
export function complement({ value, low, high, n, method }: Estimate): Estimate {
  const rest = (share: number | null) => (share === null ? null : 1 - share);
  return { value: rest(value), low: rest(high), high: rest(low), n, method };
}

/** In order of steps; empty where nothing was measured. */
export function driftOf(findings: Findings): readonly DriftPoint[] {
  return findings.get('k-steps')?.drift ?? [];
}
