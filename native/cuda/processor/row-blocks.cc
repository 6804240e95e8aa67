// Predictions for blocks of rows.
#include "row-blocks.h"

#include <algorithm>
#include <cmath>

#include "../kernels/number.cuh"
#include "../kernels/random.cuh"

namespace reverie::processor {
namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }

/** Blocks of four words that a row's normals may lie in, wherever the first begins. */
int wordBlocks(int outputs) { return (outputs + 6) / 4; }

EnsembleSpec withoutWeights(EnsembleSpec spec) {
  for (Member& member : spec.elites) member.layers.clear();
  return spec;
}

AlignedFloats padded(const std::vector<float>& values, const Width& width) {
  AlignedFloats out(size(paddedTo(static_cast<int>(values.size()), width)));
  std::copy(values.begin(), values.end(), out.data());
  return out;
}

}  // namespace

Scales::Scales(const EnsembleSpec& spec, const Width& width)
    : inputMean(padded(spec.inputMean, width)),
      inputRate(padded(spec.inputScale, width)),
      targetMean(padded(spec.targetMean, width)),
      targetScale(padded(spec.targetScale, width)) {
  for (std::size_t i = 0; i < spec.inputScale.size(); i++) inputRate.data()[i] = 1.0f / spec.inputScale[i];
  const int stride = paddedTo(spec.outputDim(), width);
  for (AlignedFloats* bound : {&varianceMin, &varianceMax, &logVarMax}) *bound = AlignedFloats(spec.elites.size() * size(stride));
  for (std::size_t e = 0; e < spec.elites.size(); e++) {
    const Member& member = spec.elites[e];
    std::copy(member.logVarMin.begin(), member.logVarMin.end(), varianceMin.data() + e * size(stride));
    std::copy(member.logVarMax.begin(), member.logVarMax.end(), varianceMax.data() + e * size(stride));
    std::copy(member.logVarMax.begin(), member.logVarMax.end(), logVarMax.data() + e * size(stride));
  }
  for (AlignedFloats* bound : {&varianceMin, &varianceMax}) width.exponential(bound->data(), static_cast<int>(bound->size()));
  outputs = {varianceMin.data(), varianceMax.data(), logVarMax.data(), stride, targetScale.data(), targetMean.data(),
             spec.outputDim()};
}

Scratch::Scratch(const EnsembleSpec& spec, int stride, const Width& width) {
  const std::size_t rows = size(BLOCK_ROWS) * size(stride);
  for (AlignedFloats* of : {&input, &first, &second}) *of = AlignedFloats(rows);
  answers = AlignedFloats(rows * spec.elites.size());
  const std::size_t blocks = size(BLOCK_ROWS * wordBlocks(spec.outputDim()) + width.lanes);
  for (auto* of : {&wordKeys0, &wordKeys1, &wordsLow, &wordsHigh}) of->resize(blocks);
  words.resize(4 * blocks);
  normals = AlignedFloats(4 * blocks + size(width.lanes));
  change = AlignedFloats(size(paddedTo(spec.outputDim(), width)));
  centre = AlignedFloats(size(spec.obsDim));
  ends = AlignedFloats(size(BLOCK_ROWS) * spec.elites.size() + size(width.lanes));
  ranks.resize(size(BLOCK_ROWS));
}

RowBlocks::RowBlocks(const EnsembleSpec& spec, const Width& width)
    : spec_(withoutWeights(spec)), width_(width), scales_(spec, width) {
  for (const Member& member : spec.elites) networks_.emplace_back(member.layers, Activation::swish, width);
  for (const Layer& layer : spec.elites.front().layers) products_ += static_cast<double>(layer.in) * layer.out;
}

std::size_t RowBlocks::bytes() const {
  std::size_t sum = 0;
  for (const PackedNetwork& network : networks_) sum += network.bytes();
  return sum;
}

