// What a decoder that acts is trained for: the clipped policy gradient of the commands it wrote, or, of what is imitated, their
// negative log-probability. The ratio of probabilities is taken and clipped for each token of which there was a choice, as GRPO does
// (Shao et al., 2402.03300, eq. 3); the terms of a command are summed, not averaged, so that the gradient is that of its log-probability.

import {
  add,
  cast,
  clip,
  type DecoderLoss,
  div,
  exp,
  greater,
  type LossValues,
  matMul,
  minimum,
  mul,
  type ParamSpec,
  reduceSum,
  squeeze,
  sub,
  type Value,
} from '../../../nn/index.js';
import type { TextObjective } from '../text-policy.js';

/** Numbers that come with each token of a command of which there was a choice; 0 elsewhere. */
export const PER_TOKEN = ['old', 'reference', 'advantage', 'imitated', 'share'] as const;
/** Of the token that a command begins with, where there is a critic. */
export const PER_DECISION = ['target', 'valued'] as const;

/** A critic's head: a linear map of what the first token of a command is foretold from. */
export function criticHead(hiddenSize: number): ParamSpec[] {
  return [
    { name: 'critic.w', shape: [hiddenSize, 1], init: { kind: 'zeros' } },
    { name: 'critic.b', shape: [1], init: { kind: 'zeros' } },
  ];
}

export interface PolicyLossOptions {
  readonly choices: number;
  readonly hiddenSize: number;
  readonly hasCritic: boolean;
}

/** Sums over the tokens of a batch, by the weights of their lessons, over the number of lessons (`perStep.lessons`). */
export function policyLoss(
  objective: TextObjective,
  { choices, hiddenSize, hasCritic }: PolicyLossOptions,
): DecoderLoss {
  return {
    name: 'policy gradient',
    choices,
    perToken: hasCritic ? [...PER_TOKEN, ...PER_DECISION] : PER_TOKEN,
    perStep: { lessons: [] },
    heads: hasCritic ? criticHead(hiddenSize) : [],
    build: (values) => {
      const { loss, metrics } = acted(objective, values);
      if (!hasCritic) return { loss, metrics };
      const valueError = criticError(values);
      return {
        loss: add(loss, mul(valueError, (objective.valueCoefficient ?? 0) / 2)),
        metrics: { ...metrics, valueError },
      };
    },
  };
}

function acted(objective: TextObjective, { logProbs, weights, perToken, perStep, entropy: entropyOf }: LossValues) {
  const { clipLow, clipHigh, klCoefficient, entropyCoefficient } = objective;
  const { old, reference, advantage, imitated, share } = perToken;
  const mean = (values: Value) => div(reduceSum(mul(values, weights)), perStep['lessons']);
  const isOwn = sub(weights.graph.constant(1), imitated);
  const entropy = entropyOf();
  // What was not chosen by a rollout has no old log-probability: its ratio is 1, and does not count.
  const logRatio = mul(sub(logProbs, old), isOwn);
  const ratio = exp(logRatio);
  const clipped = clip(ratio, 1 - clipLow, 1 + clipHigh);
  const surrogate = minimum(mul(ratio, advantage), mul(clipped, advantage));
  const toReference = mul(sub(reference, logProbs), isOwn);
  const penalty = mul(sub(sub(exp(toReference), toReference), 1), klCoefficient);
  const own = sub(sub(penalty, surrogate), mul(entropy, entropyCoefficient));
  const outside = cast(greater(mul(sub(ratio, clipped), sub(ratio, clipped)), 0), 'float32');
  return {
    loss: mean(sub(mul(own, isOwn), mul(logProbs, imitated))),
    metrics: {
      entropy: mean(entropy),
      kl: mean(mul(sub(sub(ratio, 1), logRatio), isOwn)),
      referenceKl: mean(mul(sub(sub(exp(toReference), toReference), 1), isOwn)),
      clipFraction: mean(mul(mul(outside, share), isOwn)),
    },
  };
}

/** Mean over the lessons of the squared error. */
function criticError({ hidden, heads, perToken, perStep }: LossValues): Value {
  const values = squeeze(add(matMul(hidden, heads['critic.w']), heads['critic.b']), [1]);
  const error = sub(values, perToken['target']);
  return div(reduceSum(mul(mul(error, error), perToken['valued'])), perStep['lessons']);
}
