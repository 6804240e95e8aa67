// The part of the report that says what the agent cannot do yet, and how it does in tasks that were made to train it.

import { type Deficit, deficitText } from '../../../synth/index.js';
import { formatCount } from '../../format.js';
import type { ReportSection } from '../../report/report-input.js';
import type { RowStatistics } from './row-statistics.js';

const COLUMNS = [
  'the agent',
  'episodes lost',
  'success where it is needed',
  'elsewhere',
  'tasks that it lost',
  'tasks made for it',
];
const SHOWN_TASKS = 4;

/** Nothing where nothing was lost that can be named, and nothing was aimed at. */
export function deficitSection(
  deficits: readonly Deficit[],
  { returnsByAim }: Pick<RowStatistics, 'returnsByAim'>,
): ReportSection[] {
  const known = new Set(deficits.map(({ name }) => name));
  const mastered = [...returnsByAim.keys()].filter((name) => !known.has(name)).sort();
  if (known.size === 0 && mastered.length === 0) return [];
  const made = (name: string) => aimedText(returnsByAim.get(name));
  const rows = [
    ...deficits.map((deficit) => [...deficitCells(deficit), made(deficit.name)]),
    ...mastered.map((name) => [deficitText(name), '0', '–', '–', '–', made(name)]),
  ];
  const caption =
    'What was done in the step that lost an episode, held against what the task’s solution would have done there. Where tasks show whether they need it, success in those that do stands beside success in the others. A run with --aim makes new tasks for each.';
  return [{ title: 'What the agent cannot do yet', caption, table: { columns: COLUMNS, rows }, groups: [] }];
}

function deficitCells({ name, lost, needed, elsewhere, tasks }: Deficit): string[] {
  const more = tasks.length > SHOWN_TASKS ? ` and ${formatCount(tasks.length - SHOWN_TASKS)} more` : '';
  const where = `${tasks.slice(0, SHOWN_TASKS).join(', ')}${more}`;
  return [deficitText(name), formatCount(lost), shareText(needed), shareText(elsewhere), where];
}

function shareText(share: Deficit['needed']): string {
  return share === null || share.of === 0 ? '–' : `${Math.round((100 * share.succeeded) / share.of)} % of ${share.of}`;
}

function aimedText(returns: readonly number[] | undefined): string {
  if (returns === undefined) return '–';
  return shareText({ succeeded: returns.filter((reward) => reward > 0.5).length, of: returns.length });
}