void RowBlocks::run(const StepWork& work, Scratch& scratch, int elite, const std::uint32_t* rows, int count,
                    const std::uint32_t* elites) const {
  const int stride = networks_.front().stride();
  const std::int64_t eliteStride = static_cast<std::int64_t>(BLOCK_ROWS) * stride;
  const float* answers = scratch.answers.data();
  if (elite >= 0) {
    gather(work, rows, count, scratch.first.data());
    answers = networks_[size(elite)].run(scratch.first.data(), scratch.second.data(), count);
  } else {
    gather(work, rows, count, scratch.input.data());
    for (std::size_t e = 0; e < networks_.size(); e++) {
      std::copy_n(scratch.input.data(), size(count) * size(stride), scratch.first.data());
      const float* answered = networks_[e].run(scratch.first.data(), scratch.second.data(), count);
      std::copy_n(answered, size(count) * size(stride), scratch.answers.data() + static_cast<std::int64_t>(e) * eliteStride);
    }
  }
  const bool isSampled = !work.request->options.isDeterministic;
  if (isSampled) drawNormals(work, scratch, rows, count);
  for (int i = 0; i < count; i++) {
    const int own = elite >= 0 ? elite : elites != nullptr ? static_cast<int>(elites[rows[i]]) : -1;
    const float* row = answers + static_cast<std::int64_t>(i) * stride;
    const float* at = elite < 0 && own >= 0 ? row + own * eliteStride : row;
    finishRow(work, scratch, rows[i], i, {at, eliteStride, own, static_cast<int>(networks_.size()), nullptr});
    if (work.answer->disagreement != nullptr && work.request->options.withDisagreement) {
      work.answer->disagreement[rows[i]] = disagreement(scratch, row);
    }
  }
  if (spec_.learnsTermination && work.answer->terminated != nullptr) {
    judgeEnds(work, scratch, rows, count, answers, elite, elites);
  }
}

void RowBlocks::gather(const StepWork& work, const std::uint32_t* rows, int count, float* to) const {
  const int stride = networks_.front().stride(), obsDim = spec_.obsDim, choices = spec_.actionChoices;
  const float *mean = scales_.inputMean.data(), *rate = scales_.inputRate.data();
  for (int i = 0; i < count; i++, to += stride) {
    const float* obs = work.request->obs + size(obsDim) * rows[i];
    const float* action = work.request->action + size(spec_.actionDim) * rows[i];
    for (int j = 0; j < obsDim; j++) to[j] = (obs[j] - mean[j]) * rate[j];
    for (int j = obsDim; j < spec_.inputDim(); j++) {
      const bool isChosen = choices > 0 && action[0] == static_cast<float>(spec_.actionStart + j - obsDim);
      const float value = choices > 0 ? (isChosen ? 1.0f : 0.0f) : action[j - obsDim];
      to[j] = (value - mean[j]) * rate[j];
    }
  }
}

/** Normals of row i begin at `normals[4 i wordBlocks + position % 4]`. */
void RowBlocks::drawNormals(const StepWork& work, Scratch& scratch, const std::uint32_t* rows, int count) const {
  const StepWords words(*work.request, spec_.outputDim());
  const int blocks = wordBlocks(spec_.outputDim());
  std::size_t at = 0;
  for (int i = 0; i < count; i++) {
    const RandomStream& stream = words.streamOf(rows[i]);
    const std::uint64_t first = (stream.position + words.normals(rows[i])) / 4;
    for (int b = 0; b < blocks; b++, at++) {
      scratch.wordKeys0[at] = stream.key0;
      scratch.wordKeys1[at] = stream.key1;
      scratch.wordsLow[at] = static_cast<std::uint32_t>(first + static_cast<unsigned>(b));
      scratch.wordsHigh[at] = static_cast<std::uint32_t>((first + static_cast<unsigned>(b)) >> 32);
    }
  }
  const WordBlocks from{scratch.wordKeys0.data(), scratch.wordKeys1.data(), scratch.wordsLow.data(), scratch.wordsHigh.data()};
  width_.words(from, static_cast<int>(at), scratch.words.data());
  width_.normals(scratch.words.data(), static_cast<int>(4 * at), scratch.normals.data());
}

