// Random ensembles, policies and rows of a given shape: the same numbers for the same seed, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../engine/ensemble.h"

namespace reverie::bench {

struct Shape {
  int obs = 17, action = 6, members = 7, hidden = 200, layers = 4;
  int policyHidden = 256, policyLayers = 2;
};

/**
 * An ensemble whose rollouts stay bounded: changes are small beside the observations. Learns the reward, not the end.
 * Weights are normal with variance 1 / inputs.
 */
EnsembleSpec randomEnsemble(const Shape& shape, int elites, std::uint64_t seed);

/** A squashed Gaussian policy: `layers` hidden layers; none makes it linear. */
PolicySpec randomPolicy(const Shape& shape, int layers, std::uint64_t seed);

std::vector<float> randomNormals(std::size_t count, std::uint64_t seed);
std::vector<float> randomUniforms(std::size_t count, std::uint64_t seed);
std::vector<RandomStream> randomStreams(std::size_t count, std::uint64_t seed);

/** Throws std::invalid_argument for another word than fp32, tf32, bf16. */
Precision precisionOf(const std::string& name);
const char* nameOf(Precision precision);

}  // namespace reverie::bench
