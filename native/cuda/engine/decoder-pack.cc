// See decoder-pack.h. The same walk through the model is done twice: for sizes, then for bytes.

#include "decoder-pack.h"

#include <cmath>
#include <cstring>
#include <functional>

namespace reverie::decoder {
namespace {

/** Element of a matrix [depth, columns], zero outside of it. */
using Element = std::function<float(int k, int column)>;

std::uint16_t bf16Of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

int ceilDiv(int a, int b) { return (a + b - 1) / b; }

class Packer {
 public:
  Packer(DecoderPrecision precision, char* memory, Address base) : precision_(precision), memory_(memory), base_(base) {}

  std::size_t bytes() const { return used_; }

  template <class T>
  const T* put(const std::vector<T>& values) {
    const std::size_t at = reserve(values.size() * sizeof(T));
    if (memory_ != nullptr && !values.empty()) std::memcpy(memory_ + at, values.data(), values.size() * sizeof(T));
    return reinterpret_cast<const T*>(base_ + at);
  }

  /** Plain rows in the model's precision. */
  const void* putRows(const std::vector<float>& values) {
    if (precision_ == DecoderPrecision::fp32) return put(values);
    const std::size_t at = reserve(values.size() * 2);
    if (memory_ != nullptr) {
      auto* to = reinterpret_cast<std::uint16_t*>(memory_ + at);
      for (std::size_t i = 0; i < values.size(); i++) to[i] = bf16Of(values[i]);
    }
    return reinterpret_cast<const void*>(base_ + at);
  }

  Matrix putMatrix(int depth, int columns, const Element& element) {
    Matrix matrix{nullptr, columns, ceilDiv(columns, PANEL_COLUMNS), ceilDiv(depth, DEPTH_CHUNK)};
    const bool isHalf = precision_ == DecoderPrecision::bf16;
    const std::size_t elements = static_cast<std::size_t>(matrix.panels) * PANEL_COLUMNS * matrix.chunks * DEPTH_CHUNK;
    const std::size_t at = reserve(elements * (isHalf ? 2 : 4));
    matrix.weights = reinterpret_cast<const void*>(base_ + at);
    if (memory_ == nullptr) return matrix;
    const Element padded = [&](int k, int column) { return k < depth && column < columns ? element(k, column) : 0.0f; };
    if (isHalf) {
      writePanels(reinterpret_cast<std::uint16_t*>(memory_ + at), matrix, padded);
    } else {
      auto* to = reinterpret_cast<float*>(memory_ + at);
      for (int k = 0; k < matrix.chunks * DEPTH_CHUNK; k++) {
        for (int column = 0; column < matrix.panels * PANEL_COLUMNS; column++) *to++ = padded(k, column);
      }
    }
    return matrix;
  }

 private:
  /** A lane's operands of mma.m16n8k16: depth 2 (lane % 4) + {0, 1, 8, 9}, column lane / 4, of two tiles of columns. */
  static void writePanels(std::uint16_t* to, const Matrix& matrix, const Element& element) {
    for (int panel = 0; panel < matrix.panels; panel++) {
      for (int step = 0; step < matrix.chunks * DEPTH_CHUNK / 16; step++) {
        for (int lane = 0; lane < 32; lane++) {
          for (int i = 0; i < 8; i++) {
            const int k = 16 * step + 2 * (lane % 4) + i % 2 + 8 * (i / 2 % 2);
            *to++ = bf16Of(element(k, panel * PANEL_COLUMNS + 8 * (i / 4) + lane / 4));
          }
        }
      }
    }
  }

  std::size_t reserve(std::size_t bytes) {
    const std::size_t at = used_;
    used_ = (at + bytes + 255) / 256 * 256;
    return at;
  }

