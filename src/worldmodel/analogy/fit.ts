// The model of recorded episodes: all of them, and how sure it may be, found by asking about steps without what was recorded with them.

import { calibrate, confidenceOf } from '../sequence/calibration.js';
import type { BackendFitReport, BackendFitRequest } from '../tools/backend-model.js';
import type { AnalogyContents } from './analogy-file.js';
import { Casebook } from './casebook.js';
import { type JudgedStep, judged } from './judging.js';
import { type RecordedStep, stepsOf, walksOf } from './recorded-walks.js';

export interface AnalogySettings {
  readonly model?: string;
  readonly minConfidence: number;
  readonly minExactness: number;
  readonly fit: { readonly heldOutSteps: number };
}

type Request = Pick<BackendFitRequest, 'domain' | 'episodes' | 'rng' | 'signal' | 'onProgress'>;

/** The same request gives the same model. @throws the signal's reason */
export async function fitAnalogy(
  request: Request & { readonly settings: AnalogySettings },
): Promise<{ readonly contents: AnalogyContents; readonly report: BackendFitReport }> {
  const { domain, episodes, settings, rng, signal, onProgress } = request;
  const walks = walksOf(episodes, domain);
  const steps = stepsOf(walks);
  const book = new Casebook(steps);
  const most = Math.min(steps.length, settings.fit.heldOutSteps);
  const asked = [...rng.permutation(steps.length)].slice(0, most).map((i) => steps[i]);
  const found: JudgedStep[] = [];
  for (const step of asked) {
    signal.throwIfAborted();
    // A dream begins in games that were recorded and in others.
    found.push(judged(book, step, found.length % 2 === 0 ? 'episode' : 'task'));
    onProgress({ phase: 'judge', unit: 'steps', done: found.length, total: most });
    // So that it can be stopped.
    if (found.length % 16 === 0) await new Promise(setImmediate);
  }
  const isRight = (one: JudgedStep) => one.isStateRight && one.isTextRight;
  const calibration = calibrate(found.map((one) => ({ logProb: one.evidence, isRight: isRight(one) })));
  const claims = found.filter(({ claimsWin }) => claimsWin);
  const wins = { said: claims.length, right: claims.filter(({ isWin }) => isWin).length };
  const report = reportOf(found, steps, (evidence) => confidenceOf(calibration, evidence) >= settings.minConfidence);
  return { contents: { domain: domain.id, walks, calibration, wins, exactness: report.exact }, report };
}

function reportOf(
  found: readonly JudgedStep[],
  steps: readonly RecordedStep[],
  isSure: (evidence: number) => boolean,
): BackendFitReport {
  const share = (list: readonly JudgedStep[], is: (one: JudgedStep) => boolean) =>
    list.length === 0 ? 0 : list.filter(is).length / list.length;
  const isExact = (one: JudgedStep) => one.isStateRight && one.isTextRight;
  const sure = found.filter(({ evidence }) => isSure(evidence));
  const counts = [...new Set(found.map(({ changes }) => changes))].sort((a, b) => a - b);
  return {
    steps: found.length,
    stateExact: share(found, ({ isStateRight }) => isStateRight),
    textExact: share(found, ({ isTextRight }) => isTextRight),
    exact: share(found, isExact),
    endExact: share(found, ({ isEndRight }) => isEndRight),
    sure: share(found, ({ evidence }) => isSure(evidence)),
    exactOfSure: sure.length === 0 ? null : share(sure, isExact),
    byChanges: counts.map((changes) => {
      const own = found.filter((one) => one.changes === changes);
      return { changes, steps: own.length, stateExact: share(own, ({ isStateRight }) => isStateRight) };
    }),
    learnedFrom: steps.length,
    distinct: new Set(
      steps.map(({ task, before: { look, inventory }, text }) => [task, look, inventory, text].join('\n')),
    ).size,
    tooLong: 0,
  };
}
