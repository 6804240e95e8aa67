// Weights of a decoder as its kernels read them: one stretch of device memory, matrices padded and in the order of mma operands.
#pragma once

#include "decoder.h"

namespace reverie::decoder {

struct PackedModel {
  const void* embedding = nullptr;
  const Layer* layer = nullptr;
  const float* finalNorm = nullptr;
  Matrix head{};
  const Rotation* rotations = nullptr;
  const std::uint32_t* mask = nullptr;
  const int* edgeStart = nullptr;
  const int* edgeToken = nullptr;
  const int* edgeNext = nullptr;
  int maskWords = 0;
  std::size_t bytes = 0;
};

/** Writes to `memory`, which will be found at address `base` of the device; null: tells sizes only. */
PackedModel pack(const DecoderSpec& spec, const DecoderOptions& options, char* memory, Address base);

}  // namespace reverie::decoder
