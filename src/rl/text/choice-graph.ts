// A scoring network as graphs of a policy: log-probabilities of commands, and one gradient step on choices.

import { gradients } from '../../nn/autodiff.js';
import { Graph, type Value } from '../../nn/graph.js';
import {
  add,
  cast,
  clip,
  exp,
  greater,
  logSoftmax,
  minimum,
  mul,
  neg,
  reduceSum,
  squeeze,
  sub,
  takeAlongAxis,
} from '../../nn/ops.js';
import { adamStep, clipByGlobalNorm } from '../../nn/parameters.js';
import type { TrainerSpec } from '../../nn/trainer.js';
import type { Feeds, ScoringNetwork, Values } from './scoring-network.js';
import type { TextLesson, TextObjective } from './text-policy.js';

type Network = ScoringNetwork<unknown>;

/** Of each situation of a training step. `weight` sums to about 1; `imitated` is 1 where the choice is somebody else's. */
function lessonInputs({ rows }: Network) {
  return {
    choice: { dtype: 'int32', shape: [rows, 1] },
    logProb: { dtype: 'float32', shape: [rows] },
    reference: { dtype: 'float32', shape: [rows] },
    advantage: { dtype: 'float32', shape: [rows] },
    weight: { dtype: 'float32', shape: [rows] },
    imitated: { dtype: 'float32', shape: [rows] },
    target: { dtype: 'float32', shape: [rows] },
  } as const;
}

interface Judged {
  /** [rows, MAX_COMMANDS], about NO_COMMAND where there is no command. */
  readonly logProbs: Value;
  readonly values?: Value;
}

function judgement(network: Network, params: Values, batch: Values): Judged {
  const { scores, ...rest } = network.scores(params, batch);
  return { logProbs: logSoftmax(scores), ...rest };
}

/** Inputs theta and those of a batch; outputs what `of` makes of them. */
export function batchModel(network: Network, of: (params: Values, batch: Values) => object): Uint8Array {
  const graph = new Graph(network.name);
  const { layout, inputs } = network;
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const batch = Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, graph.input(name, input.dtype, input.shape)]),
  );
  for (const [name, value] of Object.entries(of(params, batch))) graph.output(name, value as Value);
  return graph.toModel();
}

/** Outputs `logProbs` [rows, MAX_COMMANDS] and, of a critic, `values` [rows]. */
export function choiceModel(network: Network): Uint8Array {
  return batchModel(network, (params, batch) => judgement(network, params, batch));
}

/** The trainer: state theta, m, v; per step a batch and its lessons. */
export function choiceTrainer(network: Network, objective: TextObjective, maxGradNorm: number): TrainerSpec {
  return batchTrainer(network, lessonInputs(network), maxGradNorm, (params, step) =>
    lessonLoss(objective, judgement(network, params, step), step),
  );
}

/** A step of Adam on a loss of a batch and of what is said of it. */
export function batchTrainer(
  network: Network,
  lessons: NonNullable<TrainerSpec['perStep']>,
  maxGradNorm: number,
  lossOf: (params: Values, step: Values) => { readonly loss: Value; readonly metrics: Values },
): TrainerSpec {
  const { layout } = network;
  const { size } = layout;
  return {
    name: network.name,
    state: { theta: [size], m: [size], v: [size] },
    perStep: {
      ...network.inputs,
      ...lessons,
      adamAlpha: { dtype: 'float32', shape: [] },
      adamEpsilon: { dtype: 'float32', shape: [] },
    },
    body({ state, perStep }) {
      const { loss, metrics } = lossOf(layout.unpack(state.theta), perStep);
      const grad = clipByGlobalNorm(gradients(loss, [state.theta])[0], maxGradNorm);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics: { loss, ...metrics } };
    },
  };
}

/** Clipped surrogate, KL to the reference, entropy and a critic's error; or, of what is imitated, the negative log-probability. */
function lessonLoss(objective: TextObjective, { logProbs, values }: Judged, lesson: Values) {
  const { clipLow, clipHigh, klCoefficient, entropyCoefficient } = objective;
  const { choice, logProb, reference, advantage, weight, imitated } = lesson;
  const chosen = squeeze(takeAlongAxis(logProbs, choice, 1), [1]);
  const entropy = neg(reduceSum(mul(exp(logProbs), logProbs), [1]));
  const logRatio = sub(chosen, logProb);
  const ratio = exp(logRatio);
  const clipped = clip(ratio, 1 - clipLow, 1 + clipHigh);
  const surrogate = minimum(mul(ratio, advantage), mul(clipped, advantage));
  const toReference = sub(reference, chosen);
  const penalty = mul(sub(sub(exp(toReference), toReference), 1), klCoefficient);
  const own = sub(sub(penalty, surrogate), mul(entropy, entropyCoefficient));
  const isOwn = mul(sub(weight.graph.constant(1), imitated), weight);
  const acted = sub(reduceSum(mul(own, isOwn)), reduceSum(mul(chosen, mul(imitated, weight))));
  const error = values === undefined ? undefined : reduceSum(mul(squaredError(values, lesson.target), isOwn));
  const loss = error === undefined ? acted : add(acted, mul(error, (objective.valueCoefficient ?? 0) / 2));
  const outside = cast(greater(mul(sub(ratio, clipped), sub(ratio, clipped)), 0), 'float32');
  return {
    loss,
    metrics: {
      entropy: reduceSum(mul(entropy, weight)),
      kl: reduceSum(mul(sub(sub(ratio, 1), logRatio), isOwn)),
      clipFraction: reduceSum(mul(outside, isOwn)),
      ...(error && { valueError: error }),
    },
  };
}

function squaredError(a: Value, b: Value): Value {
  const difference = sub(a, b);
  return mul(difference, difference);
}

/** @param reference [rows], log-probabilities of the choices under the reference */
export function lessonFeeds(lessons: readonly TextLesson[], reference: Float32Array): Feeds {
  const rows = reference.length;
  const choice = new Int32Array(rows);
  const logProb = new Float32Array(rows);
  const advantage = new Float32Array(rows);
  const weight = new Float32Array(rows);
  const imitated = new Float32Array(rows);
  const target = new Float32Array(rows);
  lessons.forEach((lesson, i) => {
    choice[i] = lesson.choice;
    logProb[i] = lesson.logProb ?? 0;
    advantage[i] = lesson.advantage ?? 0;
    weight[i] = (lesson.weight ?? 1) / lessons.length;
    imitated[i] = lesson.logProb === undefined ? 1 : 0;
    target[i] = lesson.target ?? 0;
  });
  return { choice, logProb, reference, advantage, weight, imitated, target };
}
