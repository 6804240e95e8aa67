// Many steps: real episodes' calls carried out open loop in the dream, and episodes whose calls were chosen in the dream
// carried out for real (the consistency ratio of Word2World, 2512.18832: success for real over success in the dream).

import type { Finding, Instrument } from '../instrument.js';
import type { FidelityTable, LinesChart, WorstTransition } from '../report/fidelity-report.js';
import { shareEstimate } from '../statistics/share.js';
import { findingOf, percent } from './found-metric.js';
import { kStepMetrics } from './k-step-metrics.js';
import type { LivedEpisodes, LivedRow } from './lived-episodes.js';
import { type CarrySequence, type OpenLoopRow, openLoopRow, type TrueSequence } from './open-loop.js';

/** Episodes of one chunk. */
const EPISODES = 4;
const SHOWN = 8;

export interface KStepsOptions {
  readonly sequences: readonly TrueSequence[];
  readonly carry: CarrySequence;
  readonly lived: LivedEpisodes;
  readonly notes?: readonly string[];
}

type Row = OpenLoopRow | LivedRow;

export function kStepsInstrument(options: KStepsOptions): Instrument<Row> {
  const { sequences, lived, carry } = options;
  const open = Math.ceil(sequences.length / EPISODES);
  return {
    id: 'k-steps',
    chunks: open + Math.ceil(lived.count / EPISODES),
    unit: 'episodes',
    measure: async (chunk, signal) => {
      const rows: Row[] = [];
      const from = (chunk < open ? chunk : chunk - open) * EPISODES;
      const end = Math.min(from + EPISODES, chunk < open ? sequences.length : lived.count);
      for (let episode = from; episode < end; episode++) {
        rows.push(
          chunk < open
            ? await openLoopRow({ sequence: sequences[episode], episode, carry, signal })
            : await lived.row(episode, signal),
        );
      }
      return rows;
    },
    conclude: (rows) => concluded(options, rows),
  };
}

function concluded({ sequences, lived, notes = [] }: KStepsOptions, rows: readonly Row[]): Finding {
  const loops = rows.filter((row) => row.kind === 'open-loop');
  const episodes = rows.filter((row) => row.kind === 'lived');
  const found = kStepMetrics(loops, episodes);
  const estimate = (key: string) => found.find(({ metric }) => metric.key === key)!.metric.estimate;
  return findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Of ${loops.length} real episodes carried out in the dream, ${percent(estimate('end-state'))} end in the real state, and ${percent(estimate('observations-all-right'))} are answered in the real words throughout.`,
      charts: [survivalChart(loops)],
      tables: [divergenceTable(loops)],
      worst: worstDivergences(loops, sequences),
      notes: [...notes, ...notesOf(loops, lived)],
    },
    found,
  );
}

function notesOf(loops: readonly OpenLoopRow[], lived: LivedEpisodes): string[] {
  const cut = loops.filter(({ isWhole }) => !isWhole).length;
  const stateless = loops.some(({ steps }) => steps.some(({ state }) => state === null));
  return [
    'What was said in an episode stays as it was, whatever the dream answered: an agent would have reacted.',
    'A state that turned wrong and right again counts as wrong once and right later; first divergence does not forgive.',
    ...(cut === 0 ? [] : [`${cut} episodes broke off at a call that got no answer; they count up to there.`]),
    ...(stateless ? ['Of some steps no state is known, for real or in the dream: only their observations count.'] : []),
    ...(lived.hasTruth ? [] : ['No rules carry dreamt calls out for real: the consistency ratio is not known.']),
  ];
}

function survivalChart(loops: readonly OpenLoopRow[]): LinesChart {
  const longest = Math.max(0, ...loops.map(({ steps }) => steps.length));
  const points = (rightAt: (row: OpenLoopRow, step: number) => boolean | null) =>
    Array.from({ length: longest }, (_, step) => {
      const there = loops
        .filter(({ steps }) => steps.length > step)
        .map((row) => rightAt(row, step))
        .filter((right) => right !== null);
      const { value, low, high } = shareEstimate(there.filter(Boolean).length, there.length);
      return value === null ? [] : [{ x: step + 1, y: value, low: low!, high: high! }];
    }).flat();
  return {
    kind: 'lines',
    title: 'Still right after so many steps',
    caption:
      'Share of episodes that are right at a step, of those that have it, under the calls that were made for real.',
    xTitle: 'step',
    yTitle: 'share right',
    series: [
      { name: 'state', points: points(({ steps }, step) => steps[step].state) },
      { name: 'observation', points: points(({ steps }, step) => steps[step].observation) },
    ],
  };
}

function divergenceTable(loops: readonly OpenLoopRow[]): FidelityTable {
  const counts = new Map<string, number>();
  for (const { divergence } of loops) {
    if (divergence === null) continue;
    const { name } = divergence.call as { name: string };
    const key = JSON.stringify([name, divergence.backend]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, a], [, b]) => b - a).slice(0, 2 * SHOWN);
  return {
    title: 'Where episodes first went wrong',
    columns: ['tool', 'backend', 'episodes'],
    rows: rows.map(([key, count]) => [...(JSON.parse(key) as [string, string]), String(count)]),
  };
}

/** The earliest ones, as they spoil most. */
function worstDivergences(loops: readonly OpenLoopRow[], sequences: readonly TrueSequence[]): WorstTransition[] {
  return loops
    .flatMap(({ divergence, steps, episode }) => (divergence === null ? [] : [{ divergence, steps, episode }]))
    .map((row) => ({ ...row, badness: 1 - row.divergence.step / row.steps.length }))
    .sort((a, b) => b.badness - a.badness)
    .slice(0, SHOWN)
    .map(({ divergence, episode, steps, badness }) => {
      const { id, task } = sequences[episode];
      const { step, call, real, dreamt, backend, confidence, differences } = divergence;
      const title = `step ${step + 1} of ${steps.length} in ${task.id}`;
      const context = { episode: id, task: task.id, step: step + 1, steps: steps.length };
      return { title, badness, context, action: call, real, dreamt, differences, backend, confidence };
    });
}
