// How often an answer is right that the model gives so much probability to: isotonic regression (Barlow et al. 1972; for probabilities
// of classifiers Zadrozny and Elkan 2002) over bins of steps that were kept from training.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { describeIssues } from '../core/errors.js';
import { openSealed } from '../core/files.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import { folderInvalid } from './model-folder.js';
import type { BackendEntry, BackendFitReport, BackendFitRequest, BackendModel } from './tools/backend-model.js';

const share = z.number().min(0).max(1);

export const calibrationSchema = z.strictObject({
  /** Log-probabilities of whole answers, ascending: each the least of its bin. */
  from: z.array(z.number()),
  /** Share of right answers in the bin, never falling, by Laplace's rule of succession. */
  right: z.array(z.number().min(0).max(1)),
  /** Answers it was made from. */
  answers: z.int().min(0),
});

export type Calibration = z.infer<typeof calibrationSchema>;

const BINS = 20;
/** A bin of fewer says little. */
const LEAST = 10;

/** @param answers  each with the log-probability of the whole of it, in nats */
export function calibrate(answers: readonly { readonly logProb: number; readonly isRight: boolean }[]): Calibration {
  const sorted = [...answers].sort((a, b) => a.logProb - b.logProb);
  const size = Math.max(LEAST, Math.ceil(sorted.length / BINS));
  const pooled: { readonly from: number; readonly right: number; readonly count: number }[] = [];
  // By Laplace's rule of succession.
  const shareOf = ({ right, count }: (typeof pooled)[number]) => (right + 1) / (count + 2);
  for (let start = 0; start < sorted.length; start += size) {
    const own = sorted.slice(start, start + size);
    let bin = { from: own[0].logProb, right: own.filter(({ isRight }) => isRight).length, count: own.length };
    // Pool adjacent violators: a more probable bin is not right less often.
    for (let last = pooled.at(-1); last !== undefined && shareOf(last) >= shareOf(bin); last = pooled.at(-1)) {
      pooled.pop();
      bin = { from: last.from, right: last.right + bin.right, count: last.count + bin.count };
    }
    pooled.push(bin);
  }
  return { from: pooled.map(({ from }) => from), right: pooled.map(shareOf), answers: answers.length };
}

/** In [0, 1]; 0 where nothing was calibrated. An answer less probable than any that was judged is as good as the worst of them. */
export function confidenceOf({ from, right }: Calibration, logProb: number): number {
  const at = from.findLastIndex((least) => logProb >= least);
  return right[Math.max(0, at)] ?? 0;
}

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
    stateExact: judgedShare(judged, ({ isStateExact }) => isStateExact),
    textExact: judgedShare(judged, ({ isTextExact }) => isTextExact),
    exact: judgedShare(judged, isExact),
    endExact: judgedShare(judged, ({ isEndExact }) => isEndExact),
    sure: judgedShare(judged, isSure),
    exactOfSure: sure.length === 0 ? null : judgedShare(sure, isExact),
    byChanges: sizes.map((changes) => {
      const own = judged.filter((one) => one.changes === changes);
      return { changes, steps: own.length, stateExact: judgedShare(own, ({ isStateExact }) => isStateExact) };
    }),
    ...from,
  };
}

/** Where all records are the model: steps are put to it one at a time, each without what was recorded with it. */
interface Questions<Step, J> {
  readonly steps: readonly Step[];
  /** What progress counts them as. */
  readonly unit: string;
  /** Of steps that are as good as the same, one counts. */
  readonly keyOf: (step: Step) => string;
  /** @param i  how many were asked before */
  readonly judge: (step: Step, i: number) => J;
}

