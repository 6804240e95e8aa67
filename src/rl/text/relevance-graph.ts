// The relevance network as graphs: log-probabilities of commands, and one gradient step on choices. Both are the same nodes over the
// same fixed shapes: so many situations, and all their commands one after the other, padded.

import {
  adamStep,
  add,
  cast,
  clip,
  clipByGlobalNorm,
  concat,
  exp,
  Graph,
  gather,
  gradients,
  greater,
  linear,
  logSoftmax,
  matMul,
  minimum,
  mul,
  neg,
  oneHot,
  ParamLayout,
  reduceSum,
  relu,
  slice,
  squeeze,
  sub,
  type TrainerSpec,
  takeAlongAxis,
  transpose,
  type Value,
} from '../../nn/index.js';
import { BAGS, COMMAND_TOKENS, CONTEXT_TOKENS, COUNTS, MAX_COMMANDS } from './relevance-encoding.js';
import type { TextObjective } from './text-policy.js';

export interface RelevanceShape {
  readonly vocabulary: number;
  readonly embedding: number;
  readonly hidden: readonly [number, number];
  /** Situations of one run of a graph. */
  readonly rows: number;
  /** Whether a critic says what is still to come. */
  readonly critic?: boolean;
}

/** Commands that the situations of one run may have together: room for one situation, or for as many as they have on average. */
export function pairsOf({ rows }: Pick<RelevanceShape, 'rows'>): number {
  return Math.max(MAX_COMMANDS, 32 * rows);
}

/** What both graphs are fed of a batch; the padding of `slots` points behind the last command. */
export function batchInputs(shape: Pick<RelevanceShape, 'rows'>) {
  const { rows } = shape;
  const pairs = pairsOf(shape);
  return {
    context: { dtype: 'int32', shape: [rows, CONTEXT_TOKENS] },
    scales: { dtype: 'float32', shape: [rows, BAGS.length] },
    /** 1 / number of commands. */
    shares: { dtype: 'float32', shape: [rows, 1] },
    commands: { dtype: 'int32', shape: [pairs, COMMAND_TOKENS] },
    commandScales: { dtype: 'float32', shape: [pairs, 1] },
    counts: { dtype: 'float32', shape: [pairs, COUNTS] },
    /** The situation of each command. */
    owners: { dtype: 'int32', shape: [pairs] },
    /** The commands of each situation. */
    slots: { dtype: 'int32', shape: [rows, MAX_COMMANDS] },
  } as const;
}

