// What was found, as a report for people: what is read first, gates, what differs, then section by section, of all models side by
// side. And a model card of one of them.

import type { JsonObject } from '../core/canonical-json.js';
import type { Bar, BarsBlock, Block, Cell, CurvesBlock, Report } from '../core/report.js';
import type { Metric, WorstTransition } from './report.js';
import {
  type BarsFigure,
  type CurvesFigure,
  constructionOf,
  differenceText,
  estimateText,
  figuresOf,
  gateText,
  headlineMetrics,
  headlineRows,
  intervalText,
  type MetricRow,
  notesOf,
  type SectionGroup,
  type ShownReport,
  type ShownSubject,
  sectionGroups,
  tablesOf,
  truthText,
  turnOf,
  valueText,
} from './shown.js';
import type { Estimate } from './statistics/estimate.js';

export function fidelityDocument(report: ShownReport): Report {
  const groups = sectionGroups(report);
  const headlines = headlineRows(report);
  const compared =
    report.comparisons.length === 0
      ? ''
      : ` ▲ and ▼ mark differences from ${report.subjects[0].name} that hold at 5 % for all ${report.comparisons.length} comparisons of this report together (paired, Holm).`;
  return {
    title: `How far the simulation of ${report.scenario} is from the real`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: truthText(report) },
      ...incomplete(report),
      { kind: 'heading', text: 'At a glance' },
      trustFigures(report, headlines),
      ...gateLists(report),
      ...measures(
        report,
        headlines.filter(({ name }) => !name.startsWith('horizon.')),
      ),
      { kind: 'paragraph', tone: 'note', text: `Bars are values, lines within them intervals of 95 %.${compared}` },
      ...groups.flatMap((group) => sectionBlocks(report, group)),
      { kind: 'heading', text: 'Where this is from' },
      {
        kind: 'facts',
        rows: [
          ...report.subjects.map(({ name, kind, version }) => [name, `${kind} ${version}`] as const),
          ['truth', `${report.truth.kind}: ${report.truth.description}, version ${report.truth.version}`],
          ...Object.entries(report.provenance).map(
            ([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const,
          ),
        ],
      },
    ],
  };
}

function incomplete({ incomplete: text }: ShownReport): Block[] {
  return text === undefined ? [] : [{ kind: 'paragraph', tone: 'warning', text }];
}

/** How far each model can be trusted. */
function trustFigures({ subjects }: ShownReport, rows: readonly MetricRow[]): Block {
  const trust = rows.find(({ name }) => name.startsWith('horizon.'));
  return {
    kind: 'figures',
    items: subjects.map(({ name, sections }, i) => {
      const estimate = trust?.estimates[i];
      const value = estimate?.value ?? null;
      const interval = value === null ? '' : intervalText(estimate!, trust!.metric.unit);
      const said = sections.find(({ id }) => id === 'horizon')?.summary;
      return {
        value: value === null ? '–' : valueText(value, trust!.metric.unit),
        label: `trust horizon of ${name}${interval === '' ? '' : `, ${interval}`}`,
        text: said ?? 'How far it can be trusted was not measured.',
      };
    }),
  };
}

