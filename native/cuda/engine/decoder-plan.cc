// See decoder-plan.h.

#include "decoder-plan.h"

#include <algorithm>
#include <cmath>

#include "decoder-pack.h"

namespace reverie {
namespace decoder {
namespace {

/** Rows of an operand begin 16 bytes after where banks of shared memory begin anew, so that eight of them meet no bank twice. */
constexpr int STRIDE_MARGIN = 8;
/** Of the free memory, one part in so many is left to others. */
constexpr std::size_t RESERVED_PART = 20;

int roundUp(int value, int unit) { return (value + unit - 1) / unit * unit; }

bool isSized(const std::vector<float>& values, int rows, int columns) {
  return values.size() == static_cast<std::size_t>(rows) * columns;
}

bool isComplete(const DecoderSpec& spec) {
  const int d = spec.dModel, queries = spec.heads * spec.headDim, keys = spec.kvHeads * spec.headDim;
  const auto isLayerComplete = [&](const DecoderLayerWeights& w) {
    return isSized(w.inputNorm, 1, d) && isSized(w.ffnNorm, 1, d) && isSized(w.query, queries, d) && isSized(w.key, keys, d) &&
           isSized(w.value, keys, d) && isSized(w.out, d, queries) && isSized(w.gate, spec.ffn, d) &&
           isSized(w.up, spec.ffn, d) && isSized(w.down, d, spec.ffn);
  };
  return isSized(spec.embedding, spec.vocab, d) && isSized(spec.finalNorm, 1, d) &&
         isSized(spec.head, spec.isTied ? 0 : spec.vocab, d) && spec.weights.size() == static_cast<std::size_t>(spec.layers) &&
         std::all_of(spec.weights.begin(), spec.weights.end(), isLayerComplete);
}

bool isToken(int token, const DecoderSpec& spec) { return token >= 0 && token < spec.vocab; }

std::optional<std::string> wrongWithGrammar(const TokenAutomaton& grammar, const DecoderSpec& spec) {
  if (grammar.states == 0) return std::nullopt;
  const auto edges = grammar.edgeToken.size();
  const bool isCounted = grammar.states > 0 && grammar.edgeStart.size() == static_cast<std::size_t>(grammar.states) + 1 &&
                         grammar.edgeNext.size() == edges && grammar.edgeStart.front() == 0 &&
                         static_cast<std::size_t>(grammar.edgeStart.back()) == edges;
  if (!isCounted || !std::is_sorted(grammar.edgeStart.begin(), grammar.edgeStart.end())) {
    return "the grammar's edges do not add up";
  }
  for (int state = 0; state < grammar.states; state++) {
    for (int edge = grammar.edgeStart[state]; edge < grammar.edgeStart[state + 1]; edge++) {
      const int token = grammar.edgeToken[edge], next = grammar.edgeNext[edge];
      const bool isAfter = edge == grammar.edgeStart[state] || token > grammar.edgeToken[edge - 1];
      if (!isToken(token, spec) || !isAfter) return "a grammar's state needs tokens of the vocabulary, ascending";
      if (next < 0 || next >= grammar.states) return "an edge of the grammar leads to a state that is not there";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> wrongWithStops(const std::vector<int>& stops, const DecoderSpec& spec) {
  if (std::all_of(stops.begin(), stops.end(), [&](int token) { return isToken(token, spec); })) return std::nullopt;
  return "a stop token is outside of the vocabulary";
}

SharedLayout sharedLayoutOf(const DecoderSpec& spec, DecoderPrecision precision) {
  const int element = precision == DecoderPrecision::bf16 ? 2 : 4;
  SharedLayout layout{};
  layout.input = roundUp(TILE_ROWS * spec.dModel * 4, 128);
  layout.inputStride = roundUp(spec.dModel, DEPTH_CHUNK) + STRIDE_MARGIN;
  layout.wide = roundUp(layout.input + TILE_ROWS * layout.inputStride * element, 128);
  layout.wideStride = roundUp(std::max(spec.heads * spec.headDim, spec.ffn), DEPTH_CHUNK) + STRIDE_MARGIN;
  layout.rows = roundUp(layout.wide + TILE_ROWS * layout.wideStride * element, 128);
  layout.bytes = layout.rows + roundUp((2 * TILE_ROWS + 3) * 4, 128);
  return layout;
}

int partsOf(int context) { return (context + CONTEXT_CHUNK - 1) / CONTEXT_CHUNK; }

std::size_t cacheBytesOf(const DecoderSpec& spec, const DecoderOptions& options) {
  const std::size_t element = options.precision == DecoderPrecision::bf16 ? 2 : 4;
  return element * spec.layers * spec.kvHeads * spec.headDim * options.context;
}

int residentBound(const DeviceLimits& limits) { return BLOCKS_PER_MULTIPROCESSOR * limits.multiprocessors; }

int mostBlocks(int sequences, const DeviceLimits& limits) {
  const int wave = residentBound(limits);
  return std::min(sequences, roundUp(sequences, wave * TILE_ROWS) / TILE_ROWS);
}

std::size_t partialBytes(const DecoderSpec& spec, const DecoderOptions& options, int blocks) {
  const int parts = partsOf(options.context);
  return parts == 1 ? 0 : sizeof(float) * blocks * TILE_ROWS * spec.heads * parts * (spec.headDim + 2);
}

void checkPrompt(const Prompt& prompt, const DecoderSpec& spec, const DecoderOptions& options) {
  const auto isKnown = [&](int token) { return isToken(token, spec); };
  const Sampling& sampling = prompt.sampling;
  if (prompt.tokens.empty() || prompt.tokens.size() >= static_cast<std::size_t>(options.context)) {
    throw std::invalid_argument("a prompt needs at least one token and fewer than the context's " +
                                std::to_string(options.context));
  }
  if (!std::all_of(prompt.tokens.begin(), prompt.tokens.end(), isKnown)) {
    throw std::invalid_argument("a prompt has a token outside of the vocabulary");
  }
  if (prompt.maxNewTokens < 1) throw std::invalid_argument("maxNewTokens must be at least 1");
  if (prompt.grammarState < -1 || prompt.grammarState >= options.grammar.states) {
    throw std::invalid_argument("a prompt's grammarState is not one of the grammar's");
  }
  const bool isTemperate = sampling.temperature == 0 || (sampling.temperature >= 1e-4f && std::isfinite(sampling.temperature));
  if (!isTemperate) throw std::invalid_argument("temperature must be 0 or at least 0.0001");
  if (sampling.topK < 0) throw std::invalid_argument("topK must not be negative");
  if (!(sampling.topP > 0 && sampling.topP <= 1)) throw std::invalid_argument("topP must be above 0 and at most 1");
}

}  // namespace decoder

std::optional<std::string> unsupportedSizes(const DecoderSpec& spec, const DecoderOptions& options, const DeviceLimits& limits) {
  const int sizes[] = {spec.layers, spec.dModel, spec.heads, spec.kvHeads, spec.headDim, spec.ffn, spec.vocab};
  if (std::any_of(std::begin(sizes), std::end(sizes), [](int size) { return size < 1 || size > (1 << 20); })) {
    return "every size of the model must be between 1 and 2^20";
  }
  if (spec.heads % spec.kvHeads != 0) return "heads must be a multiple of kvHeads";
  if (spec.headDim % 8 != 0 || spec.headDim > 128) return "headDim must be a multiple of 8 and at most 128";
  if (options.context < 2 || options.context > (1 << 20)) return "context must be between 2 and 2^20";
  if (options.sequences < 1) return "sequences must be at least 1";
  if (!(spec.normEps >= 0) || !(spec.ropeTheta > 0)) return "normEps must not be negative, ropeTheta must be positive";
  const std::int64_t widest = std::max({static_cast<std::int64_t>(spec.heads) * spec.headDim, static_cast<std::int64_t>(spec.ffn),
                                        static_cast<std::int64_t>(spec.dModel)});
  const auto shared = widest > (1 << 16) ? limits.sharedBytesPerBlock + 1
                                         : static_cast<std::size_t>(decoder::sharedLayoutOf(spec, options.precision).bytes);
  if (shared > limits.sharedBytesPerBlock) {
    return "the model is too wide: sixteen rows of it must fit the " + std::to_string(limits.sharedBytesPerBlock) +
           " bytes of shared memory of a block";
  }
  return std::nullopt;
}

std::optional<std::string> unsupported(const DecoderSpec& spec, const DecoderOptions& options, const DeviceLimits& limits) {
  if (auto reason = unsupportedSizes(spec, options, limits)) return reason;
  if (!decoder::isComplete(spec)) return "the model's weights do not have its sizes";
  if (const auto reason = decoder::wrongWithStops(options.stops, spec)) return reason;
  return decoder::wrongWithGrammar(options.grammar, spec);
}

DecoderPlan planDecoder(const DecoderSpec& spec, const DecoderOptions& options, const DeviceLimits& limits) {
  const std::size_t weightBytes = decoder::pack(spec, options, nullptr, 0).bytes;
  const auto planFor = [&](int sequences) {
    DecoderPlan plan;
    plan.sequences = sequences;
    plan.weightBytes = weightBytes;
    plan.cacheBytes = 2 * decoder::cacheBytesOf(spec, options) * sequences;
    plan.workBytes = sequences * ((4 + sizeof(decoder::Told)) * static_cast<std::size_t>(options.context) + 4 * static_cast<std::size_t>(spec.vocab) +
                                  sizeof(decoder::Slot)) +
                     decoder::partialBytes(spec, options, decoder::mostBlocks(sequences, limits)) +
                     4 * static_cast<std::size_t>(sequences + decoder::mostBlocks(sequences, limits) * decoder::TILE_ROWS) +
                     4 * (static_cast<std::size_t>(spec.vocab) / 32 + 1);
    plan.sharedBytes = decoder::sharedLayoutOf(spec, options.precision).bytes;
    return plan;
  };
  const std::size_t budget = limits.freeBytes - limits.freeBytes / decoder::RESERVED_PART;
  int fits = 0, first = 1, last = options.sequences;
  while (first <= last) {
    const int middle = first + (last - first) / 2;
    if (planFor(middle).bytes() <= budget) {
      fits = middle;
      first = middle + 1;
    } else {
      last = middle - 1;
    }
  }
  if (fits == 0) throw OutOfMemory(planFor(1).bytes());
  return planFor(fits);
}

}  // namespace reverie