/** Of each situation of a training step. `weight` sums to about 1; `imitated` is 1 where the choice is somebody else's. */
function lessonInputs({ rows }: RelevanceShape) {
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

type Values = Readonly<Record<string, Value>>;

/** A logit that no command has. */
const NO_COMMAND = -1e9;

/** The context's bags, and the mean of the commands. */
const CONTEXTS = BAGS.length + 1;

export function relevanceLayout(shape: RelevanceShape): ParamLayout {
  const { vocabulary, embedding, hidden, critic } = shape;
  const [first, second] = hidden;
  const pair = embedding * (1 + CONTEXTS) + COUNTS;
  const told = embedding * CONTEXTS + COUNTS;
  const dense = (fanIn: number) => ({ kind: 'uniformFanIn', fanIn }) as const;
  return new ParamLayout([
    { name: 'words', shape: [vocabulary, embedding], init: dense(4) },
    { name: 'context.w', shape: [embedding * CONTEXTS, first], init: dense(embedding * CONTEXTS) },
    { name: 'pair.w', shape: [pair, first], init: dense(pair) },
    { name: 'pair.b', shape: [first], init: { kind: 'zeros' } },
    { name: 'hidden.w', shape: [first, second], init: dense(first) },
    { name: 'hidden.b', shape: [second], init: { kind: 'zeros' } },
    { name: 'score.w', shape: [second, 1], init: { kind: 'uniformFanIn', fanIn: second, gain: 0.1 } },
    { name: 'score.b', shape: [1], init: { kind: 'zeros' } },
    ...(critic === true
      ? ([
          { name: 'critic.w', shape: [told, first], init: dense(told) },
          { name: 'critic.b', shape: [first], init: { kind: 'zeros' } },
          { name: 'value.w', shape: [first, 1], init: { kind: 'uniformFanIn', fanIn: first, gain: 0.1 } },
          { name: 'value.b', shape: [1], init: { kind: 'zeros' } },
        ] as const)
      : []),
  ]);
}

/** `logProbs` [rows, MAX_COMMANDS], about NO_COMMAND where there is no command; `values` [rows] of a critic. */
function judgement(shape: RelevanceShape, params: Values, batch: Values): { logProbs: Value; values?: Value } {
  const { vocabulary, rows } = shape;
  const { graph } = params.words;
  // The row of no word is nothing, and stays so.
  const isWord = graph.literal('float32', [0, ...Array<number>(vocabulary - 1).fill(1)], [vocabulary, 1]);
  const words = mul(params.words, isWord);
  const owner = oneHot(batch.owners, rows);
  const commands = mul(reduceSum(gather(words, batch.commands, 0), [1]), batch.commandScales);
  // Padding has no words, so that whoever it is said to belong to does not notice.
  const all = mul(matMul(transpose(owner), commands), batch.shares);
  const contexts = [...contextBags(gather(words, batch.context, 0), batch.scales), all];
  const told = concat(contexts, 1);
  const products = mul(concat(Array<Value>(CONTEXTS).fill(commands), 1), gather(told, batch.owners, 0));
  const context = linear(told, params['context.w'], params['pair.b']);
  const pair = matMul(concat([commands, products, batch.counts], 1), params['pair.w']);
  const first = relu(add(pair, gather(context, batch.owners, 0)));
  const second = relu(linear(first, params['hidden.w'], params['hidden.b']));
  const scores = squeeze(linear(second, params['score.w'], params['score.b']), [1]);
  const open = concat([scores, graph.constant([NO_COMMAND])], 0);
  const logProbs = logSoftmax(gather(open, batch.slots, 0));
  if (shape.critic !== true) return { logProbs };
  // Padding has no counts either.
  const counted = mul(matMul(transpose(owner), batch.counts), batch.shares);
  const seen = relu(linear(concat([told, counted], 1), params['critic.w'], params['critic.b']));
  return { logProbs, values: squeeze(linear(seen, params['value.w'], params['value.b']), [1]) };
}

function contextBags(tokens: Value, scales: Value): Value[] {
  let start = 0;
  return BAGS.map(({ size }, b) => {
    const bag = reduceSum(slice(tokens, 1, start, start + size), [1]);
    start += size;
    return mul(bag, slice(scales, 1, b, b + 1));
  });
}

/** Inputs theta and those of a batch; outputs `logProbs` [rows, MAX_COMMANDS] and, of a critic, `values` [rows]. */
export function relevanceModel(shape: RelevanceShape): Uint8Array {
  const graph = new Graph('relevance');
  const layout = relevanceLayout(shape);
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const batch = Object.fromEntries(
    Object.entries(batchInputs(shape)).map(([name, input]) => [name, graph.input(name, input.dtype, input.shape)]),
  );
  for (const [name, value] of Object.entries(judgement(shape, params, batch))) graph.output(name, value);
  return graph.toModel();
}

/** The trainer: state theta, m, v; per step a batch and its lessons. */
export function relevanceTrainer(shape: RelevanceShape, objective: TextObjective, maxGradNorm: number): TrainerSpec {
  const layout = relevanceLayout(shape);
  const { size } = layout;
  return {
    name: 'relevance',
    state: { theta: [size], m: [size], v: [size] },
    perStep: {
      ...batchInputs(shape),
      ...lessonInputs(shape),
      adamAlpha: { dtype: 'float32', shape: [] },
      adamEpsilon: { dtype: 'float32', shape: [] },
    },
    body({ state, perStep }) {
      const judged = judgement(shape, layout.unpack(state.theta), perStep);
      const { loss, metrics } = lessonLoss(objective, judged, perStep);
      const grad = clipByGlobalNorm(gradients(loss, [state.theta])[0], maxGradNorm);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics: { loss, ...metrics } };
    },
  };
}

/** Clipped surrogate, KL to the reference, entropy and a critic's error; or, of what is imitated, the negative log-probability. */
function lessonLoss(objective: TextObjective, { logProbs, values }: ReturnType<typeof judgement>, lesson: Values) {
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
