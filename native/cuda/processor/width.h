// What is compiled once for each width of vectors, as a table of functions, and which of the tables a processor can use. All
// of them answer the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training.h"

namespace reverie::processor {

/**
 * A fully connected layer as packed: blocks of whole vectors of outputs, one after another (`blockOf`); each has the weights
 * of its outputs input by input, [in, outputs of the block]. Outputs are padded with zeros to whole vectors.
 */
struct PackedLayer {
  const float* weights;
  /** [vectors * lanes] */
  const float* bias;
  int in, vectors;
  Activation end;
};

/** Vectors of outputs in the block that begins at vector `first`: as even as can be, `most` at most. */
inline int blockOf(int first, int vectors, int most) {
  const int left = vectors - first, blocks = (left + most - 1) / most;
  return (left + blocks - 1) / blocks;
}

/** Blocks of four random words: stream and number of each. */
struct WordBlocks {
  const std::uint32_t *key0, *key1, *low, *high;
};

/** Elites' bounds in units of the targets' deviations, [elites, stride]; what else is [outputs], padded to whole vectors. */
struct OutputScales {
  const float *varianceMin, *varianceMax, *logVarMax;
  int stride;
  const float *scale, *mean;
  int outputs;
};

/** Answers of the elites for a row, [elites, elite stride], and its normals, null for none. */
struct RowAnswers {
  const float* at;
  std::int64_t eliteStride;
  /** The elite that answers, or -1: the mean of them all. Its answers are at `at` themselves. */
  int elite, elites;
  const float* normals;
};

/** A row of a policy with a Gaussian; arrays are padded to whole vectors. */
struct GaussianRow {
  const float *mean, *logStd;
  /** Null for none. */
  const float* normals;
  int columns;
  bool isSquashed;
  float *unit, *density;
};

struct Width {
  const char* name;
  int lanes;
  /** Outputs that a block has at most, in vectors. */
  int blockVectors;
  /** y = end(x w + b); rows of y have whole vectors. */
  void (*layer)(const PackedLayer& layer, const float* x, std::int64_t xStride, int rows, float* y, std::int64_t yStride);
  /** `count` blocks to words [count, 4]; arrays are padded to whole vectors. */
  void (*words)(const WordBlocks& blocks, int count, std::uint32_t* to);
  /** Normals of words, in place allowed; padded to whole vectors. */
  void (*normals)(const std::uint32_t* words, int count, float* to);
  /** Change of each output in raw units, padded to whole vectors. */
  void (*change)(const OutputScales& scales, const RowAnswers& answers, float* to);
  /** Actions before they are scaled, and what each column adds to the log-density. */
  void (*gaussian)(const GaussianRow& row);
  /** In place, padded to whole vectors. */
  void (*sigmoid)(float* values, int count);
  void (*exponential)(float* values, int count);
  void (*logarithm)(float* values, int count);
  const TrainingKernels* training;
};

/** Those that are compiled and that this processor has, best first: "plain" is always among them, and last. */
const std::vector<const Width*>& widths();

/** By name; the best for an empty one. Throws std::invalid_argument naming those there are. */
const Width& widthNamed(const std::string& name);

}  // namespace reverie::processor
