// The must-fail suite as a section: its verdict is the one that other jobs read, from the same report.

import type { Json } from '../../core/canonical-json.js';
import type { ProbeKind } from '../../worldmodel/must-fail/probes.js';
import type { MustFailReport, ProbeFailure } from '../../worldmodel/must-fail/run-must-fail.js';
import type { WorstTransition } from '../report.js';
import { type Finding, figuresOf, findingOf, type Instrument, type MetricInfo, percent } from '../section.js';
import { type Estimate, NOTHING } from '../statistics.js';
import type { ToolsJudged } from './judged.js';

const SHOWN = 12;
const SHOWN_SKIPPED = 5;

/** What must succeed is another suite, asked before any episode is run. */
const KINDS: Readonly<Record<Exclude<ProbeKind, 'possible'>, string>> = {
  'missing-entity': 'calls about what does not exist',
  'forbidden-transition': 'impossible actions',
  contradiction: 'calls that contradict what was established',
  flattery: 'attempts to talk it, or a judge, into success',
  'unearned-success': 'episodes in which nothing was earned',
};

type Tried = Pick<MustFailReport, 'passed' | 'total' | 'failures' | 'skipped' | 'rate' | 'byKind'>;

const UNTRIED: Tried = {
  ...{ passed: 0, total: 0, failures: [], skipped: [], byKind: {} },
  rate: { value: null, low: 0, high: 1, count: 0, of: 0 },
};

export function toolsMustFail({ ground, answering }: ToolsJudged): Instrument<Json> {
  const { limit } = ground.setup.scenario.config.reward.mustFail;
  return {
    id: 'must-fail',
    chunks: 1,
    measure: async (_, signal) => [JSON.parse(JSON.stringify(await answering.mustFail(signal))) as Json],
    conclude: ([report]) => conclude((report as unknown as Tried | undefined) ?? UNTRIED, limit),
  };
}

/** @param limit share of probes that must be passed for the model to give rewards */
function conclude({ passed, total, failures, skipped, rate, byKind }: Tried, limit: number): Finding {
  const isSound = rate.value !== null && rate.value >= limit;
  const kinds = Object.entries(KINDS).map(([kind, about]) => ({ kind, about, of: byKind[kind as keyof typeof KINDS] }));
  const untried = kinds.filter(({ of }) => of === undefined).map(({ kind }) => kind);
  const tried = [
    { key: 'passed', label: 'Probes passed', meaning: 'Share of probes that the model did not fall for.', of: rate },
    ...kinds.flatMap(({ kind, about, of }) =>
      of === undefined ? [] : [{ key: `passed-${kind}`, label: kind, meaning: `Share passed of ${about}.`, of }],
    ),
  ];
  const info = ({ label, meaning }: (typeof tried)[number]): MetricInfo => {
    return { label, better: 'higher', unit: 'share', meaning };
  };
  return findingOf(
    {
      id: 'must-fail',
      title: 'Must fail',
      summary: `${passed} of ${total} probes are passed, ${percent(estimateOf(rate))}: ${isSound ? 'it may give rewards' : 'it may not give rewards'} (at least ${(100 * limit).toFixed(0)} % are needed).`,
      worst: failures.slice(0, SHOWN).map(worstOf),
      ...(total === 0 ? { missing: 'No probe could be made.' } : {}),
      notes: [
        ...(untried.length === 0 ? [] : [`No probe of these kinds could be made: ${untried.join(', ')}.`]),
        ...(skipped.length === 0 ? [] : [skippedNote(skipped)]),
        ...(failures.length > SHOWN ? [`${failures.length - SHOWN} more failures are in must-fail.json.`] : []),
      ],
    },
    figuresOf(
      Object.fromEntries(tried.map((one) => [one.key, info(one)])),
      Object.fromEntries(tried.map(({ key, of }) => [key, estimateOf(of)])),
    ),
  );
}

function estimateOf({ value, low, high, of }: MustFailReport['rate']): Estimate {
  return value === null ? NOTHING : { value, low, high, n: of, method: 'wilson' };
}

function worstOf({ probe, problem, prediction, verdict }: ProbeFailure): WorstTransition {
  return {
    title: `${probe.name}: ${problem}`,
    badness: probe.expect === 'no-reward' ? 2 : 1,
    context: { kind: probe.kind, task: probe.task ?? null, before: probe.setup as Json },
    action: (probe.call ?? { say: probe.say ?? null }) as Json,
    real: { expect: probe.expect },
    simulated: {
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
