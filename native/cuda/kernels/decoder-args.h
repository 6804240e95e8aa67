// What the host hands to the decoder's kernels: plain structs, included by both sides. Shapes are in elements; T is bf16 or float.
#pragma once

#include <cstdint>

namespace reverie {

/** What became of a sequence. Only `running` ones are worked on; the last two are errors of that sequence alone. */
enum class DecodeStatus : int { free, running, stopped, lengthReached, contextFull, noTokenAllowed, nonFinite };

namespace decoder {

/** Rows (a token of a sequence each) that a block takes through all layers: the height of one mma. */
constexpr int TILE_ROWS = 16;
constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
/** At most, of heads up to 64 wide; one for wider ones. Their loads and sums then overlap. */
constexpr int BLOCKS_PER_MULTIPROCESSOR = 2;
/** Columns of a matrix that a warp computes at once, and the rows of it that belong together: depths are padded to this. */
constexpr int PANEL_COLUMNS = 16;
constexpr int DEPTH_CHUNK = 64;
/** Query heads of one key-value head that are attended to at once. */
constexpr int SLICE_HEADS = 8;
/** Positions attended to by one warp; longer contexts are put together from parts, whatever the batch. */
constexpr int CONTEXT_CHUNK = 256;

/**
 * A matrix [depth, columns], both padded with zeros. bf16: [panel][depth / 16][lane][8], a lane's 8 elements being the operands
 * B of two mma (16 columns). fp32: [depth][panels * 16].
 */
struct Matrix {
  const void* weights;
  int columns;
  int panels;
  /** Depth / DEPTH_CHUNK. */
  int chunks;
};

struct Layer {
  const float* inputNorm;
  const float* ffnNorm;
  /** Columns: queries, keys (each head's pairs (i, i + headDim / 2) side by side), values. */
  Matrix qkv;
  Matrix out;
  /** Columns: gate 0, up 0, gate 1, up 1 ... */
  Matrix gateUp;
  Matrix down;
};

/** A sequence as the device sees it. */
struct Slot {
  DecodeStatus status;
  /** Of its newest token, which is the next to be fed. */
  int position;
  /** The sequence ends when it has so many tokens, those of its prompt included. */
  int end;
  /** -1: all tokens are allowed. */
  int grammarState;
  /** log2(e) / temperature; 0: greedy. */
  float scale;
  /** 0: no limit. */
  int topK;
  /** In 2^-32; 0: no limit. */
  std::uint32_t topP;
  /** Of a stream of src/rng.ts; the token at position p is drawn with word p + firstWord. */
  std::uint32_t key0, key1;
  std::int64_t firstWord;
};

/** How probable a drawn token was among those allowed, at the temperature (1 if greedy): weight / mass. What k and p leave out counts. */
struct Told {
  std::uint64_t mass;
  std::uint32_t weight;
};

struct Rotation {
  float cosine, sine;
};

/** Where a block's shared memory holds what: byte offsets, strides of rows in elements. */
struct SharedLayout {
  int input, inputStride;
  int wide, wideStride;
  int rows;
  int bytes;
};

struct Args {
  int layers, dModel, heads, kvHeads, headDim, ffn, vocab;
  float normEps;
  /** Positions a sequence may have. */
  int context;
  int slotCount;
  SharedLayout shared;

  /** [vocab, dModel] of T. */
  const void* embedding;
  const Layer* layer;
  const float* finalNorm;
  Matrix head;
  /** [context, headDim / 2] */
  const Rotation* rotations;

  /** Each [layers, slots, kvHeads, context, headDim] of T. */
  void* keys;
  void* values;

  Slot* slots;
  /** [slots, context] */
  int* tokens;
  /** [slots, context]; only of tokens that were drawn here. */
  Told* told;
  /** [slots, vocab]; sampling (not greedy) leaves weights in place of them. */
  float* logits;
  /** [blocks * 16, heads, parts, headDim + 2]: sums, then their maximum and weight. Unused where one part is enough. */
  float* partials;
  int parts;

  /** Automaton over tokens: allowed tokens as bits [states, maskWords], edges sorted by token. */
  const std::uint32_t* mask;
  const int* edgeStart;
  const int* edgeToken;
  const int* edgeNext;
  int maskWords;
  /** Tokens that end a sequence, as bits [maskWords]. */
  const std::uint32_t* stops;

  /** Slots to work on; block b has those from b * rowsPerBlock on (-1: none). */
  const int* order;
  int orderCount;
  int rowsPerBlock;
  int steps;
  /** 0: stops at the logits, and nothing advances. */
  int isSampling;
};

}  // namespace decoder
}  // namespace reverie
