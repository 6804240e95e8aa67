// Random small decoders and prompts for tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../engine/decoder.h"
#include "../engine/emulator.h"

namespace reverie::test {

struct ModelShape {
  int layers, dModel, heads, kvHeads, headDim, ffn, vocab;
  bool isTied;
};

std::string nameOf(const ModelShape& shape, DecoderPrecision precision);

/** Weights that keep activations about 1 and make the model attend unevenly. */
DecoderSpec randomDecoder(const ModelShape& shape, std::uint32_t seed);

std::vector<int> randomTokens(int count, int vocab, std::uint32_t seed);

/** Greedy, `maxNewTokens` long. */
Prompt promptOf(std::vector<int> tokens, int maxNewTokens);

/** A decoder and the emulated device it is on. */
struct EmulatedDecoder {
  EmulatedDecoder(const DecoderSpec& spec, const DecoderOptions& options, const emulator::Options& device = {})
      : device(emulator::makeEmulatedDevice(device)), decoder(makeDecoder(*this->device, spec, options)) {}
  Decoder* operator->() const { return decoder.get(); }

  std::unique_ptr<Device> device;
  std::unique_ptr<Decoder> decoder;
};

DecoderOptions optionsOf(DecoderPrecision precision, int context, int sequences);

}  // namespace reverie::test
