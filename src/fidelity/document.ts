// A fidelity report for people: what is read first, gates, then section by section, all models side by side.

import type { Block, Cell, CurvesBlock, Report } from '../core/report.js';
import {
  type Comparison,
  type FidelityReport,
  type FidelityTable,
  type GateResult,
  type Metric,
  SECTIONS,
  type Section,
  type SectionId,
  type SubjectReport,
  type WorstTransition,
} from './report.js';
import type { Estimate } from './statistics.js';

/** What a report holds of a subject beside its samples: they serve comparisons, and no reader. */
export type ShownSubject = Omit<SubjectReport, 'samples'>;
type ShownReport = Omit<FidelityReport, 'subjects'> & { readonly subjects: readonly ShownSubject[] };

/** The section of one subject. */
interface Part {
  readonly name: string;
  readonly section: Section;
}

export function fidelityDocument(report: ShownReport): Report {
  const { subjects, truth, provenance, incomplete, comparisons } = report;
  const compared =
    comparisons.length === 0
      ? ''
      : ` ▲ and ▼ mark differences from ${subjects[0].name}, unit by unit, whose interval excludes 0; of ${comparisons.length} comparisons one in twenty does by chance.`;
  return {
    title: `How far the simulation of ${report.scenario} is from the real environment`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: truthText(report) },
      ...(incomplete === undefined ? [] : [{ kind: 'paragraph', tone: 'warning', text: incomplete } as const]),
      { kind: 'heading', text: 'At a glance' },
      trustFigures(report),
      ...gateLists(report),
      ...measures(report, subjects.flatMap(headlineNames)),
      { kind: 'paragraph', tone: 'note', text: `Intervals are of 95 %.${compared}` },
      ...SECTIONS.flatMap((id) => sectionBlocks(report, id)),
      { kind: 'heading', text: 'Where this is from' },
      {
        kind: 'facts',
        rows: [
          ...subjects.map(({ name, kind, version }) => [name, `${kind} ${version}`] as const),
          ['truth', `${truth.kind}: ${truth.description}, version ${truth.version}`],
          ...Object.entries(provenance).map(
            ([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const,
          ),
        ],
      },
    ],
  };
}

function truthText({ truth, subjects }: ShownReport): string {
  const { kind, description, transitions, episodes } = truth;
  const models = subjects.length === 1 ? 'One world model' : `${subjects.length} world models`;
  const source = kind === 'environment' ? 'the real environment' : 'recorded transitions';
  const counts = `${transitions.toLocaleString('en-US')} transitions, ${episodes.toLocaleString('en-US')} episodes`;
  return `${models} held against ${source}: ${description} (${counts}). Intervals are of 95 % unless said otherwise.`;
}

/** How far each model can be trusted. */
function trustFigures({ subjects }: ShownReport): Block {
  return {
    kind: 'figures',
    items: subjects.map((subject) => {
      const metric = metricsOf(subject).get('horizon.trusted-steps');
      const value = metric?.estimate.value ?? null;
      const interval = value === null ? '' : intervalText(metric!.estimate, 'steps');
      return {
        value: value === null ? '–' : valueText(value, 'steps'),
        label: `trust horizon of ${subject.name}${interval === '' ? '' : `, ${interval}`}`,
        text:
          subject.sections.find(({ id }) => id === 'horizon')?.summary ?? 'How far it can be trusted was not measured.',
      };
    }),
  };
}

function gateLists(report: ShownReport): Block[] {
  const lines = report.gates.map((gate) => {
    const unit = metricsOf(report.subjects[0]).get(gate.metric)?.unit ?? 'number';
    const construction = constructionOf(report, gate.metric);
    const hollow = construction === undefined ? '' : ` (proves nothing: ${construction})`;
    return { passed: gate.passed, text: `${gateText(gate, unit)}${hollow}` };
  });
  return ([false, true] as const).flatMap((passed): Block[] => {
    const items = lines.filter((line) => line.passed === passed).map(({ text }) => text);
    if (items.length === 0) return [];
    const title = passed ? `Gates passed: ${items.length}` : `Gates failed: ${items.length} of ${lines.length}`;
    return [{ kind: 'list', title, items, tone: passed ? 'passed' : 'failed' }];
  });
}

