// Which random words are whose at a step (src/worldmodel/ensemble/step-noise.ts): elites of all rows, then normals, then ends,
// from one stream of the batch; or the same from a stream a row, as if it were alone.
#pragma once

#include "ensemble-args.h"
#include "random.cuh"

namespace reverie {

struct StepNoise {
  RandomStream stream;
  /** By place, or null. */
  const RandomStream* streams;
  std::uint64_t firstRank, batchRows;

  REVERIE_DEVICE RandomStream streamOf(std::uint32_t place) const { return streams != nullptr ? streams[place] : stream; }
  REVERIE_DEVICE std::uint64_t rankOf(std::uint32_t rank) const { return streams != nullptr ? 0 : firstRank + rank; }
  REVERIE_DEVICE std::uint64_t rows() const { return streams != nullptr ? 1 : batchRows; }

  REVERIE_DEVICE std::uint32_t elite(std::uint32_t place, std::uint32_t rank, std::uint32_t elites) const {
    return integerOf(wordAt(streamOf(place), rankOf(rank)), elites);
  }

  /** Position of the first normal of a row. */
  REVERIE_DEVICE std::uint64_t firstNormal(std::uint32_t rank, const DynamicsArgs& dynamics) const {
    const std::uint64_t eliteWords = dynamics.isTs1 ? rows() : 0;
    return eliteWords + rankOf(rank) * static_cast<std::uint64_t>(dynamics.outputDim);
  }

  /** Below an end's probability, the row ends. */
  REVERIE_DEVICE float chance(std::uint32_t place, std::uint32_t rank, const DynamicsArgs& dynamics) const {
    if (dynamics.isDeterministic) return 0.5f;
    const std::uint64_t words = (dynamics.isTs1 ? rows() : 0) + rows() * static_cast<std::uint64_t>(dynamics.outputDim);
    return uniformOf(wordAt(streamOf(place), words + rankOf(rank)));
  }
};

}  // namespace reverie
