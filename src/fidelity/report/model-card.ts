// A model card (README.md) of a judged world model: what it is, what it was held against, what it can be trusted with.
// Front matter as Hugging Face reads it, with results as a `model-index`.

import { stringify } from 'yaml';
import type { JsonObject } from '../../core/json.js';
import { headlineMetrics } from './headlines.js';
import { bullets, fencedJson, markdownTable, paragraphs, plain } from './markdown-text.js';
import type { ShownSubject } from './metric-lookup.js';
import { type ShownReport, truthText } from './shown-report.js';
import { estimateText } from './wording.js';

export interface ModelCardOptions {
  /** Place of the model among those of the report; 0 unless said. */
  readonly subject?: number;
  /** SPDX id in lower case, as Hugging Face has it; `unknown` unless said. */
  readonly license?: string;
}

/** The card as text; files of the model itself are none of its business. */
export function modelCard(report: ShownReport, { subject = 0, license = 'unknown' }: ModelCardOptions = {}): string {
  const model = report.subjects[subject];
  const body = [
    `# ${plain(model.name)}, a world model of ${plain(report.scenario)}`,
    whatItIs(report, model),
    report.incomplete === undefined ? '' : `**${plain(report.incomplete)}**`,
    trust(model),
    '## Headline numbers',
    plain(truthText({ ...report, subjects: [model] })),
    numbers(model),
    ...findings(model),
    limits(model),
    provenance(report, model),
  ];
  return `---\n${stringify(frontMatter(report, model, license))}---\n\n${paragraphs(body)}\n`;
}

function frontMatter({ scenario, family }: ShownReport, model: ShownSubject, license: string): JsonObject {
  const metrics = headlineMetrics(model).flatMap(({ name: type, metric: { label: name, estimate } }) =>
    estimate.value === null ? [] : [{ type, name, value: Number(estimate.value.toPrecision(4)) }],
  );
  const task = { type: 'reinforcement-learning', name: 'world modelling' };
  const results = [{ task, dataset: { type: scenario, name: scenario }, metrics }];
  return {
    license,
    library_name: 'reverie',
    pipeline_tag: 'reinforcement-learning',
    tags: ['world-model', family === 'tools' ? 'tool-use' : 'model-based-rl', 'reverie'],
    'model-index': [{ name: model.name, results }],
  };
}

function whatItIs({ scenario, family }: ShownReport, { kind, version }: ShownSubject): string {
  const world = family === 'tools' ? 'tool calls over a typed state' : 'transitions of numbers';
  return `A world model of kind \`${plain(kind)}\`, version \`${plain(version)}\`: it answers what would happen next in the scenario ${plain(scenario)} (${world}).`;
}

/** How far it may be dreamt with. */
function trust({ sections }: ShownSubject): string {
  const horizon = sections.find(({ id }) => id === 'horizon');
  const text =
    horizon === undefined
      ? 'Its trust horizon was not measured: do not dream with it for more than one step at a time.'
      : [
          horizon.summary,
          ...horizon.metrics.map(({ label, estimate, unit }) => `${label}: ${estimateText(estimate, unit)}.`),
        ].join(' ');
  return paragraphs(['## How far to trust it', plain(text)]);
}

function numbers(model: ShownSubject): string {
  const rows = headlineMetrics(model).map(({ name, metric: { label, estimate, unit, meaning } }) => [
    label,
    estimateText(estimate, unit),
    meaning,
    name,
  ]);
  return markdownTable(['', 'value (95 %)', 'what it means', 'key'], rows);
}

function findings({ sections }: ShownSubject): string[] {
  const lines = sections.map(({ title, summary }) => `**${plain(title)}.** ${plain(summary)}`);
  return ['## What was found', bullets(lines)];
}

/** What could not be measured, and what it gets most wrong. */
function limits({ sections }: ShownSubject): string {
  const notes = sections.flatMap(({ title, notes }) => notes.map((note) => `${plain(title)}: ${plain(note)}`));
  const worst = sections.flatMap(({ worst }) =>
    worst.slice(0, 1).map(({ title }) => `It got most wrong: ${plain(title)}.`),
  );
  const general = 'What was measured holds for states and actions like those it was held against, and for no others.';
  return paragraphs(['## Limits', bullets([general, ...worst, ...notes])]);
}

function provenance({ truth, provenance: from }: ShownReport, { kind, version }: ShownSubject): string {
  return paragraphs(['## Where the numbers are from', fencedJson({ model: { kind, version }, truth, ...from })]);
}
