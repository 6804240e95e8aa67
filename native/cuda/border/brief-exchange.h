// Where a brief step's numbers lie in the buffer that it shares with src/nn/brief-step.ts, one after another: obs, action,
// streams (four words each, as AddonStepRequest has them), next observations, rewards, disagreement, and a byte a row for ends.
#pragma once

#include <vector>

#include "../engine/ensemble.h"

namespace reverie::border {

struct BriefExchange {
  /** `choices`: bits of one elite a row, no noise, disagreement, a stream a row. Where `bytes` is too much nothing may be read. */
  BriefExchange(char* at, std::int64_t rows, std::uint32_t choices, const EnsembleSpec& shape) {
    request.rows = rows < 0 ? 0 : rows;
    request.options = {(choices & 1) != 0, (choices & 2) != 0, (choices & 4) != 0};
    request.hasStreamPerRow = (choices & 8) != 0;
    auto* next = reinterpret_cast<float*>(at);
    const auto take = [&](std::size_t each) {
      float* const taken = next;
      next += static_cast<std::size_t>(request.rows) * each;
      return taken;
    };
    const auto obsDim = static_cast<std::size_t>(shape.obsDim);
    request.obs = take(obsDim);
    request.action = take(static_cast<std::size_t>(shape.actionDim));
    words_ = reinterpret_cast<const std::uint32_t*>(next);
    next += 4 * streams();
    answer.nextObs = take(obsDim);
    float* const reward = take(1);
    float* const disagreement = take(1);
    answer.reward = shape.learnsReward ? reward : nullptr;
    answer.disagreement = request.options.withDisagreement ? disagreement : nullptr;
    answer.terminated = shape.learnsTermination ? reinterpret_cast<std::uint8_t*>(next) : nullptr;
    bytes = static_cast<std::size_t>(reinterpret_cast<char*>(next) - at) + static_cast<std::size_t>(request.rows);
  }
  BriefExchange(const BriefExchange&) = delete;
  BriefExchange& operator=(const BriefExchange&) = delete;

  /** Takes the streams in; call it once `bytes` was found to fit. */
  void readStreams() {
    streams_.resize(streams());
    for (std::size_t i = 0; i < streams_.size(); i++) {
      const std::uint32_t* words = words_ + 4 * i;
      streams_[i] = {words[0], words[1], words[2] | (static_cast<std::uint64_t>(words[3]) << 32)};
    }
    request.streams = streams_.data();
  }

  StepRequest request{};
  StepAnswer answer{};
  std::size_t bytes = 0;

 private:
  std::size_t streams() const { return request.hasStreamPerRow ? static_cast<std::size_t>(request.rows) : 1; }

  const std::uint32_t* words_ = nullptr;
  std::vector<RandomStream> streams_;
};

}  // namespace reverie::border
