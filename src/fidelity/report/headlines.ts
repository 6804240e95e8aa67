// The few figures that are read first: one or two a section, by name where we know what tells most, else the section's first.

import type { Metric, Section, SectionId } from './fidelity-report.js';
import type { ShownSubject } from './metric-lookup.js';
import { estimateText } from './wording.js';

export interface Headline {
  /** `section.metric`. */
  readonly name: string;
  readonly metric: Metric;
}

/** What tells most of a section, of numbers and of tools: the first of these sets of which a section has any. */
const TELLING: Readonly<Record<SectionId, readonly (readonly string[])[]>> = {
  'one-step': [
    ['state-error', 'state-within'],
    ['state-exact', 'silent-state-error'],
  ],
  'k-steps': [
    ['divergence-steps', 'consistency-gap'],
    ['steps-to-divergence', 'consistency-ratio'],
  ],
  'reward-end': [['optimism', 'false-done']],
  calibration: [
    ['calibration-error', 'doubt-auroc'],
    ['ece', 'auroc'],
  ],
  rank: [['spearman', 'regret-at-1']],
  distribution: [['hallucinated-entities'], ['c2st']],
  'must-fail': [['passed']],
  learning: [['transfer-gap']],
  horizon: [['trusted-steps']],
};

/** In the order of the report, the trust horizon first. */
export function headlineMetrics({ sections }: ShownSubject): Headline[] {
  const found = sections.flatMap((section) =>
    tellingOf(section).map((metric) => ({ name: `${section.id}.${metric.key}`, metric })),
  );
  const isHorizon = ({ name }: Headline) => name.startsWith('horizon.');
  return [...found.filter(isHorizon), ...found.filter((one) => !isHorizon(one))];
}

/** As they are printed. */
export function headlines(subject: ShownSubject): { label: string; text: string }[] {
  return headlineMetrics(subject).map(({ metric: { label, estimate, unit } }) => ({
    label,
    text: estimateText(estimate, unit),
  }));
}

function tellingOf({ id, metrics }: Section): Metric[] {
  for (const keys of TELLING[id]) {
    const named = keys.flatMap((key) => metrics.find((metric) => metric.key === key) ?? []);
    if (named.length > 0) return named;
  }
  const [first] = metrics.filter(({ better }) => better !== 'neither');
  return first === undefined ? [] : [first];
}
