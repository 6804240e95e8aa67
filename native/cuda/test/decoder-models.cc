// See decoder-models.h.

#include "decoder-models.h"

#include <cmath>

namespace reverie::test {
namespace {

class Source {
 public:
  explicit Source(std::uint32_t seed) : engine_(seed) {}

  std::vector<float> normals(int rows, int columns, double scale, double mean = 0) {
    std::vector<float> values(static_cast<std::size_t>(rows) * columns);
    for (auto& value : values) value = static_cast<float>(mean + scale * normal_(engine_));
    return values;
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

DecoderLayerWeights randomLayer(const ModelShape& shape, Source& source) {
  const int d = shape.dModel, queries = shape.heads * shape.headDim, keys = shape.kvHeads * shape.headDim;
  const double in = 1 / std::sqrt(d);
  DecoderLayerWeights weights;
  weights.inputNorm = source.normals(1, d, 0.1, 1);
  weights.ffnNorm = source.normals(1, d, 0.1, 1);
  weights.query = source.normals(queries, d, 1.5 * in);
  weights.key = source.normals(keys, d, 1.5 * in);
  weights.value = source.normals(keys, d, in);
  weights.out = source.normals(d, queries, 1 / std::sqrt(queries));
  weights.gate = source.normals(shape.ffn, d, in);
  weights.up = source.normals(shape.ffn, d, in);
  weights.down = source.normals(d, shape.ffn, 1 / std::sqrt(shape.ffn));
  return weights;
}

}  // namespace

std::string nameOf(const ModelShape& shape, DecoderPrecision precision) {
  return std::string(precision == DecoderPrecision::bf16 ? "bf16" : "fp32") + " d " + std::to_string(shape.dModel) + " heads " +
         std::to_string(shape.heads) + ":" + std::to_string(shape.kvHeads) + " of " + std::to_string(shape.headDim) + " ffn " +
         std::to_string(shape.ffn) + " vocabulary " + std::to_string(shape.vocab);
}

DecoderSpec randomDecoder(const ModelShape& shape, std::uint32_t seed) {
  Source source(seed);
  DecoderSpec spec;
  spec.layers = shape.layers;
  spec.dModel = shape.dModel;
  spec.heads = shape.heads;
  spec.kvHeads = shape.kvHeads;
  spec.headDim = shape.headDim;
  spec.ffn = shape.ffn;
  spec.vocab = shape.vocab;
  spec.isTied = shape.isTied;
  spec.embedding = source.normals(shape.vocab, shape.dModel, 1);
  for (int i = 0; i < shape.layers; i++) spec.weights.push_back(randomLayer(shape, source));
  spec.finalNorm = source.normals(1, shape.dModel, 0.1, 1);
  if (!shape.isTied) spec.head = source.normals(shape.vocab, shape.dModel, 3 / std::sqrt(shape.dModel));
  return spec;
}

std::vector<int> randomTokens(int count, int vocab, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<int> tokens(count);
  for (auto& token : tokens) token = static_cast<int>(engine() % static_cast<std::uint32_t>(vocab));
  return tokens;
}

Prompt promptOf(std::vector<int> tokens, int maxNewTokens) {
  Prompt prompt;
  prompt.tokens = std::move(tokens);
  prompt.maxNewTokens = maxNewTokens;
  return prompt;
}

DecoderOptions optionsOf(DecoderPrecision precision, int context, int sequences) {
  DecoderOptions options;
  options.precision = precision;
  options.context = context;
  options.sequences = sequences;
  return options;
}

}  // namespace reverie::test
