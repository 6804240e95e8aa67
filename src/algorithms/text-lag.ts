// Version lag of an agent of text: a round is drawn by the policy of so many rounds before, as in trainers that live the next round while
// they learn from this one (one-step off-policy, Noukhovitch et al. 2024, 2410.18252; AReaL, Fu et al. 2025, 2505.24298). There it is a
// matter of timing which weights draw what. Here it is a setting, so that such a run can be told, repeated and resumed.

import type { TextLesson, TextPolicy } from '../rl/index.js';
import {
  evenly,
  type RunDrift,
  roundsOf,
  type TextGroupSettings,
  type TextTraining,
  type VersionDrift,
} from './text-training.js';

/** Choices of a round whose ratio is looked at. */
const LOOKED_AT = 256;

/** Rounds behind the policy that draws round `round`, both counted from 0. */
export function drawnBy({ versionLag = 0 }: Pick<TextGroupSettings, 'versionLag'>, round: number): number {
  return Math.max(0, round - versionLag);
}

/** The policy that draws a round: of the moment, or of weights that were kept for it. */
export function drawingPolicy({ settings, parts: { learner }, older }: TextTraining, round: number): TextPolicy {
  const weights = older.get(drawnBy(settings, round));
  return weights === undefined ? learner.policy : learner.policyOf(weights);
}

/** Before a round is learned from: its weights may draw later ones. */
export function keepWeights({ settings, parts, progress, older }: TextTraining): void {
  if (settings.versionLag) older.set(progress.round, parts.learner.weights);
}

/** After a round: weights that draw none of those to come are let go. */
export function dropWeights({ settings, progress, older }: TextTraining): void {
  const needed = new Set(olderNeeded(settings, progress.round));
  for (const behind of older.keys()) if (!needed.has(behind)) older.delete(behind);
}

/** Of the policies that draw rounds from `round` on, those that are older than the learner then; each by the rounds behind it. */
export function olderNeeded(settings: TextGroupSettings, round: number): number[] {
  const left = Math.max(0, roundsOf(settings).length - round);
  const drawing = new Set(Array.from({ length: left }, (_, i) => drawnBy(settings, round + i)));
  return [...drawing].filter((behind) => behind < round);
}

/** Of lessons, before they are learned from; undefined where nobody else drew them. */
export async function driftOf(
  { settings, parts: { learner } }: TextTraining,
  lessons: readonly TextLesson[],
): Promise<RunDrift | undefined> {
  if (!settings.versionLag || lessons.length === 0) return undefined;
  const looked = evenly(lessons, LOOKED_AT);
  const now = await learner.logProbs(looked);
  const logRatios = looked.map(({ logProb }, i) => now[i] - logProb!);
  const mean = (of: (logRatio: number) => number) => logRatios.reduce((sum, one) => sum + of(one), 0) / looked.length;
  const { clipLow, clipHigh } = settings;
  return {
    choices: looked.length,
    ratio: mean(Math.exp),
    kl: mean((logRatio) => Math.exp(logRatio) - 1 - logRatio),
    clipFraction: mean((logRatio) => {
      const ratio = Math.exp(logRatio);
      return ratio < 1 - clipLow || ratio > 1 + clipHigh ? 1 : 0;
    }),
  };
}

/** Of the run so far, with one more round. */
export function withDrift(before: RunDrift | undefined, round: RunDrift | undefined): RunDrift | undefined {
  if (before === undefined || round === undefined) return round ?? before;
  const choices = before.choices + round.choices;
  const mean = (key: keyof VersionDrift) => (before[key] * before.choices + round[key] * round.choices) / choices;
  return { choices, ratio: mean('ratio'), kl: mean('kl'), clipFraction: mean('clipFraction') };
}