function gateLists(report: ShownReport): Block[] {
  const rows = sectionGroups(report).flatMap((group) => group.rows);
  const lines = report.gates.map((gate) => {
    const unit = rows.find(({ name }) => name === gate.metric)?.metric.unit ?? 'number';
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

const BETTER = { higher: ' ↑', lower: ' ↓', neither: '' };
const MARKS = { better: '▲ better', worse: '▼ worse', different: '◆ different' };

/** Metrics as a table, a line a model. */
function measures({ subjects }: ShownReport, rows: readonly MetricRow[], isExplained = false): Block[] {
  if (rows.length === 0) return [];
  const isAlone = subjects.length === 1;
  const lines = rows.flatMap(({ name, metric, estimates, comparisons }) =>
    subjects.map((subject, i): Cell[] => {
      const estimate = estimates[i];
      const comparison = comparisons[i];
      const turn = turnOf(comparison);
      const about = `${metric.meaning} (${name})`;
      return [
        { text: `${metric.label}${BETTER[metric.better]}`, about: isExplained && i === 0 ? about : undefined },
        ...(isAlone ? [] : [subject.name]),
        {
          text: estimate === undefined ? 'not measured' : valueText(estimate.value, metric.unit),
          bar: barOf(metric.unit, estimate, estimates, i, isAlone),
        },
        estimate === undefined ? '' : intervalText(estimate, metric.unit),
        estimate === undefined || estimate.n === 0 ? '' : estimate.n.toLocaleString('en-US'),
        ...(isAlone
          ? []
          : [turn === undefined ? '' : `${MARKS[turn]}, ${differenceText(comparison!.difference, metric.unit)}`]),
      ];
    }),
  );
  const columns = ['', ...(isAlone ? [] : ['model']), 'value', '95 %', 'n', ...(isAlone ? [] : ['against the first'])];
  return [{ kind: 'table', columns, rows: lines }];
}

/** Alone, what is no share has nothing that its length could be held against. */
function barOf(
  unit: Metric['unit'],
  estimate: Estimate | undefined,
  beside: readonly (Estimate | undefined)[],
  colour: number,
  isAlone: boolean,
): Bar | undefined {
  if (estimate?.value == null || (isAlone && unit !== 'share')) return undefined;
  return { ...bare(estimate, colour)!, range: rangeOf(beside, unit) };
}

function bare({ value, low, high }: Estimate, colour: number): Omit<Bar, 'range'> | null {
  if (value === null) return null;
  return { value, colour, ...(low === null || high === null ? {} : { low, high }) };
}

/** Shares go from 0 to 1, all else from 0 to the largest. */
function rangeOf(estimates: readonly (Estimate | undefined)[], unit: Metric['unit']): readonly [number, number] {
  const ends = estimates.flatMap((one) => [one?.value ?? 0, one?.low ?? 0, one?.high ?? 0]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  return (unit === 'share' && low === 0) || low === high ? [low, Math.max(1, high)] : [low, high];
}

/** Further metrics are folded. */
const SHOWN_METRICS = 8;

function sectionBlocks(report: ShownReport, group: SectionGroup): Block[] {
  const names = report.subjects.map(({ name }) => name);
  const { parts, rows, title } = group;
  const summaries = [...new Set(parts.map(({ section }) => section.summary))];
  const further = measures(report, rows.slice(SHOWN_METRICS), true);
  const notes = notesOf(group, names).map(({ text, of }) => (of.length === 0 ? text : `${of.join(', ')}: ${text}`));
  return [
    { kind: 'heading', text: title },
    ...(summaries.length === 1
      ? [{ kind: 'paragraph', text: summaries[0] } as const]
      : parts.map(
          ({ subject, section }) => ({ kind: 'paragraph', text: `${names[subject]}: ${section.summary}` }) as const,
        )),
    ...measures(report, rows.slice(0, SHOWN_METRICS), true),
    ...(further.length === 0
      ? []
      : [{ kind: 'details', title: `More metrics: ${rows.length - SHOWN_METRICS}`, blocks: further } as const]),
    ...figuresOf(group, names).flatMap((figure): Block[] =>
      figure.kind === 'bars' ? [barsBlock(figure)] : curvesBlocks(figure),
    ),
    ...tablesOf(group, names).map((table) => ({ kind: 'table', alignment: 'text', ...table }) as const),
    ...parts.flatMap(({ subject, section }) =>
      section.worst.map((one) => worstBlock(one, names.length === 1 ? '' : `${names[subject]}: `)),
    ),
    ...(notes.length === 0 ? [] : [{ kind: 'list', items: notes, tone: 'note' } as const]),
  ];
}

function barsBlock({ title, caption, groups }: BarsFigure): BarsBlock {
  const units = new Set(groups.map(({ unit }) => unit));
  const estimates = groups.flatMap(({ bars }) => bars.map(({ estimate }) => estimate));
  return {
    ...{ kind: 'bars', title, caption },
    ...(units.size === 1 ? { range: rangeOf(estimates, groups[0].unit) } : {}),
    bars: groups.flatMap(({ label, unit, bars }) =>
      bars.map(({ name, colour, estimate }) => ({
        label: bars.length === 1 ? label : `${label}, ${name}`,
        text: estimateText(estimate, unit),
        bar: bare(estimate, colour),
      })),
    ),
  };
}

/** A chart for each panel. */
function curvesBlocks({ title, caption, xTitle, yTitle, yScale, diagonal, kind, panels }: CurvesFigure): CurvesBlock[] {
  return panels.map((panel) => ({
    kind: 'curves',
    title: panel.title === '' ? title : `${title}: ${panel.title}`,
    ...{ caption, xTitle, yTitle, yScale, diagonal, isScatter: kind === 'points' },
    curves: panel.series,
  }));
}

/** Letters of one JSON text; a state may be a whole database. */
const MOST_LETTERS = 20_000;

function worstBlock(worst: WorstTransition, whose: string): Block {
  const { title, badness, backend, confidence, differences, context, action, real, dreamt } = worst;
  const facts = [
    ...(backend === undefined ? [] : [`answered by ${backend}`]),
    ...(confidence === undefined ? [] : [`confidence ${valueText(confidence, 'number')}`]),
    `badness ${valueText(badness, 'number')}`,
  ];
  const code = (value: unknown): Block => {
    const text = JSON.stringify(value, null, 2);
    const more = text.length - MOST_LETTERS;
    return { kind: 'code', text: more <= 0 ? text : `${text.slice(0, MOST_LETTERS)}\n… ${more} more letters` };
  };
  const said = (value: unknown) => (value === undefined ? 'nothing there' : JSON.stringify(value));
  return {
    kind: 'details',
    title: `Worst: ${whose}${title} (${facts.join(', ')})`,
    blocks: [
      ...(differences.length === 0
        ? []
        : [
            {
              kind: 'table',
              columns: ['what differs', 'real', 'simulated'],
              rows: differences.map((one) => [one.path, said(one.real), said(one.dreamt)]),
              alignment: 'text',
            } as const,
          ]),
      code({ context, action }),
      code({ real, simulated: dreamt }),
    ],
  };
}

// A model card (README.md) of a judged world model: what it is, what it was held against, what it can be trusted with.

/** Words of model cards, by the kind of world: the tag as Hugging Face knows such models, and what is predicted. */
const CARDS: Readonly<Record<string, { readonly tag: string; readonly world: string } | undefined>> = {
  vector: { tag: 'model-based-rl', world: 'transitions of numbers' },
  tools: { tag: 'tool-use', world: 'tool calls over a typed state' },
};

/** Front matter as Hugging Face reads it, with results as a `model-index`, and the card of the first model. */
export function modelCard(report: ShownReport): { readonly frontMatter: JsonObject; readonly card: Report } {
  const [model] = report.subjects;
  const { scenario, family, truth, provenance } = report;
  const { kind, version, sections } = model;
  const horizon = sections.find(({ id }) => id === 'horizon');
  const world = CARDS[family]?.world ?? family;
  return {
    frontMatter: frontMatterOf(report, model),
    card: {
      title: `${model.name}, a world model of ${scenario}`,
      blocks: [
        {
          kind: 'paragraph',
          text: `A world model of kind ${kind}, version ${version}: it answers what would happen next in the scenario ${scenario} (${world}).`,
        },
        ...incomplete(report),
        { kind: 'heading', text: 'How far to trust it' },
        {
          kind: 'paragraph',
          text:
            horizon?.summary ??
            'Its trust horizon was not measured: do not simulate with it for more than one step at a time.',
        },
        { kind: 'heading', text: 'Headline numbers' },
        { kind: 'paragraph', text: truthText({ truth, subjects: [model] }) },
        {
          kind: 'table',
          columns: ['', 'value (95 %)', 'what it means', 'key'],
          rows: headlineMetrics(model).map(({ name, metric: { label, estimate, unit, meaning } }) => [
            label,
            estimateText(estimate, unit),
            meaning,
            name,
          ]),
        },
        { kind: 'heading', text: 'What was found' },
        { kind: 'facts', rows: sections.map(({ title, summary }) => [title, summary]) },
        { kind: 'heading', text: 'Limits' },
        { kind: 'list', items: limitsOf(model) },
        { kind: 'heading', text: 'Where the numbers are from' },
        { kind: 'code', text: JSON.stringify({ model: { kind, version }, truth, ...provenance }, null, 2) },
      ],
    },
  };
}

function frontMatterOf({ scenario, family }: ShownReport, model: ShownSubject): JsonObject {
  const metrics = headlineMetrics(model).flatMap(({ name: type, metric: { label: name, estimate } }) =>
    estimate.value === null ? [] : [{ type, name, value: Number(estimate.value.toPrecision(4)) }],
  );
  const task = { type: 'reinforcement-learning', name: 'world modelling' };
  return {
    license: 'unknown',
    library_name: 'reverie',
    pipeline_tag: 'reinforcement-learning',
    tags: ['world-model', CARDS[family]?.tag ?? family, 'reverie'],
    'model-index': [{ name: model.name, results: [{ task, dataset: { type: scenario, name: scenario }, metrics }] }],
  };
}

/** What could not be measured, and what it gets most wrong. */
function limitsOf({ sections }: ShownSubject): string[] {
  const worst = sections.flatMap((section) =>
    section.worst.slice(0, 1).map(({ title }) => `It got most wrong: ${title}.`),
  );
  const notes = sections.flatMap(({ title, notes: own }) => own.map((note) => `${title}: ${note}`));
  const general = 'What was measured holds for states and actions like those it was held against, and for no others.';
  return [general, ...worst, ...notes];
}