/** `one-step.state-exact at least 95 %: the lower end of its interval is 93.8 %`. */
function gateText({ metric, limit, bound, end, value, floor }: GateResult, unit: Unit): string {
  const words = { low: 'the lower end of its interval', high: 'the upper end of its interval', value: 'its value' };
  const found = value === null ? 'nothing was counted' : `${words[end]} is ${valueText(value, unit)}`;
  const beside = floor === undefined ? '' : ` (floor: ${valueText(floor, unit)})`;
  return `${metric} ${bound === 'at-least' ? 'at least' : 'at most'} ${valueText(limit, unit)}: ${found}${beside}`;
}

/** Why a gate on this metric of the first model proves nothing; undefined where it may. */
export function constructionOf({ subjects }: ShownReport, metric: string): string | undefined {
  return subjects[0].sections.find(({ id }) => metric.startsWith(`${id}.`))?.byConstruction;
}

/** Every metric by the name that gates and comparisons use, `section.metric`, in the order of the report. */
export function metricsOf({ sections }: ShownSubject): ReadonlyMap<string, Metric> {
  return new Map(sections.flatMap(({ id, metrics }) => metrics.map((metric) => [`${id}.${metric.key}`, metric])));
}

const BETTER = { higher: ' ↑', lower: ' ↓', neither: '' };

/** Metrics as a table, each once, a line a model. */
function measures({ subjects, comparisons }: ShownReport, names: readonly string[], isExplained = false): Block[] {
  if (names.length === 0) return [];
  const isAlone = subjects.length === 1;
  const known = subjects.map(metricsOf);
  const rows = [...new Set(names)].flatMap((name) => {
    const { label, better, meaning, unit } = known.find((own) => own.has(name))!.get(name)!;
    return subjects.map((subject, i): Cell[] => {
      const estimate = known[i].get(name)?.estimate;
      const comparison = comparisons.find(({ metric, second }) => metric === name && second === subject.name);
      return [
        { text: `${label}${BETTER[better]}`, about: isExplained && i === 0 ? `${meaning} (${name})` : undefined },
        ...(isAlone ? [] : [subject.name]),
        estimate === undefined ? 'not measured' : valueText(estimate.value, unit),
        estimate === undefined ? '' : intervalText(estimate, unit),
        estimate === undefined || estimate.n === 0 ? '' : estimate.n.toLocaleString('en-US'),
        ...(isAlone ? [] : [comparisonText(comparison, unit)]),
      ];
    });
  });
  const columns = ['', ...(isAlone ? [] : ['model']), 'value', '95 %', 'n', ...(isAlone ? [] : ['against the first'])];
  return [{ kind: 'table', columns, rows }];
}

/** A difference has a sign; that of shares is in percentage points. Empty where none was found. */
function comparisonText(comparison: Comparison | undefined, unit: Unit): string {
  if (comparison === undefined) return '';
  const { better, difference, floor } = comparison;
  const { value, low, high } = difference;
  if (value === null || low === null || high === null) return '';
  if (floor !== undefined && Math.abs(value) <= floor) return `within the noise (${valueText(floor, unit)})`;
  if (low <= 0 && high >= 0) return '';
  const isBetter = value > 0 === (better === 'higher');
  const mark = better === 'neither' ? '◆ different' : isBetter ? '▲ better' : '▼ worse';
  const text = unit === 'share' ? `${bareText(value, unit)} points` : valueText(value, unit);
  return `${mark}, ${withInterval(`${value > 0 ? '+' : ''}${text}`, difference, unit)}`;
}

