// The part of the report that says what the agent cannot do yet.

import { type Deficit, deficitText } from '../../../synth/signals/deficits.js';
import { formatCount } from '../../format.js';
import type { ReportSection } from '../../report/report-input.js';

const COLUMNS = ['the agent', 'episodes lost', 'success where it is needed', 'elsewhere', 'tasks that it lost'];
const SHOWN_TASKS = 4;

/** Nothing where nothing was lost that can be named. */
export function deficitSection(deficits: readonly Deficit[]): ReportSection[] {
  if (deficits.length === 0) return [];
  const caption =
    'What was done in the step that lost an episode, held against what the task’s solution would have done there. Where tasks show whether they need it, success in those that do stands beside success in the others.';
  const table = { columns: COLUMNS, rows: deficits.map(deficitCells) };
  return [{ title: 'What the agent cannot do yet', caption, table, groups: [] }];
}

function deficitCells({ name, lost, needed, elsewhere, tasks }: Deficit): string[] {
  const more = tasks.length > SHOWN_TASKS ? ` and ${formatCount(tasks.length - SHOWN_TASKS)} more` : '';
  const where = `${tasks.slice(0, SHOWN_TASKS).join(', ')}${more}`;
  return [deficitText(name), formatCount(lost), shareText(needed), shareText(elsewhere), where];
}

function shareText(share: Deficit['needed']): string {
  return share === null || share.of === 0 ? '–' : `${Math.round((100 * share.succeeded) / share.of)} % of ${share.of}`;
}
