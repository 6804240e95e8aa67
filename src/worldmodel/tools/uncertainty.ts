// What an answer's doubt does to the episode it is part of.

import type { Prediction } from '../../env/tools/prediction.js';

/**
 * Weight of an episode in training, in [0, 1]: the product, over answers less sure than `downWeightBelow`, of confidence
 * over it. A refused call has confidence 0, so an episode that rests on one weighs nothing.
 */
export function episodeWeight(
  predictions: readonly Pick<Prediction, 'confidence'>[],
  { downWeightBelow }: { readonly downWeightBelow: number },
): number {
  return predictions.reduce((weight, { confidence }) => {
    return confidence < downWeightBelow ? (weight * confidence) / downWeightBelow : weight;
  }, 1);
}
