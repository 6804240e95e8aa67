// The model of recorded episodes: all of them, and how sure it may be, found by asking about each action without what was recorded of its
// task.

import { canonicalJson } from '../../core/canonical-json.js';
import type { ScreenState } from '../../env/screens/screen-state.js';
import type { RecordedFit, RecordedFitRequest } from '../../worldmodel/from-records.js';
import { type JudgedStep, judgeRecords } from '../../worldmodel/from-records.js';
import { LiftedBook, type LiftedContents, recordedActs, walksOf } from './lifted-model.js';
import type { RecordedAct } from './transfer.js';

export async function fitLifted(request: RecordedFitRequest): Promise<RecordedFit<LiftedContents>> {
  const { domain, episodes } = request;
  const walks = walksOf(episodes, domain);
  const acts = recordedActs(walks);
  const book = new LiftedBook(acts);
  const tasks = tasksOfFamilies(acts);
  const { calibration, report } = await judgeRecords(request, {
    ...{ steps: acts, unit: 'actions' },
    keyOf: ({ act }) => `${treeText(act.state)} ${JSON.stringify(act.call)}`,
    judge: (one) => judge(book, one, (tasks.get(one.family)?.size ?? 0) > 1),
  });
  return { contents: { domain: domain.id, walks, calibration, exactness: report.exact }, report };
}

function tasksOfFamilies(acts: readonly RecordedAct[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { family, task } of acts) found.set(family, (found.get(family) ?? new Set()).add(task));
  return found;
}

/** Without its task, where there are others of its family; else without its episode. */
function judge(
  book: LiftedBook,
  { act, after, isError, task, episode }: RecordedAct,
  hasOthers: boolean,
): JudgedStep & { readonly evidence: number } {
  const said = book.say(act, (one) => (hasOthers ? one.task !== task : one.episode !== episode));
  const changes = Object.keys(after.elements).filter((id) => after.elements[id] !== act.state.elements[id]).length;
  const isErrorRight = said !== undefined && (said.after === undefined) === isError;
  const simulated = said?.after ?? act.state;
  const isStateExact = isErrorRight && treeText(simulated) === treeText(after);
  return {
    changes: Math.min(changes, MANY),
    isStateExact,
    // The text is drawn from the state.
    isTextExact: isStateExact,
    isEndExact: simulated.done === after.done && simulated.reward === after.reward,
    evidence: said?.evidence ?? 0,
  };
}

/** Changed elements that are told apart by their number. */
const MANY = 4;

/** All that is on a screen, and where the keyboard is. */
function treeText({ elements, focused, done, reward }: ScreenState): string {
  return canonicalJson({ elements, focused, done, reward });
}
