// The must-fail suite as a section: its verdict is the one that other jobs read, from the same report.

import type { Json } from '../../core/canonical-json.js';
import type { ProbeKind } from '../../worldmodel/must-fail/probes.js';
import type { MustFailReport } from '../../worldmodel/must-fail/run-must-fail.js';
import { type Finding, figuresOf, findingOf, type Instrument, type MetricInfo, percent } from '../section.js';
import { type Estimate, NOTHING } from '../statistics.js';
import type { ToolsJudged } from './judged.js';

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
      ...(total === 0 ? { missing: 'No probe could be made.' } : {}),
      notes: [
        ...(untried.length === 0 ? [] : [`No probe of these kinds could be made: ${untried.join(', ')}.`]),
        ...(skipped.length === 0 ? [] : [`${skipped.length} probes could not be made.`]),
        ...(failures.length === 0 ? [] : ['What it fell for is in must-fail.json.']),
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
