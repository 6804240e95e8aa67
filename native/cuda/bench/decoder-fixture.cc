// Random small language models and prompts.
#include "decoder-fixture.h"

#include <cmath>

#include "fixture.h"

namespace reverie::bench {
namespace {

/** [out, in] */
std::vector<float> matrix(int out, int in, std::uint64_t& seed) {
  auto values = randomNormals(static_cast<std::size_t>(out) * in, seed++);
  for (auto& value : values) value /= std::sqrt(static_cast<float>(in));
  return values;
}

std::vector<float> gains(int count, std::uint64_t& seed) {
  auto values = randomUniforms(count, seed++);
  for (auto& value : values) value = 1 + 0.3f * value;
  return values;
}

}  // namespace

DecoderSpec randomDecoder(const DecoderShape& shape, std::uint64_t seed) {
  DecoderSpec spec;
  const int d = shape.width, headDim = d / shape.heads, ffn = shape.feedForward, kv = shape.kvHeads * headDim;
  seed *= 1000;
  spec.layers = shape.layers;
  spec.dModel = d;
  spec.heads = shape.heads;
  spec.kvHeads = shape.kvHeads;
  spec.headDim = headDim;
  spec.ffn = ffn;
  spec.vocab = shape.vocabulary;
  spec.embedding = matrix(shape.vocabulary, d, seed);
  for (auto& value : spec.embedding) value *= 4;
  for (int i = 0; i < shape.layers; i++) {
    DecoderLayerWeights layer;
    layer.inputNorm = gains(d, seed);
    layer.ffnNorm = gains(d, seed);
    layer.query = matrix(d, d, seed);
    layer.key = matrix(kv, d, seed);
    layer.value = matrix(kv, d, seed);
    layer.out = matrix(d, d, seed);
    layer.gate = matrix(ffn, d, seed);
    layer.up = matrix(ffn, d, seed);
    layer.down = matrix(d, ffn, seed);
    spec.weights.push_back(std::move(layer));
  }
  spec.finalNorm = gains(d, seed);
  return spec;
}

std::vector<Prompt> randomPrompts(int count, int length, int newTokens, float temperature, int vocabulary,
                                  std::uint64_t seed) {
  const auto streams = randomStreams(count, seed);
  const auto words = randomStreams(static_cast<std::size_t>(count) * length, seed + 1);
  std::vector<Prompt> prompts(count);
  for (int i = 0; i < count; i++) {
    Prompt& prompt = prompts[i];
    for (int t = 0; t < length; t++) {
      prompt.tokens.push_back(static_cast<int>(words[static_cast<std::size_t>(i) * length + t].key0 % vocabulary));
    }
    prompt.sampling.temperature = temperature;
    prompt.sampling.key0 = streams[i].key0;
    prompt.sampling.key1 = streams[i].key1;
    prompt.maxNewTokens = newTokens;
  }
  return prompts;
}

}  // namespace reverie::bench