function sectionBlocks(report: ShownReport, id: SectionId): Block[] {
  const parts = report.subjects.flatMap(({ name, sections }): Part[] => {
    const section = sections.find((one) => one.id === id);
    return section === undefined ? [] : [{ name, section }];
  });
  if (parts.length === 0) return [];
  const isAlone = report.subjects.length === 1;
  const names = parts.flatMap(({ section }) => section.metrics.map(({ key }) => `${id}.${key}`));
  const summaries = said(parts, ({ summary }) => [summary]);
  const notes = said(parts, (section) => section.notes);
  return [
    { kind: 'heading', text: parts[0].section.title },
    ...summaries.map((text) => ({ kind: 'paragraph', text }) as const),
    ...measures(report, names, true),
    ...charts(parts, isAlone),
    ...tables(parts, isAlone).map((table) => ({ kind: 'table', alignment: 'text', ...table }) as const),
    ...parts.flatMap(({ name, section }) => section.worst.map((one) => worstBlock(one, isAlone ? '' : `${name}: `))),
    ...(notes.length === 0 ? [] : [{ kind: 'list', items: notes, tone: 'note' } as const]),
  ];
}

/** Each text once, with the models whose it is unless it is that of all. */
function said(parts: readonly Part[], of: (section: Section) => readonly string[]): string[] {
  return [...new Set(parts.flatMap(({ section }) => of(section)))].map((text) => {
    const having = parts.filter(({ section }) => of(section).includes(text)).map(({ name }) => name);
    return having.length === parts.length ? text : `${having.join(', ')}: ${text}`;
  });
}

/** Charts of one title as one, with the curves of all models. */
function charts(parts: readonly Part[], isAlone: boolean): CurvesBlock[] {
  const owned = parts.flatMap(({ name, section }) => section.charts.map((chart) => ({ name, chart })));
  return [...new Set(owned.map(({ chart }) => chart.title))].map((title) => {
    const same = owned.filter(({ chart }) => chart.title === title);
    const { kind, series: _, ...about } = same[0].chart;
    const curves = same.flatMap(({ name, chart }) =>
      chart.series.map((one) => {
        const label = chart.series.length === 1 ? name : `${name}: ${one.name}`;
        return { name: isAlone ? one.name : label, points: one.points };
      }),
    );
    return { ...about, kind: 'curves', isScatter: kind === 'points', curves };
  });
}

/** Tables of one title one after the other, each with its model's name. */
function tables(parts: readonly Part[], isAlone: boolean): FidelityTable[] {
  return parts.flatMap(({ name, section }) =>
    section.tables.map((table) => (isAlone ? table : { ...table, title: `${table.title}: ${name}` })),
  );
}

/** Letters of one JSON text; a state may be a whole database. */
const MOST_LETTERS = 20_000;

function worstBlock(worst: WorstTransition, whose: string): Block {
  const { title, badness, backend, differences, context, action, real, simulated } = worst;
  const by = backend === undefined ? '' : `answered by ${backend}, `;
  const code = (value: unknown): Block => {
    const text = JSON.stringify(value, null, 2);
    const more = text.length - MOST_LETTERS;
    return { kind: 'code', text: more <= 0 ? text : `${text.slice(0, MOST_LETTERS)}\n… ${more} more letters` };
  };
  const cell = (value: unknown) => (value === undefined ? 'nothing there' : JSON.stringify(value));
  const rows = differences.map((one) => [one.path, cell(one.real), cell(one.simulated)]);
  const columns = ['what differs', 'real', 'simulated'];
  return {
    kind: 'details',
    title: `Worst: ${whose}${title} (${by}badness ${valueText(badness, 'number')})`,
    blocks: [
      ...(rows.length === 0 ? [] : [{ kind: 'table', columns, rows, alignment: 'text' } as const]),
      code({ context, action }),
      code({ real, simulated }),
    ],
  };
}

// The few figures that are read first: one or two a section.

/** What tells most of a section, of numbers and of tools. */
const TELLING: Readonly<Record<SectionId, readonly string[]>> = {
  'one-step': ['state-error', 'state-within', 'state-exact-floor', 'silent-state-error', 'all-right', 'refused'],
  'k-steps': ['divergence-steps', 'steps-to-divergence', 'consistency-ratio'],
  'reward-end': ['optimism', 'false-done'],
  calibration: ['coverage-90', 'doubt-auroc', 'ece', 'auroc'],
  rank: ['spearman', 'regret-at-1'],
  'must-fail': ['passed'],
  noise: ['total', 'world', 'judge', 'agent', 'user', 'floor'],
  horizon: ['trusted-steps'],
};

