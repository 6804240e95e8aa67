// What a decoder takes of a device: shared memory of a block, and device memory for a number of sequences.
#pragma once

#include "decoder.h"

namespace reverie::decoder {

SharedLayout sharedLayoutOf(const DecoderSpec& spec, DecoderPrecision precision);

/** Parts that attention over a whole context is put together from. */
int partsOf(int context);

/** Bytes of one sequence's keys (or values). */
std::size_t cacheBytesOf(const DecoderSpec& spec, const DecoderOptions& options);

/** Blocks resident at once, at most. */
int residentBound(const DeviceLimits& limits);

/** Blocks that a launch may have, at most: whole waves of resident ones. */
int mostBlocks(int sequences, const DeviceLimits& limits);

/** Bytes of the parts of attention. */
std::size_t partialBytes(const DecoderSpec& spec, const DecoderOptions& options, int blocks);

std::optional<std::string> wrongWithStops(const std::vector<int>& stops, const DecoderSpec& spec);

/** Throws std::invalid_argument. */
void checkPrompt(const Prompt& prompt, const DecoderSpec& spec, const DecoderOptions& options);

}  // namespace reverie::decoder
