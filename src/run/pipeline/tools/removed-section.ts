// The part of the report that shows what each filter removed: before and after, and examples of each kind to read.

import { type DatasetReport, type FilterReport, type RemovedExample, stagesOf } from '../../../synth/index.js';
import { formatCount } from '../../format.js';
import type { ReportSection, ReportTranscript } from '../../report/report-input.js';
import { linesOf } from './episode-transcript.js';

const COLUMNS = ['filter', 'episodes', 'turns to be learnt', 'removed', 'in episodes', 'turns'];

export function removedSection(quality: DatasetReport): ReportSection {
  const stages = stagesOf(quality);
  return {
    title: 'What each filter removed',
    caption:
      'Episodes, and turns of the agent that are to be learnt, before and after each filter. A turn that is removed by itself stays in its conversation and is not learnt; of an episode that is cut or dropped all turns from there on go.',
    table: { columns: COLUMNS, rows: stages.flatMap(stageRows) },
    groups: stages.flatMap(groups),
  };
}

function stageRows({ name, in: before, out, turnsIn, turnsOut, removed }: FilterReport): string[][] {
  const own = [name, change(before, out), change(turnsIn, turnsOut)];
  const kinds = Object.entries(removed).map(([kind, { episodes, turns }]) => [
    ...[kind, formatCount(episodes)],
    formatCount(turns),
  ]);
  if (kinds.length === 0) return [[...own, '–', '', '']];
  return kinds.map((cells, at) => [...(at === 0 ? own : ['', '', '']), ...cells]);
}

function change(before: number, after: number): string {
  return before === after ? formatCount(after) : `${formatCount(before)} → ${formatCount(after)}`;
}

function groups({ name, removed }: FilterReport): ReportSection['groups'] {
  return Object.entries(removed).map(([kind, { episodes, turns, examples }]) => ({
    title: `${name} · ${kind} · ${examples.length} of ${formatCount(episodes)} episodes, ${formatCount(turns)} turns`,
    transcripts: examples.map(exampleTranscript),
  }));
}

function exampleTranscript({ task, row, because, messages, turn, omitted }: RemovedExample): ReportTranscript {
  const lines = messages.flatMap((message, at) => {
    const told = linesOf(message, new Map());
    const gap = { role: 'omitted', text: `${formatCount(omitted)} messages` } as const;
    const marked = at === turn ? told.map((line) => ({ ...line, note: 'removed' })) : told;
    return at === 1 && omitted > 0 ? [gap, ...marked] : marked;
  });
  return { title: `${task} · row ${row}`, lines: [...lines, { role: 'verdict', text: because, note: 'why' }] };
}
