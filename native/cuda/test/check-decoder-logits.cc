// The decoder's numbers: against the reference in doubles over many shapes, and against itself, where they must be equal.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../reference/decoder-reference.h"
#include "check.h"
#include "check-decoder.h"
#include "decoder-models.h"

namespace reverie::test {
namespace {

/** Of the largest logit: what a model in float, and in bfloat16 (weights, keys, values and operands rounded), may differ by. */
double toleranceOf(DecoderPrecision precision) { return precision == DecoderPrecision::fp32 ? 2e-6 : 1.5e-2; }

/** Logits at each of `steps` greedy tokens of each sequence, [sequence][step][vocab]. */
using Logits = std::vector<std::vector<std::vector<float>>>;

Logits follow(EmulatedDecoder& decoder, const std::vector<int>& slots, int steps) {
  Logits logits(slots.size());
  for (int step = 0; step < steps; step++) {
    for (std::size_t i = 0; i < slots.size(); i++) logits[i].push_back(decoder->logits(slots[i]));
    decoder->decode(1);
  }
  return logits;
}

void compare(Checks& checks, const std::string& name, const DecoderSpec& spec, DecoderPrecision precision,
             const std::vector<int>& tokens, const std::vector<std::vector<float>>& logits) {
  const std::vector<double> wanted = reference::decoderLogits(spec, tokens, precision == DecoderPrecision::bf16);
  const std::size_t vocab = static_cast<std::size_t>(spec.vocab), first = tokens.size() - 1 - logits.size();
  for (std::size_t step = 0; step < logits.size(); step++) {
    const std::vector<double> row(wanted.begin() + (first + step) * vocab, wanted.begin() + (first + step + 1) * vocab);
    double most = 0, away = 0;
    for (std::size_t i = 0; i < vocab; i++) {
      most = std::max(most, std::abs(row[i]));
      away = std::max(away, std::abs(row[i] - logits[step][i]));
    }
    const double tolerance = toleranceOf(precision) * most;
    checks.near(away, 0, tolerance, name + ", after " + std::to_string(first + step + 1) + " tokens");
    const auto drawn = reference::drawToken(row, Sampling{}, {}, 0);
    const bool isDecided = drawn.margin > 2 * tolerance;
    checks.that(!isDecided || drawn.token == tokens[first + step + 1], name + ": another token than the likeliest");
  }
}

void checkShape(Checks& checks, const ModelShape& shape, DecoderPrecision precision, const std::vector<int>& lengths, int steps) {
  const DecoderSpec spec = randomDecoder(shape, 7);
  const int context = *std::max_element(lengths.begin(), lengths.end()) + steps + 1;
  EmulatedDecoder decoder(spec, optionsOf(precision, context, static_cast<int>(lengths.size())));
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i < lengths.size(); i++) {
    prompts.push_back(promptOf(randomTokens(lengths[i], shape.vocab, static_cast<std::uint32_t>(i)), steps + 1));
  }
  const std::vector<int> slots = decoder->prefill(prompts);
  const Logits logits = follow(decoder, slots, steps);
  for (std::size_t i = 0; i < slots.size(); i++) {
    const Sequence sequence = decoder->read(slots[i]);
    if (!checks.that(sequence.tokens.size() == static_cast<std::size_t>(lengths[i] + steps), "tokens are missing")) continue;
    checks.that(std::equal(prompts[i].tokens.begin(), prompts[i].tokens.end(), sequence.tokens.begin()), "a prompt was changed");
    compare(checks, nameOf(shape, precision) + " sequence " + std::to_string(i), spec, precision, sequence.tokens, logits[i]);
  }
}

void checkShapes(Checks& checks) {
  const ModelShape shapes[] = {
      {2, 64, 4, 4, 32, 96, 37, true},  {2, 64, 4, 1, 64, 128, 33, false}, {1, 48, 8, 1, 32, 40, 1, true},
      {1, 72, 2, 2, 80, 50, 65, false}, {1, 33, 2, 1, 128, 17, 101, true}, {1, 16, 12, 1, 8, 16, 31, true},
      {1, 20, 3, 3, 40, 24, 300, true}, {1, 40, 2, 1, 96, 200, 64, false},
  };
  for (const auto& shape : shapes) {
    for (const auto precision : {DecoderPrecision::fp32, DecoderPrecision::bf16}) {
      checkShape(checks, shape, precision, {1, 18, 7}, 2);
    }
  }
}

/** Contexts of several parts, at and around their borders. */
void checkLongContexts(Checks& checks) {
  const ModelShape shape{1, 16, 2, 1, 16, 16, 13, true};
  checkShape(checks, shape, DecoderPrecision::bf16, {254, 530}, 4);
  checkShape(checks, shape, DecoderPrecision::fp32, {257}, 2);
}

struct Outcome {
  std::vector<float> logits;
  std::vector<int> tokens;
  bool operator==(const Outcome& other) const {
    return tokens == other.tokens && logits.size() == other.logits.size() &&
           std::memcmp(logits.data(), other.logits.data(), sizeof(float) * logits.size()) == 0;
  }
};

/** What becomes of one sequence of a batch after four tokens. */
Outcome outcomeOf(const DecoderSpec& spec, const DecoderOptions& options, const emulator::Options& device,
                  const std::vector<Prompt>& prompts, std::size_t index) {
  EmulatedDecoder decoder(spec, options, device);
  const std::vector<int> slots = decoder->prefill(prompts);
  decoder->decode(4);
  return Outcome{decoder->logits(slots[index]), decoder->read(slots[index]).tokens};
}

std::vector<Prompt> promptsOf(int count, int vocab) {
  std::vector<Prompt> prompts;
  for (int i = 0; i < count; i++) {
    prompts.push_back(promptOf(randomTokens(1 + i * 5 % 23, vocab, static_cast<std::uint32_t>(i)), 9));
    prompts.back().sampling = Sampling{0.8f, 9, 0.9, 11, static_cast<std::uint32_t>(i)};
  }
  return prompts;
}

void checkOrders(Checks& checks) {
  const ModelShape shape{2, 48, 4, 2, 32, 64, 45, true};
  const DecoderSpec spec = randomDecoder(shape, 3);
  const std::vector<Prompt> prompts = promptsOf(3, shape.vocab);
  for (const auto precision : {DecoderPrecision::fp32, DecoderPrecision::bf16}) {
    const DecoderOptions options = optionsOf(precision, 270, 3);
    emulator::Options device;
    const Outcome forward = outcomeOf(spec, options, device, prompts, 2);
    for (const auto order : {emulator::Order::backward, emulator::Order::shuffled}) {
      device.order = order;
      checks.that(outcomeOf(spec, options, device, prompts, 2) == forward, "threads in another order give other bytes");
    }
  }
}

/** A sequence's numbers are its own: they depend on no neighbour, on no place in a block, on no cache. */
void checkIndependence(Checks& checks) {
  const ModelShape shape{2, 48, 4, 2, 32, 64, 45, true};
  const DecoderSpec spec = randomDecoder(shape, 3);
  const std::vector<Prompt> prompts = promptsOf(33, shape.vocab);
  const DecoderOptions options = optionsOf(DecoderPrecision::bf16, 40, 33);
  emulator::Options one;
  one.multiprocessors = 1;
  const Outcome crowded = outcomeOf(spec, options, one, prompts, 17);
  const Outcome spread = outcomeOf(spec, options, {}, prompts, 17);
  const Outcome alone = outcomeOf(spec, options, {}, {prompts[17]}, 0);
  checks.that(crowded == spread, "a sequence depends on how many share its block");
  checks.that(alone == spread, "a sequence depends on its neighbours");
  const std::vector<Prompt> full(prompts.begin(), prompts.begin() + 32);
  checks.that(outcomeOf(spec, options, one, full, 17) == alone, "a sequence depends on a full block");
  EmulatedDecoder decoder(spec, options);
  const std::vector<int> slots = decoder->prefill({promptOf(alone.tokens, 3)});
  checks.that(Outcome{decoder->logits(slots[0]), alone.tokens} == alone, "cached positions differ from recomputed ones");
}

}  // namespace

int checkDecoderLogits() {
  Checks checks("decoder's logits");
  checkShapes(checks);
  checkLongContexts(checks);
  checkOrders(checks);
  checkIndependence(checks);
  return checks.finish();
}

}  // namespace reverie::test
