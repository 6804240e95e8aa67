// What decoding on a device must come to, in doubles and plain loops: whole sequences recomputed, no cache, tokens sorted.
#pragma once

#include <cstdint>
#include <vector>

#include "../engine/decoder.h"

namespace reverie::reference {

/** Logits [tokens, vocab] after each token of a sequence. `isRounded`: weights are first rounded to bfloat16. */
std::vector<double> decoderLogits(const DecoderSpec& spec, const std::vector<int>& tokens, bool isRounded);

/** Word `position` of the stream of src/rng.ts that has this key. */
std::uint32_t randomWord(std::uint32_t key0, std::uint32_t key1, std::uint64_t position);

struct Drawn {
  /** -1: no token is allowed. */
  int token;
  /** How much a probability would have to change for another token. */
  double margin;
};

/** The next token from logits [vocab]. `allowed` is empty where all tokens are. */
Drawn drawToken(const std::vector<double>& logits, const Sampling& sampling, const std::vector<bool>& allowed, std::uint32_t word);

}  // namespace reverie::reference
