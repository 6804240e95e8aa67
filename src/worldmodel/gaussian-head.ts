// The Gaussian head that learned dynamics share: a mean and a log-variance kept within learned bounds
// (PETS, Chua et al. 2018, 1805.12114, appendix A.1), its parameters and its losses.

import {
  add,
  exp,
  mul,
  neg,
  type ParamSpec,
  reduceMean,
  reduceSum,
  softplus,
  square,
  sub,
  type Value,
} from '../nn/index.js';

/** Where the bounds of the log-variance start, in normalised units, and how strongly they are pulled together. */
export interface GaussianBounds {
  readonly logVarMin: number;
  readonly logVarMax: number;
  readonly logVarPenalty: number;
}

/** The learned bounds as parameters: `logVarMax` and `logVarMin`, [outputDim] each. */
export function boundSpecs(
  outputDim: number,
  { logVarMin, logVarMax }: Pick<GaussianBounds, 'logVarMin' | 'logVarMax'>,
): ParamSpec[] {
  return [
    { name: 'logVarMax', shape: [outputDim], init: { kind: 'constant', value: logVarMax } },
    { name: 'logVarMin', shape: [outputDim], init: { kind: 'constant', value: logVarMin } },
  ];
}

/** `raw` [rows, outputDim] brought within the learned bounds. */
export function boundedLogVar(params: Readonly<Record<string, Value>>, raw: Value): Value {
  const below = sub(params['logVarMax'], softplus(sub(params['logVarMax'], raw)));
  return add(params['logVarMin'], softplus(sub(below, params['logVarMin'])));
}

/** Negative log-likelihood of each value without its constant, doubled as in PETS: error / var + logVar. */
export function gaussianNll(squaredError: Value, logVar: Value): Value {
  return add(mul(squaredError, exp(neg(logVar))), logVar);
}

/** The pull on the learned bounds: logVarPenalty · (Σ max − Σ min), each output's with its weight, where there are weights. */
export function boundPenalty(
  params: Readonly<Record<string, Value>>,
  { logVarPenalty }: Pick<GaussianBounds, 'logVarPenalty'>,
  weights?: Value,
): Value {
  const sum = (bound: Value) => reduceSum(weights ? mul(bound, weights) : bound);
  return mul(sub(sum(params['logVarMax']), sum(params['logVarMin'])), logVarPenalty);
}

/**
 * Losses of a head against targets [rows, outputDim]: mean negative log-likelihood, in which outputs count by `weights`
 * [outputDim] where there are any, and squared error per output.
 */
export function gaussianLosses(
  mean: Value,
  logVar: Value,
  target: Value,
  weights?: Value,
): { nll: Value; squaredError: Value } {
  const error = square(sub(mean, target));
  const nll = gaussianNll(error, logVar);
  return { nll: reduceMean(weights ? mul(nll, weights) : nll), squaredError: reduceMean(error, [0]) };
}
