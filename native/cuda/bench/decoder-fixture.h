// Random small language models and prompts.
#pragma once

#include <cstdint>

#include "../engine/decoder.h"

namespace reverie::bench {

struct DecoderShape {
  int layers, width, heads, kvHeads, feedForward, vocabulary;
};

/** Matrices are normal with variance 1 / inputs, so that activations keep their size. Embeddings are tied. */
DecoderSpec randomDecoder(const DecoderShape& shape, std::uint64_t seed);

/** Prompts of `length` random tokens each, with a stream of their own, at this temperature. */
std::vector<Prompt> randomPrompts(int count, int length, int newTokens, float temperature, int vocabulary,
                                  std::uint64_t seed);

}  // namespace reverie::bench
