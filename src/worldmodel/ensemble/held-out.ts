// What a fit is worth, element by element, on the rows that no member was trained on: beside a linear model of the same
// training rows and "nothing changes". An error alone says little, as elements differ in how well they can be known.

import type { HeldOutFigures, HeldOutReport } from '../dynamics-kind.js';
import type { EnsembleConfig } from './config.js';
import type { FitReport } from './contents.js';
import { LINEAR_ROWS, type MemberData, type PreparedData } from './dataset.js';

/** Keeps the linear model's equations solvable where inputs depend on each other. */
const RIDGE = 1e-6;

/** Variance, in training units, below which an element never changed on the held-out rows. */
const CONSTANT = 1e-8;

/** Squared errors and the log-likelihood of each element. */
interface Errors {
  readonly mse: readonly number[];
  /** Mean over elements, nats; a Gaussian of the training errors' variance, or the members' own. */
  readonly logLikelihood: number;
}

export function judgeHeldOut(
  { data, normaliser }: PreparedData,
  report: FitReport,
  config: EnsembleConfig,
): HeldOutReport {
  const { outputDim, holdoutRows, targets } = data;
  const spread = Array.from({ length: outputDim }, (_, k) => meanSquare(targets, outputDim, k, 0, holdoutRows));
  const ground = {
    model: modelErrors(report, outputDim),
    linear: errorsOf(data, linearPredictions(data)),
    unchanged: errorsOf(data, unchangedPredictions(data, normaliser.target, config)),
  };
  const r2 = ({ mse }: Errors, k: number) => (spread[k] < CONSTANT ? null : 1 - mse[k] / spread[k]);
  const figures = <T>(of: (errors: Errors) => T): HeldOutFigures<T> => ({
    model: of(ground.model),
    linear: of(ground.linear),
    unchanged: of(ground.unchanged),
  });
  return {
    rows: holdoutRows,
    membersAtMaxEpochs: report.members.filter(({ epochs }) => epochs >= config.maxEpochs).length,
    members: report.members.length,
    maxEpochs: config.maxEpochs,
    logLikelihood: figures(({ logLikelihood }) => logLikelihood),
    elements: spread.map((_, k) => ({
      element: config.learnReward && k === outputDim - 1 ? 'reward' : `obs[${k}]`,
      r2: figures((errors) => r2(errors, k)),
    })),
  };
}

/** The elites, each on its own. */
function modelErrors({ members, elites }: FitReport, outputDim: number): Errors {
  const average = (of: (member: number) => number) => elites.reduce((sum, elite) => sum + of(elite), 0) / elites.length;
  return {
    mse: Array.from({ length: outputDim }, (_, k) => average((elite) => members[elite].holdoutMse[k])),
    logLikelihood: fromPets(average((elite) => members[elite].holdoutNll)),
  };
}

/** PETS leaves out the constant and the half: (y - mean)^2 / variance + log variance. */
function fromPets(nll: number): number {
  return -(nll + Math.log(2 * Math.PI)) / 2;
}

/** Of predictions for all rows [rows, outputDim]: the error on held-out rows, its variance taken from the others. */
function errorsOf({ rows, holdoutRows, outputDim, targets, weights }: MemberData, predicted: Float64Array): Errors {
  const residual = Float64Array.from(predicted, (value, i) => targets[i] - value);
  const used = predicted.length / outputDim;
  const mse: number[] = [];
  let nll = 0;
  for (let k = 0; k < outputDim; k++) {
    mse.push(meanSquare(residual, outputDim, k, 0, holdoutRows));
    const variance = Math.max(CONSTANT, meanSquare(residual, outputDim, k, holdoutRows, Math.min(rows, used)));
    nll += (weights[k] * (mse[k] / variance + Math.log(variance))) / outputDim;
  }
  return { mse, logLikelihood: fromPets(nll) };
}

/** A change of zero; the mean of the rewards, as no last reward is known. */
function unchangedPredictions(
  { outputDim, holdoutRows, rows }: MemberData,
  { mean, scale }: PreparedData['normaliser']['target'],
  { learnReward }: EnsembleConfig,
): Float64Array {
  const still = mean.map((value, k) => (learnReward && k === outputDim - 1 ? 0 : -value / scale[k]));
  const used = Math.min(rows, holdoutRows + LINEAR_ROWS);
  return Float64Array.from({ length: used * outputDim }, (_, i) => still[i % outputDim]);
}

/** Least squares of the targets on the inputs and a constant. */
function linearPredictions(data: MemberData): Float64Array {
  const { inputs, targets, inputDim, outputDim, rows, holdoutRows } = data;
  const used = Math.min(rows, holdoutRows + LINEAR_ROWS);
  const width = inputDim + 1;
  const row = (r: number, i: number) => (i === inputDim ? 1 : inputs[r * inputDim + i]);
  // Each row of the equations: products of an input with all inputs, then with all targets.
  const equations = Array.from({ length: width }, () => new Float64Array(width + outputDim));
  for (let r = holdoutRows; r < used; r++) {
    for (let i = 0; i < width; i++) {
      const left = row(r, i);
      for (let j = 0; j < width; j++) equations[i][j] += left * row(r, j);
      for (let k = 0; k < outputDim; k++) equations[i][width + k] += left * targets[r * outputDim + k];
    }
  }
  for (let i = 0; i < width; i++) equations[i][i] += RIDGE * (used - holdoutRows);
  solve(equations);
  const predicted = new Float64Array(used * outputDim);
  for (let r = 0; r < used; r++) {
    for (let k = 0; k < outputDim; k++) {
      for (let i = 0; i < width; i++) predicted[r * outputDim + k] += row(r, i) * equations[i][width + k];
    }
  }
  return predicted;
}

/** Gauss and Jordan, in place: the left square becomes the identity. It is symmetric and positive, so no row is exchanged. */
function solve(equations: readonly Float64Array[]): void {
  for (const [pivot, row] of equations.entries()) {
    const scale = row[pivot];
    for (let j = 0; j < row.length; j++) row[j] /= scale;
    for (const [other, target] of equations.entries()) {
      const factor = target[pivot];
      if (other === pivot || factor === 0) continue;
      for (let j = 0; j < row.length; j++) target[j] -= factor * row[j];
    }
  }
}

function meanSquare(values: ArrayLike<number>, width: number, column: number, first: number, end: number): number {
  let sum = 0;
  for (let r = first; r < end; r++) sum += values[r * width + column] ** 2;
  return sum / (end - first);
}
