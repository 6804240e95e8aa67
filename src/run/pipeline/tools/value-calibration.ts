// A value model held against recorded episodes that it was not made of: does it know more than a constant, does it rank steps as their
// returns do, and, what a policy learns from, other choices in one and the same state?

import { reverieError } from '../../../core/errors.js';
import type { Rng } from '../../../core/rng.js';
import { mean } from '../../../core/statistics.js';
import { spearman } from '../../../fidelity/statistics/agreement.js';
import { bootstrapEstimate } from '../../../fidelity/statistics/bootstrap.js';
import { auroc } from '../../../fidelity/statistics/scores.js';
import type { TextValueModel } from '../../../rl/text/scored-learner.js';
import type { ValueFit } from '../../../training/text-training.js';
import { isKnown, recordedValues, returnsOf, type ValuedEpisode } from '../../../training/text-values.js';

interface Judged {
  readonly value: number;
  readonly return: number;
  readonly won: boolean;
  readonly state: string;
  readonly choice: number;
}

/** @param gamma  as the model was fitted with */
export async function compareValues(
  model: Pick<TextValueModel, 'values'>,
  used: readonly ValuedEpisode[],
  heldOut: readonly ValuedEpisode[],
  gamma: number,
  rng: Rng,
): Promise<Omit<ValueFit, 'skipped'>> {
  const constant = mean(knownReturns(used, gamma));
  const judged = await judgedSteps(model, heldOut, gamma);
  const steps = judged.flat();
  const squares = (list: readonly Judged[], of: (step: Judged) => number) =>
    list.reduce((sum, step) => sum + (step.return - of(step)) ** 2, 0);
  const own = ({ value }: Judged) => value;
  const skillOf = (episodes: readonly (readonly Judged[])[]) => {
    const list = episodes.flat();
    const base = squares(list, () => constant);
    return base === 0 ? null : 1 - squares(list, own) / base;
  };
  const { value, low, high } = bootstrapEstimate(judged, skillOf, rng);
  const count = Math.max(steps.length, 1);
  return {
    episodes: used.length,
    steps: knownReturns(used, gamma).length,
    heldOutEpisodes: heldOut.length,
    heldOutSteps: steps.length,
    error: squares(steps, own) / count,
    constantError: squares(steps, () => constant) / count,
    skill: { value, low, high },
    rank: spearman(
      steps.map(own),
      steps.map((step) => step.return),
    ),
    auc: auroc(
      steps.map(own),
      steps.map(({ won }) => won),
    ),
    ...pairsInOneState(steps),
  };
}

function knownReturns(episodes: readonly ValuedEpisode[], gamma: number): number[] {
  return episodes.flatMap(({ steps }) => {
    const returns = returnsOf(
      steps.map(({ reward }) => reward),
      gamma,
    );
    return returns.filter((_, t) => isKnown(steps[t]));
  });
}

async function judgedSteps(
  model: Pick<TextValueModel, 'values'>,
  episodes: readonly ValuedEpisode[],
  gamma: number,
): Promise<Judged[][]> {
  const values = await recordedValues(model, episodes);
  return episodes.map(({ steps, won }, e) => {
    const returns = returnsOf(
      steps.map(({ reward }) => reward),
      gamma,
    );
    return steps.flatMap((step, t) => {
      if (!isKnown(step)) return [];
      const { state, choice } = step;
      return [{ value: values[e][t]!, return: returns[t], won, state, choice }];
    });
  });
}

/** A policy is taught by differences between choices in one situation, of which values across situations say nothing. */
function pairsInOneState(steps: readonly Judged[]): Pick<ValueFit, 'pairs' | 'rightPairs'> {
  const byState = new Map<string, Judged[]>();
  for (const step of steps) byState.set(step.state, [...(byState.get(step.state) ?? []), step]);
  let [pairs, rightPairs] = [0, 0];
  for (const here of byState.values()) {
    for (const [i, a] of here.entries()) {
      for (const b of here.slice(i + 1)) {
        if (a.choice === b.choice || a.return === b.return) continue;
        pairs += 1;
        if (a.return > b.return === a.value > b.value) rightPairs += 1;
      }
    }
  }
  return { pairs, rightPairs };
}

/** The gate: a model that is no better than a constant would teach noise. @throws TEXT_VALUES_UNFIT */
export function requireSkill({ steps, heldOutSteps, skill, error, constantError }: Omit<ValueFit, 'skipped'>): void {
  const unfit = (problem: string) => reverieError('TEXT_VALUES_UNFIT', { steps, problem });
  if (skill.value === null) {
    const none = heldOutSteps === 0 ? 'no recorded step was held out' : 'all steps that were held out came to the same';
    throw unfit(`${none}, so that nothing says whether it knows more than a constant`);
  }
  if (skill.low !== null && skill.low > 0) return;
  const low = skill.low === null ? 'unknown' : skill.low.toFixed(3);
  throw unfit(
    `on ${heldOutSteps} steps that were held out its squared error is ${error.toFixed(4)}, and that of a constant ${constantError.toFixed(4)} (skill ${skill.value.toFixed(3)}, at least ${low} with 95 % confidence)`,
  );
}