  DecoderPrecision precision_;
  char* memory_;
  Address base_;
  std::size_t used_ = 0;
};

/** Row of a head's matrix that becomes a column: pairs that turn together side by side. */
int turned(int column, int headDim) {
  const int within = column % headDim;
  return column - within + within / 2 + (within % 2 == 1 ? headDim / 2 : 0);
}

Element transposed(const std::vector<float>& weights, int depth) {
  return [&weights, depth](int k, int column) { return weights[static_cast<std::size_t>(column) * depth + k]; };
}

Layer putLayer(Packer& packer, const DecoderSpec& spec, const DecoderLayerWeights& weights) {
  const int d = spec.dModel, queries = spec.heads * spec.headDim, keys = spec.kvHeads * spec.headDim;
  Layer layer{};
  layer.inputNorm = packer.put(weights.inputNorm);
  layer.ffnNorm = packer.put(weights.ffnNorm);
  const Element query = transposed(weights.query, d), key = transposed(weights.key, d), value = transposed(weights.value, d);
  layer.qkv = packer.putMatrix(d, queries + 2 * keys, [&](int k, int column) {
    if (column < queries) return query(k, turned(column, spec.headDim));
    if (column < queries + keys) return key(k, turned(column - queries, spec.headDim));
    return value(k, column - queries - keys);
  });
  layer.out = packer.putMatrix(queries, d, transposed(weights.out, queries));
  const Element gate = transposed(weights.gate, d), up = transposed(weights.up, d);
  layer.gateUp = packer.putMatrix(d, 2 * spec.ffn,
                                  [&](int k, int column) { return column % 2 == 0 ? gate(k, column / 2) : up(k, column / 2); });
  layer.down = packer.putMatrix(spec.ffn, d, transposed(weights.down, spec.ffn));
  return layer;
}

std::vector<Rotation> rotationsOf(const DecoderSpec& spec, int context) {
  const int pairs = spec.headDim / 2;
  std::vector<Rotation> rotations(static_cast<std::size_t>(context) * pairs);
  for (int position = 0; position < context; position++) {
    for (int i = 0; i < pairs; i++) {
      const double angle = position * std::pow(static_cast<double>(spec.ropeTheta), -2.0 * i / spec.headDim);
      rotations[static_cast<std::size_t>(position) * pairs + i] = {static_cast<float>(std::cos(angle)),
                                                                   static_cast<float>(std::sin(angle))};
    }
  }
  return rotations;
}

std::vector<std::uint32_t> maskOf(const TokenAutomaton& grammar, int words) {
  std::vector<std::uint32_t> mask(static_cast<std::size_t>(grammar.states) * words);
  for (int state = 0; state < grammar.states; state++) {
    for (int edge = grammar.edgeStart[state]; edge < grammar.edgeStart[state + 1]; edge++) {
      const int token = grammar.edgeToken[edge];
      mask[static_cast<std::size_t>(state) * words + token / 32] |= 1u << (token % 32);
    }
  }
  return mask;
}

}  // namespace

PackedModel pack(const DecoderSpec& spec, const DecoderOptions& options, char* memory, Address base) {
  Packer packer(options.precision, memory, base);
  PackedModel model;
  model.embedding = packer.putRows(spec.embedding);
  std::vector<Layer> layers;
  for (const auto& weights : spec.weights) layers.push_back(putLayer(packer, spec, weights));
  model.layer = packer.put(layers);
  model.finalNorm = packer.put(spec.finalNorm);
  model.head = packer.putMatrix(spec.dModel, spec.vocab, transposed(spec.isTied ? spec.embedding : spec.head, spec.dModel));
  model.rotations = packer.put(rotationsOf(spec, options.context));
  model.maskWords = ceilDiv(spec.vocab, 32);
  model.mask = packer.put(maskOf(options.grammar, model.maskWords));
  model.edgeStart = packer.put(options.grammar.edgeStart);
  model.edgeToken = packer.put(options.grammar.edgeToken);
  model.edgeNext = packer.put(options.grammar.edgeNext);
  model.bytes = packer.bytes();
  return model;
}

}  // namespace reverie::decoder
