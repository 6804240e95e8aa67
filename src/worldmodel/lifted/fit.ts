// The model of recorded episodes: all of them, and how sure it may be, found by asking about each action without what was recorded of its
// task.

import { canonicalJson } from '../../core/canonical-json.js';
import type { ScreenState } from '../../env/index.js';
import { calibrate, confidenceOf } from '../sequence/calibration.js';
import type { BackendFitReport, BackendFitRequest } from '../tools/backend-model.js';
import { LiftedBook } from './lifted-book.js';
import type { LiftedContents } from './lifted-file.js';
import { recordedActs, walksOf } from './recorded-acts.js';
import type { RecordedAct } from './transfer.js';

export interface LiftedSettings {
  readonly model?: string;
  readonly minConfidence: number;
  readonly minExactness: number;
  readonly fit: { readonly heldOutSteps: number };
}

export interface LiftedFit {
  readonly contents: LiftedContents;
  readonly report: BackendFitReport;
}

interface Judged {
  readonly changes: number;
  readonly isExact: boolean;
  readonly isErrorRight: boolean;
  readonly isEndRight: boolean;
  readonly evidence: number;
}

type Request = Pick<BackendFitRequest, 'domain' | 'episodes' | 'rng' | 'signal' | 'onProgress'>;

/** The same request gives the same model. @throws the signal's reason */
export async function fitLifted(request: Request & { readonly settings: LiftedSettings }): Promise<LiftedFit> {
  const { domain, episodes, settings, rng, signal, onProgress } = request;
  const walks = walksOf(episodes, domain);
  const acts = recordedActs(walks);
  const book = new LiftedBook(acts);
  const most = Math.min(acts.length, settings.fit.heldOutSteps);
  const asked = [...rng.permutation(acts.length)].slice(0, most).map((i) => acts[i]);
  const others = tasksOfFamilies(acts);
  const judged: Judged[] = [];
  for (const one of asked) {
    signal.throwIfAborted();
    judged.push(judge(book, one, (others.get(one.family)?.size ?? 0) > 1));
    onProgress({ phase: 'judge', unit: 'actions', done: judged.length, total: most });
    // So that it can be stopped.
    if (judged.length % 16 === 0) await new Promise(setImmediate);
  }
  const calibration = calibrate(judged.map(({ evidence, isExact }) => ({ logProb: evidence, isRight: isExact })));
  const report = reportOf(judged, acts, (evidence) => confidenceOf(calibration, evidence) >= settings.minConfidence);
  const contents = { domain: domain.id, walks, calibration, exactness: report.stateExact };
  return { contents, report };
}

function tasksOfFamilies(acts: readonly RecordedAct[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { family, task } of acts) found.set(family, (found.get(family) ?? new Set()).add(task));
  return found;
}

/** Without its task, where there are others of its family; else without its episode. */
function judge(book: LiftedBook, { act, after, isError, task, episode }: RecordedAct, hasOthers: boolean): Judged {
  const said = book.say(act, (one) => (hasOthers ? one.task !== task : one.episode !== episode));
  const changes = Object.keys(after.elements).filter((id) => after.elements[id] !== act.state.elements[id]).length;
  const isErrorRight = said !== undefined && (said.after === undefined) === isError;
  const dreamt = said?.after ?? act.state;
  return {
    changes,
    isErrorRight,
    isExact: isErrorRight && treeText(dreamt) === treeText(after),
    isEndRight: dreamt.done === after.done && dreamt.reward === after.reward,
    evidence: said?.evidence ?? 0,
  };
}

function reportOf(
  judged: readonly Judged[],
  acts: readonly RecordedAct[],
  isSure: (evidence: number) => boolean,
): BackendFitReport {
  const share = (list: readonly Judged[], is: (one: Judged) => boolean) =>
    list.length === 0 ? 0 : list.filter(is).length / list.length;
  const sure = judged.filter(({ evidence }) => isSure(evidence));
  const stateExact = share(judged, ({ isExact }) => isExact);
  const counts = [...new Set(judged.map(({ changes }) => Math.min(changes, MANY)))].sort((a, b) => a - b);
  const byChanges = counts.map((changes) => {
    const own = judged.filter((one) => Math.min(one.changes, MANY) === changes);
    return { changes, steps: own.length, stateExact: share(own, ({ isExact }) => isExact) };
  });
  return {
    steps: judged.length,
    stateExact,
    // The text is drawn from the state.
    textExact: stateExact,
    exact: stateExact,
    endExact: share(judged, ({ isEndRight }) => isEndRight),
    sure: share(judged, ({ evidence }) => isSure(evidence)),
    exactOfSure: sure.length === 0 ? null : share(sure, ({ isExact }) => isExact),
    byChanges,
    learnedFrom: acts.length,
    distinct: new Set(acts.map(({ act }) => `${treeText(act.state)} ${JSON.stringify(act.call)}`)).size,
    tooLong: 0,
  };
}

/** Changed elements that are told apart by their number. */
const MANY = 4;

/** All that is on a screen, and where the keyboard is. */
function treeText({ elements, focused, done, reward }: ScreenState): string {
  return canonicalJson({ elements, focused, done, reward });
}