/** The same request gives the same answers. @throws the signal's reason */
export async function judgeRecords<Step, J extends JudgedStep & { readonly evidence: number }>(
  {
    rng,
    signal,
    onProgress,
    settings: { minConfidence, fit },
  }: Pick<RecordedFitRequest, 'rng' | 'signal' | 'onProgress' | 'settings'>,
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

function judgedShare<J>(list: readonly J[], is: (one: J) => boolean): number {
  return list.length === 0 ? 0 : list.filter(is).length / list.length;
}

/** Of what a user named, the model's folder or a run that made it, the place where the model's file lies. */
export function modelFolder(given: string, file: string): string {
  const inRun = join(given, 'model');
  return existsSync(join(inRun, file)) ? inRun : given;
}

/** @throws MODEL_FILE_INVALID for a file that is missing or damaged */
export async function readSealed<T>(
  folder: string,
  file: string,
  { schema, hint }: { readonly schema: z.ZodType<T>; readonly hint: string },
): Promise<T> {
  const text = await readFile(join(folder, file), 'utf8').catch((error: Error) => {
    throw folderInvalid(folder, `"${file}" cannot be read: ${error.message}.`, hint, error);
  });
  try {
    return schema.parse(openSealed(text));
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw folderInvalid(folder, `${file} is damaged: ${problem}.`, hint, error);
  }
}

/** What a scenario says of a backend that is learned from records; `fit` is what `reverie fit` is told. */
export function recordedSection<Fit extends z.ZodType>(
  { minConfidence, minExactness }: { readonly minConfidence: number; readonly minExactness: number },
  fit: Fit,
) {
  return z.strictObject({
    model: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Run of `reverie fit`, or the folder of the model, relative to the scenario; without one, what `reverie train` makes of its own records.',
      ),
    minConfidence: share
      .default(minConfidence)
      .describe(
        'Below this confidence the next backend is asked, and without one the call is refused: to be raised where one follows that knows better.',
      ),
    minExactness: share
      .default(minExactness)
      .describe('A model that is right less often on what was kept from it is not used at all; 0 uses any.'),
    fit,
  });
}

export interface RecordedSettings {
  readonly model?: string;
  readonly minConfidence: number;
  readonly minExactness: number;
  readonly fit: { readonly heldOutSteps: number };
}

export type RecordedFitRequest<Settings = RecordedSettings> = Pick<
  BackendFitRequest,
  'domain' | 'episodes' | 'rng' | 'signal' | 'onProgress'
> & { readonly settings: Settings };

export interface RecordedFit<C> {
  readonly contents: C;
  readonly report: BackendFitReport;
}

interface RecordedBackend<C, Settings extends RecordedSettings>
  extends Pick<BackendEntry, 'name' | 'summary' | 'learns'> {
  readonly section: z.ZodType<unknown>;
  /** Of its models. */
  readonly file: string;
  /** Why it is none for a domain. */
  readonly problem?: (domain: ToolsDomain) => string | undefined;
  readonly load: () => Promise<{
    /** @throws MODEL_FILE_INVALID */
    readonly load: (path: string) => Promise<C>;
    readonly save: (folder: string, contents: C) => Promise<void>;
    readonly versionOf: (contents: C) => string;
    /** Share of what was kept from it that it got exactly right. */
    readonly exactnessOf: (contents: C) => number;
    /** @throws MODEL_FILE_INVALID where it is of another form of domain */
    readonly open: (contents: C, path: string, domain: ToolsDomain) => BackendModel;
    /** The same request gives the same model. @throws the signal's reason */
    readonly learn: (
      request: RecordedFitRequest<Settings> & Pick<BackendFitRequest, 'work'>,
    ) => Promise<RecordedFit<C>>;
  }>;
}

export function recordedBackend<C, Settings extends RecordedSettings>(own: RecordedBackend<C, Settings>): BackendEntry {
  const { name, summary, learns, section, file, problem, load } = own;
  const asked = (settings: unknown) => settings as Settings;
  return {
    ...{ name, summary, schema: section, trust: 'proposal', learns },
    minConfidence: (settings) => asked(settings).minConfidence,
    files: (settings) => {
      const { model } = asked(settings);
      return model === undefined ? [] : [`${model}/${file}`, `${model}/model/${file}`];
    },
    make: async () => {
      const { load: loaded, exactnessOf, open } = await load();
      return async ({ domain, folder = '.' }, settings) => {
        const { model, minExactness } = asked(settings);
        const why = problem?.(domain);
        if (why !== undefined) return `${name}: ${why}`;
        if (model === undefined) return `${name}: model.${name}.model names no model`;
        const path = resolve(folder, model);
        const contents = await loaded(path);
        if (exactnessOf(contents) < minExactness) throw tooOftenWrong(name, path, exactnessOf(contents), minExactness);
        return open(contents, path, domain);
      };
    },
    fit: async () => {
      const { learn, save, versionOf, exactnessOf } = await load();
      return async ({ settings, out, ...request }) => {
        const { contents, report } = await learn({ ...request, settings: asked(settings) });
        await save(out, contents);
        const exactness = exactnessOf(contents);
        return { version: versionOf(contents), exactness, isReady: exactness >= asked(settings).minExactness, report };
      };
    },
  };
}

function tooOftenWrong(name: string, path: string, exactness: number, bar: number): Error {
  const exact = (exactness * 100).toFixed(1);
  const problem = `it was exactly right in ${exact} % of what was kept from it, and the bar is ${bar * 100} %.`;
  return folderInvalid(path, problem, `Fit it to more records, or lower model.${name}.minExactness.`);
}
