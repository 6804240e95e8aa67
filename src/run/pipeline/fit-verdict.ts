// Whether a fitted model is any good, as a person asks it: worth dreaming in or not and why, how sure it is of itself, what more
// records would bring, and what to do next.

import type { Rng } from '../../core/rng.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { type HeldOutSkill, planDream, skillOf } from '../../training/settings.js';
import type { FitRequest, Fitted, HeldOutReport, StoredDynamics } from '../../worldmodel/dynamics.js';

export interface FitVerdict {
  readonly isWorthDreaming: boolean;
  /** One sentence. */
  readonly because: string;
  /** What is wrong with which element, worst first; empty where nothing is. */
  readonly faults: readonly string[];
  /** Share of held-out values within the interval that the model gives 90 %; null for one that cannot say. */
  readonly within90: number | null;
  /** Held-out error with half the records, and by the same law with twice as many; null where there are too few to tell. */
  readonly moreData: { readonly half: number; readonly twice: number } | null;
  readonly next: string;
}

/** What a linear model may explain beyond the network before that is a fault: below it both explain the same. */
const HARDLY_WORSE = 0.02;

/** Below this share explained, an element is not known. */
const UNKNOWN = 0.5;

/** Fewest records of which half say anything, and most that are learned from twice: with more there is enough of them. */
const LEAST_RECORDS = 200;
const MOST_RECORDS = 200_000;

/** Networks of the fit to half of the records: its error is their mean, so that few do. */
const FEW = 2;

/** Of a normal distribution, within which 90 % lie. */
const DEVIATIONS_90 = 1.645;

interface Asked {
  readonly fitted: Fitted;
  readonly heldOut: HeldOutReport;
  readonly real: ReplayBuffer;
  /** The same fit again, to other records. */
  readonly refit: (request: Pick<FitRequest, 'section' | 'data' | 'rng'>) => Promise<Fitted>;
  readonly section: FitRequest['section'];
  readonly rng: Rng;
  readonly paths: { readonly scenario: string; readonly model: string; readonly data: string };
}

export async function judgeFit({ fitted, heldOut, real, refit, section, rng, paths }: Asked): Promise<FitVerdict> {
  const { isOpen, reason } = gate(skillOf(heldOut));
  const faults = faultsOf(heldOut);
  const moreData =
    real.size < LEAST_RECORDS || real.size > MOST_RECORDS
      ? null
      : await learningCurve({ fitted, real, refit, section, rng });
  return {
    isWorthDreaming: isOpen,
    because: reason,
    faults,
    within90: await coverage(fitted.model, real, fitted.heldOutRows),
    moreData,
    next: nextCommand(isOpen, heldOut, real.size, paths),
  };
}

/** The gate that a dream has, without episodes of a newer policy. */
function gate(skill: HeldOutSkill) {
  const open = { gate: 'auto', horizon: 1, disagreementLimit: null, startsPerRound: 1 } as const;
  const { isOpen, reasons } = planDream(open, 'auto', { skill }, 0);
  return { isOpen, reason: reasons['rollout.gate'].replace(/^(open|shut): /, '') };
}

function faultsOf({ elements, membersAtMaxEpochs, members, maxEpochs }: HeldOutReport): string[] {
  const known = elements.flatMap(({ element, r2: { model, linear, unchanged } }) => {
    return model === null ? [] : [{ element, model, simple: Math.max(0, linear ?? 0, unchanged ?? 0) }];
  });
  const told = known
    .toSorted((a, b) => a.model - b.model)
    .flatMap(({ element, model, simple }) => {
      if (model < simple - HARDLY_WORSE)
        return [`${element}: a simple model explains more (${share(simple)} against ${share(Math.max(0, model))})`];
      if (model >= UNKNOWN) return [];
      return [
        `${element}: hardly explained (${share(Math.max(0, model))}): noise, too few records, or something that is not observed`,
      ];
    });
  const cut = `${membersAtMaxEpochs} of ${members} networks were stopped at model.maxEpochs=${maxEpochs} and might learn more`;
  return membersAtMaxEpochs > 0 ? [...told, cut] : told;
}

/** Fits to half of the records, drawn at random, and draws the line through both errors: so much less at each doubling. */
async function learningCurve({ fitted, real, refit, section, rng }: Omit<Asked, 'heldOut' | 'paths'>) {
  if (typeof section['members'] !== 'number') return null;
  const few = { ...section, members: FEW, elites: FEW };
  const { model, report } = await refit({
    section: few,
    data: halfOf(real, rng.split('half')),
    rng: rng.split('fewer'),
  });
  await model.close();
  const { holdoutError } = fitted.report;
  const ratio = report.holdoutError === 0 ? 1 : Math.min(1, holdoutError / report.holdoutError);
  return { half: report.holdoutError, twice: holdoutError * ratio };
}

function halfOf(real: ReplayBuffer, rng: Rng): ReplayBuffer {
  const { obsDim, actionDim, size } = real;
  const rows = rng
    .permutation(size)
    .slice(0, Math.floor(size / 2))
    .sort();
  const half = new ReplayBuffer({ capacity: rows.length, obsDim, actionDim, source: 'real' });
  const { episode, step } = real.columns();
  half.append(real.gather(rows), {
    ...{ source: 'real', backend: 'real', modelVersion: '', scenario: '', policyVersion: '', seed: 0 },
    episode: Float64Array.from(rows, (row) => episode[row]),
    step: Uint32Array.from(rows, (row) => step[row]),
  });
  return half;
}

/** Of the changes of observations on held-out rows, as a mixture's mean and variance. */
async function coverage(
  model: StoredDynamics,
  real: ReplayBuffer,
  rows: Uint32Array | undefined,
): Promise<number | null> {
  if (model.forecast === undefined || rows === undefined || real.source !== 'real') return null;
  const { obs, action, nextObs } = real.gather(rows);
  // A memoryless model draws nothing to begin.
  const { components, mean, std } = await model.forecast({ rows: rows.length, obs } as never, action);
  let [within, all] = [0, 0];
  for (let at = 0; at < nextObs.length; at++) {
    let [sum, squares] = [0, 0];
    for (let c = 0; c < components; c++) {
      const one = c * nextObs.length + at;
      sum += mean[one] / components;
      squares += (std[one] ** 2 + mean[one] ** 2) / components;
    }
    const deviation = Math.sqrt(Math.max(0, squares - sum ** 2));
    // What never changes is told exactly, which says nothing of how sure the model is.
    if (!(deviation > 1e-9)) continue;
    all++;
    if (Math.abs(nextObs[at] - sum) <= DEVIATIONS_90 * deviation) within++;
  }
  return all === 0 ? null : within / all;
}

function nextCommand(
  isWorthDreaming: boolean,
  { membersAtMaxEpochs, maxEpochs }: HeldOutReport,
  records: number,
  { scenario, model, data }: Asked['paths'],
): string {
  if (isWorthDreaming) return `reverie synth ${scenario} --model ${model} --data ${data}`;
  if (membersAtMaxEpochs > 0) return `reverie fit ${scenario} --data ${data} --set model.maxEpochs=${4 * maxEpochs}`;
  return `reverie collect ${scenario} --set collect.steps=${4 * records}`;
}

function share(r2: number): string {
  return `${(100 * r2).toFixed(0)} %`;
}
