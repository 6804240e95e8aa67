// What training is made of, compiled once for each width of vectors. Rows lie along the vectors: activations are
// [features, ROW_BLOCK], so that weights are read where they lie, and what is summed over features meets no other lane. Sums over
// rows, of gradients, lie along the outputs. Whatever the width, each sum takes its parts in one order.
#pragma once

#include <cstdint>

#include "../kernels/kinds.h"

namespace reverie::processor {

/** Rows that go through a network at a time; a row of an array of activations has so many floats. */
constexpr int ROW_BLOCK = 64;

/** Rows and columns are padded to so many floats, whatever the width: as the widest vector has. */
constexpr int PADDING = 16;

constexpr int padded(int count) { return (count + PADDING - 1) / PADDING * PADDING; }

/**
 * c [m, n] = start + a b, each element's products summed in the order of k by multiply-adds that round once.
 * a(i, k) is a[i aRow + k aStep]; b(k, j) is b[k bRow + j], readable up to whole paddings of j.
 */
struct Product {
  const float* a;
  std::int64_t aRow, aStep;
  const float* b;
  std::int64_t bRow;
  float* c;
  std::int64_t cRow;
  int m, n, k;
  /** Of each row of c, null for zero; where `goesOn`, sums begin with what c holds. */
  const float* start;
  bool goesOn;
};

/** Hidden units of a layer for a block of rows. */
struct HiddenUnits {
  int features, rows;
  Activation end;
  /** Rows to mean 0 and variance 1 before the activation (Ba et al. 2016, 1607.06450), without gain and shift. */
  bool isNormalised;
  /** [features, ROW_BLOCK]: sums of the layer, normalised in place; and what the activation makes of them. */
  float *before, *after;
  /** [ROW_BLOCK], one over the rows' deviations. */
  float* precision;
};

/**
 * Actions as tanh of a Gaussian (Haarnoja et al. 2018, 1801.01290, appendix C) for a block of rows, all [columns, ROW_BLOCK]:
 * `out` has means and then log-deviations, not yet within their bounds.
 */
struct SquashedRows {
  int columns, rows;
  const float *out, *noise;
  float* action;
  /** [ROW_BLOCK] */
  float* logProb;
};

/**
 * A Gaussian head whose log-variance is kept within learned bounds (Chua et al. 2018, 1805.12114, appendix A.1) for a block of rows,
 * one output of it: all [ROW_BLOCK].
 */
struct GaussianLoss {
  int rows;
  const float *mean, *raw, *target;
  float logVarMax, logVarMin;
  /** What the losses of this output count by, and the same over the number of rows and outputs. */
  float weight, share;
  /** Of the loss: error / variance + log-variance, its weight included, is added to `nll`. */
  float *meanGradient, *rawGradient, *maxGradient, *minGradient, *nll;
};

struct TrainingKernels {
  void (*product)(const Product& product);
  /** to [n, toRow] from [m, fromRow], whole paddings of both. */
  void (*transpose)(const float* from, std::int64_t fromRow, int m, int n, float* to, std::int64_t toRow);
  void (*hidden)(const HiddenUnits& units);
  /** Gradients of what comes after to those of the sums, in place: [features, ROW_BLOCK]. */
  void (*hiddenBack)(const HiddenUnits& units, float* gradient);
  void (*squash)(const SquashedRows& rows);
  /** From gradients of the actions and the one of every log-density to those of `out`. */
  void (*squashBack)(const SquashedRows& rows, const float* actionGradient, float densityGradient, float* outGradient);
  void (*gaussianLoss)(const GaussianLoss& loss);
  /** The gradient of `share` times the cross-entropy of a logit and its target, 0 or 1. */
  void (*crossEntropyBack)(const float* logit, const float* target, int rows, float share, float* gradient);
  /** to += factor values */
  void (*addProducts)(float* to, const float* factor, const float* values, std::int64_t count);
  /** Adam (Kingma and Ba 2015) with moments and scalars scaled as in src/nn/optimiser.ts. */
  void (*adam)(float* theta, float* m, float* v, const float* gradient, std::int64_t count, float alpha, float epsilon);
  /** target += tau (source - target) */
  void (*follow)(float* target, const float* source, std::int64_t count, float tau);
};

}  // namespace reverie::processor
