// Packing of networks. Fragment layout: PTX ISA, mma.m16n8k8 (tf32), operand B.
#include "ensemble-pack.h"

#include <algorithm>
#include <cstring>

namespace reverie {
namespace {

/** Inputs of one fragment. */
constexpr int FUSED_DEPTH = 8;
constexpr int FRAGMENT = 512;
constexpr int BIAS = CHUNK_COLUMNS * 4;

int wholes(int size, int of) { return (size + of - 1) / of; }

/** Nearest, ties away. */
std::uint32_t tf32Of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}

float weightOf(const Layer& layer, int input, int column) {
  if (input >= layer.in || column >= layer.out) return 0.0f;
  return layer.w[static_cast<std::size_t>(input) * static_cast<std::size_t>(layer.out) + static_cast<std::size_t>(column)];
}

float biasOf(const Layer& layer, int column) { return column < layer.out ? layer.b[static_cast<std::size_t>(column)] : 0.0f; }

/** The four words of a lane for 16 columns: two fragments of eight columns, two words each. */
void packLane(const Layer& layer, int step, int chunk, int lane, std::uint32_t* to) {
  const int group = lane / 4, pair = lane % 4;
  for (int half = 0; half < 2; half++) {
    const int column = CHUNK_COLUMNS * chunk + 8 * half + group;
    for (int i = 0; i < 2; i++) to[2 * half + i] = tf32Of(weightOf(layer, FUSED_DEPTH * step + 2 * pair + i, column));
  }
}

void packFused(const Layer& layer, const LayerShape& shape, char* to) {
  for (int chunk = 0; chunk < shape.chunks; chunk++) {
    char* start = to + static_cast<std::size_t>(chunk) * chunkBytesOf(shape);
    auto* words = reinterpret_cast<std::uint32_t*>(start);
    for (int step = 0; step < shape.steps; step++) {
      for (int lane = 0; lane < 32; lane++) packLane(layer, step, chunk, lane, words + (step * 32 + lane) * 4);
    }
    auto* bias = reinterpret_cast<float*>(start + shape.steps * FRAGMENT);
    for (int i = 0; i < CHUNK_COLUMNS; i++) bias[i] = biasOf(layer, CHUNK_COLUMNS * chunk + i);
  }
}

void packPlain(const Layer& layer, const LayerShape& shape, char* to) {
  auto* at = reinterpret_cast<float*>(to);
  for (int chunk = 0; chunk < shape.chunks; chunk++) {
    for (int input = 0; input < shape.steps * PLAIN_DEPTH; input++) {
      for (int i = 0; i < PLAIN_COLUMNS; i++) *at++ = weightOf(layer, input, chunk * PLAIN_COLUMNS + i);
    }
  }
  for (int i = 0; i < shape.chunks * PLAIN_COLUMNS; i++) *at++ = biasOf(layer, i);
}

LayerShape shapeOf(const Layer& layer, const PackForm& form, bool isFirst, bool isLast) {
  LayerShape shape{};
  shape.steps = isFirst || form.steps == 0 ? wholes(layer.in, depthOf(form)) : form.steps;
  const bool isPadded = form.steps > 0 && !isLast;
  shape.chunks = isPadded ? form.steps * depthOf(form) / CHUNK_COLUMNS : wholes(layer.out, form.isFused ? CHUNK_COLUMNS : PLAIN_COLUMNS);
  return shape;
}

std::size_t bytesOf(const LayerShape& shape, bool isFused) {
  if (isFused) return static_cast<std::size_t>(shape.chunks) * chunkBytesOf(shape);
  return static_cast<std::size_t>(shape.chunks) * (static_cast<std::size_t>(shape.steps) * PLAIN_DEPTH + 1) * PLAIN_COLUMNS * 4;
}

}  // namespace

int depthOf(const PackForm& form) { return form.isFused ? FUSED_DEPTH : PLAIN_DEPTH; }

std::uint32_t chunkBytesOf(const LayerShape& layer) { return static_cast<std::uint32_t>(layer.steps * FRAGMENT + BIAS); }

std::uint32_t largestChunk(const NetworkArgs& args) {
  std::uint32_t largest = 0;
  for (int i = 0; i < args.layers; i++) largest = std::max(largest, chunkBytesOf(args.layer[i]));
  return largest;
}

PackedNetworks packNetworks(const std::vector<const std::vector<Layer>*>& networks, Activation activation,
                            const PackForm& form) {
  PackedNetworks packed{};
  const std::vector<Layer>& first = *networks.front();
  packed.args.activation = activation;
  packed.args.layers = static_cast<int>(first.size());
  packed.args.outputs = first.back().out;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < first.size(); i++) {
    LayerShape& shape = packed.args.layer[i];
    shape = shapeOf(first[i], form, i == 0, i + 1 == first.size());
    shape.offset = static_cast<std::uint32_t>(bytes);
    bytes += bytesOf(shape, form.isFused);
  }
  packed.args.bytes = bytes;
  packed.bytes.resize(bytes * networks.size());
  for (std::size_t n = 0; n < networks.size(); n++) {
    for (std::size_t i = 0; i < first.size(); i++) {
      const LayerShape& shape = packed.args.layer[i];
      char* to = packed.bytes.data() + n * bytes + shape.offset;
      if (form.isFused) {
        packFused((*networks[n])[i], shape, to);
      } else {
        packPlain((*networks[n])[i], shape, to);
      }
    }
  }
  return packed;
}

std::vector<StageArgs> cutIntoStages(NetworkArgs& args, std::uint32_t stageBytes) {
  std::vector<StageArgs> stages;
  for (int i = 0; i < args.layers; i++) {
    LayerShape& layer = args.layer[i];
    const std::uint32_t size = chunkBytesOf(layer);
    int perStage = std::min(static_cast<int>(stageBytes / size), layer.chunks);
    // Chunks are worked on in pairs.
    if (perStage > 1 && perStage < layer.chunks) perStage &= ~1;
    layer.chunksPerStage = perStage;
    for (int chunk = 0; chunk < layer.chunks; chunk += perStage) {
      const int count = std::min(perStage, layer.chunks - chunk);
      stages.push_back({layer.offset + static_cast<std::uint32_t>(chunk) * size, static_cast<std::uint32_t>(count) * size});
    }
  }
  args.stageCount = static_cast<int>(stages.size());
  return stages;
}

}  // namespace reverie
