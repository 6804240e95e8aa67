// Random ensembles, policies and rows of a given shape: the same numbers for the same seed, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../engine/precision-name.h"

namespace reverie::bench {

struct Shape {
  int obs = 17, action = 6, members = 7, hidden = 200, layers = 4;
  int policyHidden = 256, policyLayers = 2;
  /** Of a discrete action; 0 for a box of `action` columns. */
  int choices = 0;
  bool learnsEnds = false;

  int actionColumns() const { return choices > 0 ? 1 : action; }
  int actionInputs() const { return choices > 0 ? choices : action; }
};

/**
 * An ensemble whose rollouts stay bounded: changes are small beside the observations. Learns the reward. Activations are of
 * order 1 in every layer, so that what a layer does wrong shows.
 */
EnsembleSpec randomEnsemble(const Shape& shape, int elites, std::uint64_t seed);

/** A policy with `layers` hidden layers; none makes it linear. Discrete actions have a categorical head, whatever is asked. */
PolicySpec randomPolicy(const Shape& shape, int layers, std::uint64_t seed, PolicyHead head = PolicyHead::squashed);

std::vector<float> randomNormals(std::size_t count, std::uint64_t seed);
std::vector<float> randomUniforms(std::size_t count, std::uint64_t seed);
std::vector<RandomStream> randomStreams(std::size_t count, std::uint64_t seed);

/** Throws std::invalid_argument for another word than fp32, tf32. */
Precision precisionOf(const std::string& name);

}  // namespace reverie::bench