/** Elements that are not finite are kept as they are. */
void RowBlocks::finishRow(const StepWork& work, Scratch& scratch, std::uint32_t row, int place, const RowAnswers& answers) const {
  const StepRequest& request = *work.request;
  RowAnswers read = answers;
  if (!request.options.isDeterministic) {
    const StepWords words(request, spec_.outputDim());
    const std::uint64_t position = words.streamOf(row).position + words.normals(row);
    read.normals = scratch.normals.data() + 4 * place * wordBlocks(spec_.outputDim()) + position % 4;
  }
  const float* change = scratch.change.data();
  width_.change(scales_.outputs, read, scratch.change.data());
  const int obsDim = spec_.obsDim;
  const float* obs = request.obs + size(obsDim) * row;
  float* next = work.answer->nextObs + size(obsDim) * row;
  bool isWhole = true;
  for (int j = 0; j < obsDim; j++) {
    const float after = obs[j] + change[j];
    const bool isUsable = isFinite(after);
    isWhole = isWhole && isUsable;
    next[j] = isUsable ? clamp(after, spec_.low[size(j)], spec_.high[size(j)]) : after;
  }
  if (spec_.learnsReward) {
    isWhole = isWhole && isFinite(change[obsDim]);
    if (work.answer->reward != nullptr) work.answer->reward[row] = change[obsDim];
  }
  if (work.isNonFinite != nullptr) work.isNonFinite[row] = isWhole ? 0 : 1;
}

void RowBlocks::judgeEnds(const StepWork& work, Scratch& scratch, const std::uint32_t* rows, int count, const float* answers,
                          int elite, const std::uint32_t* elites) const {
  const int stride = networks_.front().stride(), column = 2 * spec_.outputDim();
  const int asked = elite >= 0 ? 1 : static_cast<int>(networks_.size());
  float* ends = scratch.ends.data();
  for (int e = 0; e < asked; e++) {
    for (int i = 0; i < count; i++) {
      ends[e * count + i] = answers[(static_cast<std::int64_t>(e) * BLOCK_ROWS + i) * stride + column];
    }
  }
  width_.sigmoid(ends, asked * count);
  const StepWords words(*work.request, spec_.outputDim());
  for (int i = 0; i < count; i++) {
    float probability = 0.0f;
    if (elite < 0 && elites == nullptr) {
      for (int e = 0; e < asked; e++) probability += ends[e * count + i];
      probability /= static_cast<float>(asked);
    } else {
      probability = ends[(elite >= 0 ? 0 : static_cast<int>(elites[rows[i]])) * count + i];
    }
    float chance = 0.5f;
    if (!work.request->options.isDeterministic) chance = uniformOf(wordAt(words.streamOf(rows[i]), words.end(rows[i])));
    work.answer->terminated[rows[i]] = chance < probability ? 1 : 0;
  }
}

/** Largest root mean square over elites of their means' distance from the mean of them all, in deviations of the targets. */
float RowBlocks::disagreement(Scratch& scratch, const float* answers) const {
  const auto elites = static_cast<int>(networks_.size());
  const std::int64_t eliteStride = static_cast<std::int64_t>(BLOCK_ROWS) * networks_.front().stride();
  float* centre = scratch.centre.data();
  for (int j = 0; j < spec_.obsDim; j++) {
    float sum = 0.0f;
    for (int e = 0; e < elites; e++) sum += answers[e * eliteStride + j];
    centre[j] = sum / static_cast<float>(elites);
  }
  float most = 0.0f;
  for (int e = 0; e < elites; e++) {
    float squares = 0.0f;
    for (int j = 0; j < spec_.obsDim; j++) {
      const float distance = answers[e * eliteStride + j] - centre[j];
      squares += distance * distance;
    }
    const float root = std::sqrt(squares / static_cast<float>(spec_.obsDim));
    if (root > most || std::isnan(root)) most = root;
  }
  return most;
}

}  // namespace reverie::processor
