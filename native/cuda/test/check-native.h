// What the tests of vector code share, whatever their precision.
#pragma once

#include <cstring>
#include <vector>

#include "../processor/native-ensemble.h"
#include "step-cases.h"

namespace reverie::test {

/** A case's request; it points into what is beside it. */
struct StepInputs {
  explicit StepInputs(const StepCase& c);
  StepInputs(const StepInputs&) = delete;
  StepInputs& operator=(const StepInputs&) = delete;

  EnsembleSpec spec;
  Batch batch;
  std::vector<RandomStream> streams;
  StepRequest request;
};

Answered stepNative(processor::NativeEnsemble& ensemble, const EnsembleSpec& spec, const StepRequest& request);

bool isSameRollout(const RolloutAnswer& a, const RolloutAnswer& b);

/** Numbers that every machine makes alike, and the hash of what became of them (FNV-1a over words). */
class Trail {
 public:
  float next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 8)) * 0x1p-23f - 1.0f;
  }

  std::vector<float> numbers(std::size_t count, float scale) {
    std::vector<float> out(count);
    for (float& value : out) value = scale * next();
    return out;
  }

  void follow(const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; i++) {
      std::uint32_t bits;
      std::memcpy(&bits, values + i, 4);
      hash = (hash ^ bits) * 16777619u;
    }
  }

  std::uint32_t hash = 2166136261u;

 private:
  std::uint32_t state_ = 7;
};

/** Seven rows through a network of each activation. */
void trailNetworks(Trail& trail, const processor::Width& width, Precision precision);

}  // namespace reverie::test