/** All but the trust horizon, which stands above them. */
function headlineNames({ sections }: ShownSubject): string[] {
  return sections.flatMap((section) =>
    section.id === 'horizon' ? [] : tellingOf(section).map(({ key }) => `${section.id}.${key}`),
  );
}

/** As they are printed: of a section none of whose figures was counted, why that is; and what a section cannot show. */
export function headlines({ sections }: ShownSubject): { label: string; text: string }[] {
  const horizonFirst = [...sections].sort((a, b) => Number(b.id === 'horizon') - Number(a.id === 'horizon'));
  return horizonFirst.flatMap((section) => {
    const { title, missing, byConstruction } = section;
    const own = tellingOf(section);
    if (missing !== undefined && own.every(({ estimate }) => estimate.value === null)) {
      return [{ label: title, text: `not measured: ${missing}` }];
    }
    const lines = own.map(({ label, estimate, unit }) => ({
      label,
      text: estimate.value === null && missing !== undefined ? `not counted: ${missing}` : estimateText(estimate, unit),
    }));
    if (byConstruction !== undefined) lines.push({ label: `${title}: by construction`, text: byConstruction });
    return lines;
  });
}

/** Of a state that is right or not, its floor stands beside it. */
function tellingOf({ id, metrics }: Section): readonly Metric[] {
  const hasFloor = metrics.some(({ key }) => key === 'state-exact-floor');
  const keys = hasFloor && id === 'one-step' ? ['state-exact', ...TELLING[id]] : TELLING[id];
  return keys.flatMap((key) => metrics.find((metric) => metric.key === key) ?? []);
}

// Measured numbers as people read them: the value in its unit, its interval.

type Unit = Metric['unit'];

const SUFFIX: Readonly<Record<Unit, string>> = { share: ' %', number: '', steps: ' steps', return: '' };

/** `95.2 %`, `0.0123`, `12 steps`; `not counted` for null. */
export function valueText(value: number | null, unit: Unit): string {
  if (value === null) return 'not counted';
  return `${bareText(value, unit)}${unit === 'steps' && value === 1 ? ' step' : SUFFIX[unit]}`;
}

/** `93.8 to 96.4`, `29 to no end seen` where nothing ended what was counted; empty where there is no interval. */
function intervalText({ low, high }: Pick<Estimate, 'low' | 'high'>, unit: Unit): string {
  if (low === null) return '';
  return `${bareText(low, unit)} to ${high === null ? 'no end seen' : bareText(high, unit)}`;
}

/** `95.2 % (93.8 to 96.4)`. */
export function estimateText(estimate: Pick<Estimate, 'value' | 'low' | 'high'>, unit: Unit): string {
  return withInterval(valueText(estimate.value, unit), estimate, unit);
}

function withInterval(text: string, estimate: Pick<Estimate, 'low' | 'high'>, unit: Unit): string {
  const interval = intervalText(estimate, unit);
  return interval === '' ? text : `${text} (${interval})`;
}

/** What is left of differences of returns that are alike. */
const NO_RETURN = 1e-12;

/** Three digits that matter; shares in per cent, with a tenth where it matters. */
function bareText(value: number, unit: Unit): string {
  if (unit === 'share') return percent(100 * value);
  const size = Math.abs(value);
  if (unit === 'return' && size < NO_RETURN) return '0';
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return signed(value.toExponential(1));
  return signed(String(Number(value.toPrecision(size >= 1000 ? 4 : 3))));
}

/** Below this share of a per cent a number is rounding of another. */
const ROUNDING = 1e-9;

function percent(value: number): string {
  const text = value.toFixed(Math.abs(value) < 1 && value !== 0 ? 2 : 1);
  // Nearly all is not all, nor is nearly none nothing.
  if (Number(text) === 100 && value < 100 - ROUNDING) return '> 99.9';
  if (Number(text) === 0 && Math.abs(value) > ROUNDING) return value > 0 ? '< 0.01' : '> −0.01';
  return signed(String(Math.abs(Number(text)) === 0 ? 0 : Number(text)));
}

function signed(text: string): string {
  return text.replaceAll('-', '−');
}
