// How a job's result reads on a terminal.

import type { Fact, Report } from '../core/report.js';
import { formatCount, formatDuration, formatNumber } from './format.js';
import type { FidelityResult, JobResult, QuickstartResult } from './job.js';
import { viewFor } from './jobs.js';
import { terminalText } from './report.js';

/**
 * The result as lines for a human, as its kind of world says them.
 * @param columns width of the terminal
 */
export async function resultText(result: JobResult, columns?: number): Promise<string> {
  const report = (await viewFor(result)) as ((result: never) => Report) | undefined;
  return terminalText(report?.(result as never) ?? resultFacts(result, plainFacts(result)), columns);
}

/** @param facts what is told of it beside the evaluation set and the wall time */
export function resultFacts(result: Pick<JobResult, 'wallSeconds' | 'panel'>, facts: readonly Fact[]): Report {
  const { panel, wallSeconds } = result;
  const about: Fact[] = [
    ...(panel === undefined ? [] : [['evaluation set', panel.hash] as const]),
    ['wall time', formatDuration(wallSeconds)],
  ];
  return { title: '', blocks: [{ kind: 'facts', rows: [...facts, ...about] }] };
}

export function fidelityText(result: FidelityResult): Report {
  const { subjects, gates, report } = result;
  return resultFacts(result, [
    ...subjects.flatMap(({ name, headlines }): Fact[] => [
      ['model', name],
      ...headlines.map(({ label, text }): Fact => [`  ${label}`, text]),
    ]),
    ...gates.map(
      ({ metric, limit, value, passed }): Fact => [
        passed ? 'gate passed' : 'GATE FAILED',
        `${metric} ${value === null ? 'was not measured' : formatNumber(value)}, limit ${formatNumber(limit)}`,
      ],
    ),
    ['report', report],
  ]);
}

/** What a comparison of trainings says at its head, and its table. */
export function quickstartText(
  result: Pick<QuickstartResult, 'wallSeconds' | 'panel' | 'report' | 'reportInput'> &
    Partial<Pick<QuickstartResult, 'policy'>>,
): Report {
  const { title, blocks } = result.reportInput;
  const { policy } = result;
  const taken: Fact[] =
    policy === undefined ? [] : [['policy', `${policy.checkpoint} ("${policy.arm}", seed ${policy.seed})`]];
  const head = blocks.filter((block) => block.kind === 'paragraph' && block.tone === 'lead');
  const table = blocks.filter(({ kind }) => kind === 'table').slice(0, 1);
  const facts = resultFacts(result, [...taken, ['report', result.report]]);
  return { title, blocks: [...head, ...table, ...facts.blocks] };
}

function plainFacts({ wallSeconds: _, job: __, family: ___, ...rest }: JobResult): Fact[] {
  const told = Object.entries(rest).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  return told.map(([key, value]) => [
    key,
    typeof value !== 'number' ? String(value) : Number.isInteger(value) ? formatCount(value) : formatNumber(value),
  ]);
}
