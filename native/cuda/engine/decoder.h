// Decoding of small Llama-architecture language models on a device: many sequences at once, their keys and values cached, tokens
// drawn (or chosen) there, held to a grammar if there is one. What is computed is reference/decoder-reference.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../kernels/decoder-args.h"
#include "device.h"

namespace reverie {

enum class DecoderPrecision { fp32, bf16 };

/** All matrices [out, in] row-major, as checkpoints hold them. */
struct DecoderLayerWeights {
  /** [dModel] */
  std::vector<float> inputNorm, ffnNorm;
  /** [heads * headDim, dModel], [kvHeads * headDim, dModel] twice, [dModel, heads * headDim] */
  std::vector<float> query, key, value, out;
  /** [ffn, dModel] twice, [dModel, ffn] */
  std::vector<float> gate, up, down;
};

/**
 * Llama (2302.13971): RMSNorm, rotary embeddings turning dimensions i and i + headDim / 2 together, SwiGLU, query heads
 * h * kvHeads / heads sharing a key-value head (2305.13245).
 */
struct DecoderSpec {
  int layers = 0, dModel = 0, heads = 0, kvHeads = 0, headDim = 0, ffn = 0, vocab = 0;
  float ropeTheta = 10000.0f;
  float normEps = 1e-5f;
  /** [vocab, dModel]; also the output matrix where `isTied`. */
  std::vector<float> embedding;
  bool isTied = true;
  std::vector<DecoderLayerWeights> weights;
  /** [dModel] */
  std::vector<float> finalNorm;
  /** [vocab, dModel]; empty where `isTied`. */
  std::vector<float> head;
};

/** A deterministic automaton over tokens. Edges of state s: edgeStart[s] up to edgeStart[s + 1], tokens ascending. */
struct TokenAutomaton {
  int states = 0;
  std::vector<int> edgeStart, edgeToken, edgeNext;
};

struct DecoderOptions {
  DecoderPrecision precision = DecoderPrecision::bf16;
  /** Positions a sequence may have, prompt included. */
  int context = 0;
  /** Sequences wanted at once; fewer where device memory does not hold so many. */
  int sequences = 0;
  /** Tokens that end a sequence, until `stopAt` says others; they stay in it. */
  std::vector<int> stops;
  TokenAutomaton grammar;
};

/** How tokens are drawn: temperature, then top-k, then top-p of what is left; ties of the last one kept are kept too. */
struct Sampling {
  /** 0: the likeliest, the first of equals. */
  float temperature = 0;
  /** 0: no limit. */
  int topK = 0;
  /** In (0, 1]; 1: no limit. */
  double topP = 1;
  /** Key of a stream of src/rng.ts of this sequence alone: the token at position p takes word p + firstWord. */
  std::uint32_t key0 = 0, key1 = 0;
  std::int64_t firstWord = 0;
};

struct Prompt {
  /** At least one token, fewer than the context. */
  std::vector<int> tokens;
  Sampling sampling;
  int maxNewTokens = 0;
  /** State of the grammar before the first new token; -1: none. */
  int grammarState = -1;
};

struct Sequence {
  /** The prompt's, then the new ones. */
  std::vector<int> tokens;
  /**
   * Of each token after the prompt, in nats: its share among the tokens allowed, at its temperature (1 if greedy). What top-k and
   * top-p leave out counts. NaN of tokens that `append` brought.
   */
  std::vector<float> logProbs;
  DecodeStatus status = DecodeStatus::free;
  int grammarState = -1;
};

/** Device memory of a decoder, in bytes. */
struct DecoderPlan {
  int sequences = 0;
  std::size_t weightBytes = 0;
  /** Keys and values of all sequences. */
  std::size_t cacheBytes = 0;
  /** Tokens, logits, parts of attention, grammar. */
  std::size_t workBytes = 0;
  std::size_t sharedBytes = 0;
  std::size_t bytes() const { return weightBytes + cacheBytes + workBytes; }
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual const DecoderPlan& plan() const = 0;

  /**
   * Takes a slot for each prompt and caches all tokens but its last. Answers the slots. A batch is taken whole or not at all.
   * Throws std::invalid_argument for a bad prompt, std::length_error where fewer slots are free.
   */
  virtual std::vector<int> prefill(const std::vector<Prompt>& prompts) = 0;
  /** Up to `steps` new tokens for each running sequence. Answers how many still run. */
  virtual int decode(int steps) = 0;
  virtual Sequence read(int slot) = 0;
  virtual void release(int slot) = 0;
  /** Logits [slots, vocab] of running sequences' next tokens; nothing advances. */
  virtual std::vector<float> logits(const std::vector<int>& slots) = 0;
  std::vector<float> logits(int slot) { return logits(std::vector<int>{slot}); }
  /** Gives running sequences whose logits were asked for their next tokens, which are neither looked for among stops nor in the grammar. */
  virtual void append(const std::vector<int>& slots, const std::vector<int>& tokens) = 0;
  /** Tokens that end a sequence from now on. Throws std::invalid_argument. */
  virtual void stopAt(const std::vector<int>& tokens) = 0;
  /** All of it for any number of prompts, as many at once as there are slots: each finished one makes room. Needs all slots free. */
  virtual std::vector<Sequence> generate(const std::vector<Prompt>& prompts) = 0;
};

/** Why no model of these sizes can run on a device with so much shared memory a block; nothing where it can. */
std::optional<std::string> unsupportedSizes(const DecoderSpec& spec, const DecoderOptions& options, const DeviceLimits& limits);

/** The same of its sizes, weights and options. */
std::optional<std::string> unsupported(const DecoderSpec& spec, const DecoderOptions& options, const DeviceLimits& limits);

/** Throws OutOfMemory where not even one sequence fits. */
DecoderPlan planDecoder(const DecoderSpec& spec, const DecoderOptions& options, const DeviceLimits& limits);

/** Uploads the weights. The device must outlive it. Throws std::invalid_argument for what `unsupported` names, OutOfMemory. */
std::unique_ptr<Decoder> makeDecoder(Device& device, const DecoderSpec& spec, const DecoderOptions& options);

}  // namespace reverie
