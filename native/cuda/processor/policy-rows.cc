// Policies on the processor.
#include "policy-rows.h"

#include <algorithm>

#include "../kernels/number.cuh"
#include "../kernels/random.cuh"
#include "row-blocks.h"

namespace reverie::processor {
namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }

PolicySpec withoutWeights(PolicySpec policy) {
  policy.layers.clear();
  return policy;
}

AlignedFloats padded(int count, const Width& width) { return AlignedFloats(size(paddedTo(count, width))); }

}  // namespace

PolicyRows::PolicyRows(const PolicySpec& policy, int obsDim, bool isDeterministic, const Width& width)
    : policy_(withoutWeights(policy)),
      width_(width),
      network_(policy.layers, policy.activation, width),
      obsDim_(obsDim),
      actionDim_(policy.head == PolicyHead::categorical ? 1 : static_cast<int>(policy.scale.size())),
      isDeterministic_(isDeterministic),
      wordsOfRow_(policy.head == PolicyHead::categorical ? policy.choices : actionDim_),
      logStd_(padded(actionDim_, width)) {
  std::copy(policy.logStd.begin(), policy.logStd.end(), logStd_.data());
  AlignedFloats logs = padded(static_cast<int>(policy.scale.size()), width);
  std::fill_n(logs.data(), logs.size(), 1.0f);
  std::copy(policy.scale.begin(), policy.scale.end(), logs.data());
  width.logarithm(logs.data(), static_cast<int>(policy.scale.size()));
  for (std::size_t j = 0; j < policy.scale.size(); j++) logScale_ += logs.data()[j];
}

PolicyRows::Scratch PolicyRows::makeScratch() const {
  Scratch scratch;
  const std::size_t rows = size(BLOCK_ROWS) * size(network_.stride());
  scratch.first = AlignedFloats(rows);
  scratch.second = AlignedFloats(rows);
  for (AlignedFloats* of : {&scratch.unit, &scratch.density}) *of = padded(actionDim_, width_);
  scratch.logits = padded(2 * wordsOfRow_, width_);
  const std::size_t blocks = size((wordsOfRow_ + 6) / 4 + width_.lanes);
  for (auto* of : {&scratch.keys0, &scratch.keys1, &scratch.low, &scratch.high}) of->resize(blocks);
  scratch.words.resize(4 * blocks);
  scratch.normals = AlignedFloats(4 * blocks + size(width_.lanes));
  return scratch;
}

void PolicyRows::act(const RandomStream& stream, Scratch& scratch, std::size_t first, int count, const float* obs, float* action,
                     float* logProb) const {
  const int stride = network_.stride();
  for (int i = 0; i < count; i++) {
    std::copy_n(obs + (first + size(i)) * size(obsDim_), obsDim_, scratch.first.data() + static_cast<std::int64_t>(i) * stride);
  }
  const float* outputs = network_.run(scratch.first.data(), scratch.second.data(), count);
  for (int i = 0; i < count; i++, outputs += stride) {
    const std::size_t row = first + size(i);
    float* to = action + row * size(actionDim_);
    logProb[row] = policy_.head == PolicyHead::categorical ? actChoice(stream, row, scratch, outputs, to)
                                                           : actGaussian(stream, row, scratch, outputs, to);
  }
}

/** Words offset .. of the stream; the first is `words[(position + offset) % 4]`. */
void PolicyRows::drawWords(const RandomStream& stream, std::uint64_t offset, Scratch& scratch) const {
  const std::uint64_t first = (stream.position + offset) / 4;
  const int blocks = (wordsOfRow_ + 6) / 4;
  for (int b = 0; b < blocks; b++) {
    scratch.keys0[size(b)] = stream.key0;
    scratch.keys1[size(b)] = stream.key1;
    scratch.low[size(b)] = static_cast<std::uint32_t>(first + static_cast<unsigned>(b));
    scratch.high[size(b)] = static_cast<std::uint32_t>((first + static_cast<unsigned>(b)) >> 32);
  }
  width_.words({scratch.keys0.data(), scratch.keys1.data(), scratch.low.data(), scratch.high.data()}, blocks, scratch.words.data());
}

float PolicyRows::actGaussian(const RandomStream& stream, std::uint64_t row, Scratch& scratch, const float* outputs,
                              float* action) const {
  const bool isSquashed = policy_.head == PolicyHead::squashed;
  const std::uint64_t offset = row * static_cast<unsigned>(wordsOfRow_);
  const float* normals = nullptr;
  if (!isDeterministic_) {
    drawWords(stream, offset, scratch);
    width_.normals(scratch.words.data(), 4 * ((wordsOfRow_ + 6) / 4), scratch.normals.data());
    normals = scratch.normals.data() + (stream.position + offset) % 4;
  }
  const float* logStd = isSquashed ? outputs + actionDim_ : logStd_.data();
  width_.gaussian({outputs, logStd, normals, actionDim_, isSquashed, scratch.unit.data(), scratch.density.data()});
  float density = -logScale_;
  for (int j = 0; j < actionDim_; j++) {
    density += scratch.density.data()[j];
    const float scaled = scratch.unit.data()[j] * policy_.scale[size(j)] + policy_.bias[size(j)];
    action[j] = clamp(scaled, policy_.low[size(j)], policy_.high[size(j)]);
  }
  return density;
}

/** Gumbel-max sampling; the first of equal maxima wins. */
float PolicyRows::actChoice(const RandomStream& stream, std::uint64_t row, Scratch& scratch, const float* outputs,
                            float* action) const {
  const int choices = policy_.choices;
  float* scores = scratch.logits.data();
  float* shares = scores + choices;
  const float peak = *std::max_element(outputs, outputs + choices);
  for (int j = 0; j < choices; j++) shares[j] = outputs[j] - peak;
  width_.exponential(shares, choices);
  float sum = 0.0f;
  for (int j = 0; j < choices; j++) sum += shares[j];
  std::fill_n(scores, choices, 0.0f);
  if (!isDeterministic_) {
    const std::uint64_t offset = row * static_cast<unsigned>(wordsOfRow_);
    drawWords(stream, offset, scratch);
    const std::uint32_t* words = scratch.words.data() + (stream.position + offset) % 4;
    // The ends of (0, 1), whose double logarithm would be infinite, are left out as src/rl/network-policy.ts does.
    for (int j = 0; j < choices; j++) scores[j] = 1e-7f + uniformOf(words[j]) * (1.0f - 2e-7f);
    for (int pass = 0; pass < 2; pass++) {
      width_.logarithm(scores, choices);
      for (int j = 0; j < choices; j++) scores[j] = -scores[j];
    }
  }
  int chosen = 0;
  for (int j = 0; j < choices; j++) {
    scores[j] += outputs[j];
    if (scores[j] > scores[chosen]) chosen = j;
  }
  action[0] = static_cast<float>(chosen + policy_.start);
  float whole[64] = {sum};
  width_.logarithm(whole, 1);
  return outputs[chosen] - peak - whole[0];
}

}  // namespace reverie::processor
