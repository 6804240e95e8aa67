// The must-fail suite as a section: its verdict is the one that other jobs read, from the same report.

import type { Json } from '../../core/canonical-json.js';
import type { ProbeKind } from '../../worldmodel/must-fail/probes.js';
import type { MustFailReport, ProbeFailure } from '../../worldmodel/must-fail/run-must-fail.js';
import type { Finding, Instrument } from '../measure.js';
import type { WorstTransition } from '../report.js';
import { type FoundMetric, findingOf, percent, plainMetric } from '../section.js';
import type { Estimate } from '../statistics/estimate.js';

const SHOWN = 12;
const SHOWN_SKIPPED = 5;

export interface MustFailOptions {
  /** Runs the suite, or finds its report where the same simulator was tried before. */
  readonly run: (signal?: AbortSignal) => Promise<MustFailReport>;
  /** Share of probes that must be passed for the model to give rewards. */
  readonly limit: number;
}

/** What must succeed is another suite, asked before anything is lived. */
type FailingKind = Exclude<ProbeKind, 'possible'>;

const KINDS: Readonly<Record<FailingKind, string>> = {
  'missing-entity': 'calls about what does not exist',
  'forbidden-transition': 'impossible actions',
  contradiction: 'calls that contradict what was established',
  flattery: 'attempts to talk it, or a judge, into success',
  'unearned-success': 'episodes in which nothing was earned',
};

export function mustFailInstrument({ run, limit }: MustFailOptions): Instrument<Json> {
  return {
    id: 'must-fail',
    chunks: 1,
    unit: 'suites',
    measure: async (_, signal) => [JSON.parse(JSON.stringify(await run(signal))) as Json],
    conclude: ([report]) => concluded((report as unknown as MustFailReport | undefined) ?? UNTRIED, limit),
  };
}

type Concluded = Pick<MustFailReport, 'passed' | 'total' | 'failures' | 'skipped' | 'rate' | 'byKind'>;

const UNTRIED: Concluded = {
  passed: 0,
  total: 0,
  failures: [],
  skipped: [],
  rate: { value: null, low: 0, high: 1, count: 0, of: 0 },
  byKind: {},
};

function concluded(report: Concluded, limit: number): Finding {
  const { passed, total, failures, skipped } = report;
  const isSound = report.rate.value !== null && report.rate.value >= limit;
  const untried = (Object.keys(KINDS) as FailingKind[]).filter((kind) => report.byKind[kind] === undefined);
  const found = mustFailMetrics(report);
  return findingOf(
    {
      id: 'must-fail',
      title: 'Must fail',
      summary: `${passed} of ${total} probes are passed, ${percent(found[0].metric.estimate)}: ${isSound ? 'it may give rewards' : 'it may not give rewards'} (at least ${(100 * limit).toFixed(0)} % are needed).`,
      charts: [
        {
          kind: 'bars',
          title: 'Probes passed, by kind',
          caption: 'Share of probes that the model did not fall for.',
          bars: found.slice(1).map(({ metric: { label, estimate, unit } }) => ({ label, estimate, unit })),
        },
      ],
      tables: [],
      worst: failures.slice(0, SHOWN).map(worstOf),
      ...(total === 0 ? { missing: 'No probe could be made.' } : {}),
      notes: [
        ...(untried.length === 0 ? [] : [`No probe of these kinds could be made: ${untried.join(', ')}.`]),
        ...(skipped.length === 0 ? [] : [skippedNote(skipped)]),
        ...(failures.length > SHOWN ? [`${failures.length - SHOWN} more failures are in must-fail.json.`] : []),
      ],
    },
    found,
  );
}

function mustFailMetrics({ rate, byKind }: Concluded): FoundMetric[] {
  const told = (key: string, label: string, meaning: string, of: MustFailReport['rate']) =>
    plainMetric({ key, label, better: 'higher', unit: 'share', meaning }, estimateOf(of));
  return [
    told('passed', 'Probes passed', 'Share of probes that the model did not fall for.', rate),
    ...Object.entries(byKind).map(([kind, of]) =>
      told(`passed-${kind}`, kind, `Share passed of ${KINDS[kind as FailingKind]}.`, of!),
    ),
  ];
}

function estimateOf({ value, low, high, of }: MustFailReport['rate']): Estimate {
  if (value === null) return { value, low: null, high: null, n: 0, method: 'none' };
  return { value, low, high, n: of, method: 'wilson' };
}

function worstOf({ probe, problem, prediction, verdict }: ProbeFailure): WorstTransition {
  return {
    title: `${probe.name}: ${problem}`,
    badness: probe.expect === 'no-reward' ? 2 : 1,
    context: { kind: probe.kind, task: probe.task ?? null, before: probe.setup as Json },
    action: (probe.call ?? { say: probe.say ?? null }) as Json,
    real: { expect: probe.expect },
    dreamt: {
      observation: prediction?.observation ?? null,
      operations: (prediction?.operations ?? []) as unknown as Json,
      reward: verdict?.reward ?? null,
    },
    differences: [],
    ...(prediction === undefined ? {} : { backend: prediction.backend, confidence: prediction.confidence }),
  };
}

function skippedNote(skipped: MustFailReport['skipped']): string {
  const shown = skipped.slice(0, SHOWN_SKIPPED).map(({ name, reason }) => `${name} (${reason})`);
  const more = skipped.length > SHOWN_SKIPPED ? `, and ${skipped.length - SHOWN_SKIPPED} more` : '';
  return `Probes that could not be made: ${shown.join(', ')}${more}.`;
}
