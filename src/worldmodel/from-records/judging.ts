// How right a model made of records is on steps that are kept from it, and how sure it may be of others: what such models report alike.

import type { BackendFitReport, BackendFitRequest } from '../tools/backend-model.js';
import { type Calibration, calibrate, confidenceOf } from './calibration.js';

/** An answer held against what was recorded. */
export interface JudgedStep {
  /** Parts of the state that the step truly changes. */
  readonly changes: number;
  /** Done or refused as it truly is, with exactly its changes. */
  readonly isStateExact: boolean;
  readonly isTextExact: boolean;
  readonly isEndExact: boolean;
}

export const isExact = (one: JudgedStep) => one.isStateExact && one.isTextExact;

/** @param isSure  whether an answer is as sure as the bar asks */
export function reportOf<J extends JudgedStep>(
  judged: readonly J[],
  isSure: (one: J) => boolean,
  from: Pick<BackendFitReport, 'learnedFrom' | 'distinct' | 'tooLong'>,
): BackendFitReport {
  const sure = judged.filter(isSure);
  const sizes = [...new Set(judged.map(({ changes }) => changes))].sort((a, b) => a - b);
  return {
    steps: judged.length,
    stateExact: share(judged, ({ isStateExact }) => isStateExact),
    textExact: share(judged, ({ isTextExact }) => isTextExact),
    exact: share(judged, isExact),
    endExact: share(judged, ({ isEndExact }) => isEndExact),
    sure: share(judged, isSure),
    exactOfSure: sure.length === 0 ? null : share(sure, isExact),
    byChanges: sizes.map((changes) => {
      const own = judged.filter((one) => one.changes === changes);
      return { changes, steps: own.length, stateExact: share(own, ({ isStateExact }) => isStateExact) };
    }),
    ...from,
  };
}

/** Where all records are the model: steps are put to it one at a time, each without what was recorded with it. */
export interface Questions<Step, J> {
  readonly steps: readonly Step[];
  /** What progress counts them as. */
  readonly unit: string;
  /** Of steps that are as good as the same, one counts. */
  readonly keyOf: (step: Step) => string;
  /** @param i  how many were asked before */
  readonly judge: (step: Step, i: number) => J;
}

type Request = Pick<BackendFitRequest, 'rng' | 'signal' | 'onProgress'> & {
  readonly settings: { readonly minConfidence: number; readonly fit: { readonly heldOutSteps: number } };
};

/** The same request gives the same answers. @throws the signal's reason */
export async function judgeRecords<Step, J extends JudgedStep & { readonly evidence: number }>(
  { rng, signal, onProgress, settings: { minConfidence, fit } }: Request,
  { steps, unit, keyOf, judge }: Questions<Step, J>,
): Promise<{ readonly judged: readonly J[]; readonly calibration: Calibration; readonly report: BackendFitReport }> {
  const total = Math.min(steps.length, fit.heldOutSteps);
  const judged: J[] = [];
  for (const at of [...rng.permutation(steps.length)].slice(0, total)) {
    signal.throwIfAborted();
    judged.push(judge(steps[at], judged.length));
    onProgress({ phase: 'judge', unit, done: judged.length, total });
    // So that it can be stopped.
    if (judged.length % 16 === 0) await new Promise(setImmediate);
  }
  const calibration = calibrate(judged.map((one) => ({ logProb: one.evidence, isRight: isExact(one) })));
  const isSure = ({ evidence }: J) => confidenceOf(calibration, evidence) >= minConfidence;
  const from = { learnedFrom: steps.length, distinct: new Set(steps.map(keyOf)).size, tooLong: 0 };
  return { judged, calibration, report: reportOf(judged, isSure, from) };
}

function share<J>(list: readonly J[], is: (one: J) => boolean): number {
  return list.length === 0 ? 0 : list.filter(is).length / list.length;
}
