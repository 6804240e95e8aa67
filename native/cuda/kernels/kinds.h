// Kinds that host and kernels both have words for.
#pragma once

#include <cstdint>

namespace reverie {

/** What follows the sums of a fully connected layer. */
enum class Activation : int { none, relu, tanh, swish };

enum class PolicyHead : int { squashed, gaussian, categorical };

/** As VERDICT of src/synth/rollout/recorder.ts. */
enum class Verdict : std::uint8_t { goesOn, terminated, outOfHorizon, doubted, dropped };

}  // namespace reverie
