// What becomes of sequences: how they end, what one that goes wrong does to others, slots, memory, what is refused.

#include <cmath>

#include "check.h"
#include "check-decoder.h"
#include "decoder-models.h"

namespace reverie::test {
namespace {

const ModelShape SMALL{1, 16, 2, 1, 16, 16, 40, false};

void checkEnds(Checks& checks) {
  DecoderOptions options = optionsOf(DecoderPrecision::bf16, 20, 4);
  const DecoderSpec spec = randomDecoder(SMALL, 5);
  const Prompt free = promptOf({1, 2, 3}, 1000);
  EmulatedDecoder unstopped(spec, options);
  const std::vector<int> tokens = unstopped->generate({free})[0].tokens;
  options.stops = {tokens[6], 39};
  EmulatedDecoder decoder(spec, options);
  const auto firstStop = std::find(tokens.begin() + 3, tokens.end(), tokens[6]) - tokens.begin();
  const auto ended = decoder->generate({free, promptOf({1, 2, 3}, 1), promptOf(std::vector<int>(19, 1), 5)});
  checks.that(ended[0].status == DecodeStatus::stopped, "a stop token does not stop");
  checks.that(ended[0].tokens == std::vector<int>(tokens.begin(), tokens.begin() + firstStop + 1), "stopped at another token");
  checks.that(ended[1].status == DecodeStatus::lengthReached || tokens[3] == tokens[6], "one token was not enough");
  checks.that(ended[1].tokens.size() == 4, "more tokens than asked for");
  checks.that(ended[2].status != DecodeStatus::running && ended[2].tokens.size() == 20, "the last position was not used");
  const Sequence full = unstopped->generate({free})[0];
  checks.that(full.status == DecodeStatus::contextFull && full.tokens.size() == 20, "a full context is not told");
  const Sequence exact = unstopped->generate({promptOf({1, 2, 3}, 17)})[0];
  checks.that(exact.status == DecodeStatus::lengthReached && exact.tokens == full.tokens, "as many tokens as fit are too many");
}

/** One sequence may draw nothing, one meets a NaN; their neighbours in the block notice nothing. */
void checkFaults(Checks& checks) {
  for (const auto precision : {DecoderPrecision::fp32, DecoderPrecision::bf16}) {
    DecoderSpec spec = randomDecoder(SMALL, 6);
    for (int i = 0; i < SMALL.dModel; i++) spec.embedding[7 * SMALL.dModel + i] = NAN;
    DecoderOptions options = optionsOf(precision, 24, 4);
    options.grammar = TokenAutomaton{3, {0, 1, 2, 2}, {3, 7}, {2, 1}};
    emulator::Options one;
    one.multiprocessors = 1;
    EmulatedDecoder decoder(spec, options, one);
    std::vector<Prompt> prompts = {promptOf({1, 2}, 6), promptOf({1, 2}, 6), promptOf({1, 7, 2}, 6), promptOf({1, 2}, 6)};
    prompts[1].grammarState = 0;
    prompts[3].grammarState = 1;
    const auto ended = decoder->generate(prompts);
    checks.that(ended[1].status == DecodeStatus::noTokenAllowed, "a state without tokens is not told");
    checks.that(ended[1].tokens == std::vector<int>({1, 2, 3}) && ended[1].grammarState == 2, "tokens before it are lost");
    checks.that(ended[2].status == DecodeStatus::nonFinite && ended[2].tokens.size() == 3, "a NaN in a prompt is not told");
    checks.that(ended[3].status == DecodeStatus::nonFinite && ended[3].tokens == std::vector<int>({1, 2, 7}),
                "a NaN of a drawn token is not told");
    spec.embedding.assign(spec.embedding.begin(), spec.embedding.end());
    for (int i = 0; i < SMALL.dModel; i++) spec.embedding[7 * SMALL.dModel + i] = 0;
    EmulatedDecoder sound(spec, options);
    checks.that(sound->generate({prompts[0]})[0].tokens == ended[0].tokens, "a fault reaches a neighbour");
  }
}

/** A row of NaN in the output matrix: everybody's logits have it. */
void checkBrokenHead(Checks& checks) {
  DecoderSpec spec = randomDecoder(SMALL, 6);
  spec.head[11 * SMALL.dModel + 3] = NAN;
  EmulatedDecoder decoder(spec, optionsOf(DecoderPrecision::bf16, 24, 2));
  for (const auto& sequence : decoder->generate({promptOf({1}, 4), promptOf({2, 3}, 4)})) {
    checks.that(sequence.status == DecodeStatus::nonFinite, "a broken output matrix is not told");
  }
}

void checkSlots(Checks& checks) {
  const DecoderSpec spec = randomDecoder(SMALL, 8);
  EmulatedDecoder decoder(spec, optionsOf(DecoderPrecision::bf16, 24, 3));
  const std::vector<int> first = decoder->prefill({promptOf({1, 2}, 9), promptOf({3}, 9)});
  decoder->decode(2);
  const std::vector<int> before = decoder->read(first[1]).tokens;
  decoder->release(first[0]);
  const std::vector<int> later = decoder->prefill({promptOf({4, 5, 6}, 9), promptOf({1, 2}, 2)});
  checks.that(later == std::vector<int>({0, 2}), "free slots are taken in another order");
  checks.throws<std::length_error>([&] { decoder->prefill({promptOf({1}, 1)}); }, "fewer slots");
  checks.that(decoder->decode(3) == 2, "another number of sequences runs");
  checks.that(decoder->read(1).tokens.size() == before.size() + 3, "a sequence stood still");
  checks.that(decoder->read(2).status == DecodeStatus::lengthReached, "a sequence runs on");
  checks.throws<std::invalid_argument>([&] { decoder->logits(2); }, "does not run");
  checks.throws<std::invalid_argument>([&] { decoder->read(3); }, "no sequence");
  checks.throws<std::logic_error>([&] { decoder->generate({promptOf({1}, 1)}); }, "all slots free");
}

/** Tokens that the caller chooses are as good as those drawn here. */
void checkAppended(Checks& checks) {
  const DecoderSpec spec = randomDecoder(SMALL, 8);
  EmulatedDecoder decoder(spec, optionsOf(DecoderPrecision::fp32, 9, 3));
  const std::vector<int> own = decoder->generate({promptOf({1, 2}, 6)})[0].tokens;
  const std::vector<int> slots = decoder->prefill({promptOf({1, 2}, 6), promptOf({3}, 6)});
  checks.throws<std::invalid_argument>([&] { decoder->append({slots[0]}, {own[2]}); }, "after logits");
  decoder->logits(slots[0]);
  decoder->append({slots[0]}, {own[2]});
  decoder->logits(slots);
  decoder->append({slots[1], slots[0]}, {5, own[3]});
  const std::vector<int> seen = decoder->prefill({promptOf({own[0], own[1], own[2], own[3]}, 4)});
  const std::vector<float> rows = decoder->logits({slots[1], slots[0]});
  const std::vector<float> alone = decoder->logits(seen);
  checks.that(std::vector<float>(rows.begin() + SMALL.vocab, rows.end()) == alone, "a given token is another one");
  decoder->decode(20);
  const Sequence sequence = decoder->read(slots[0]);
  checks.that(std::equal(own.begin(), own.end(), sequence.tokens.begin()), "tokens after given ones are others");
  checks.that(std::isnan(sequence.logProbs[1]) && sequence.logProbs[2] < 0, "log-probabilities are not those of tokens drawn here");
  checks.that(decoder->read(slots[1]).tokens.size() == 7, "a given token is not counted");
  checks.throws<std::invalid_argument>([&] { decoder->append({slots[0]}, {1}); }, "does not run");
  for (const int slot : {slots[0], slots[1], seen[0]}) decoder->release(slot);
  const int full = decoder->prefill({promptOf(std::vector<int>(8, 1), 6)})[0];
  checks.throws<std::invalid_argument>([&] { decoder->append({full}, {40}); }, "outside of the vocabulary");
  decoder->logits(full);
  decoder->append({full}, {2});
  decoder->logits(full);
  checks.throws<std::invalid_argument>([&] { decoder->append({full}, {2}); }, "context is full");
  decoder->release(full);
  decoder->stopAt({own[3]});
  checks.that(decoder->generate({promptOf({1, 2}, 6)})[0].status == DecodeStatus::stopped, "a later stop token does not stop");
  checks.throws<std::invalid_argument>([&] { decoder->stopAt({40}); }, "stop token");
}

/** Many prompts through few slots come to the same as all at once. */
void checkSplitting(Checks& checks) {
  const DecoderSpec spec = randomDecoder(SMALL, 9);
  std::vector<Prompt> prompts;
  for (int i = 0; i < 33; i++) {
    prompts.push_back(promptOf(randomTokens(1 + i % 7, SMALL.vocab, static_cast<std::uint32_t>(i)), 1 + i % 11));
    prompts.back().sampling = Sampling{1, 0, 1, 1, static_cast<std::uint32_t>(i)};
  }
  EmulatedDecoder wide(spec, optionsOf(DecoderPrecision::bf16, 20, 33));
  emulator::Options little;
  little.memoryBytes = 40 * 1024;
  EmulatedDecoder narrow(spec, optionsOf(DecoderPrecision::bf16, 20, 33), little);
  checks.that(narrow->plan().sequences >= 1 && narrow->plan().sequences < 33, "little memory holds all sequences");
  checks.that(narrow->plan().bytes() <= little.memoryBytes, "more memory is planned than there is");
  const auto all = wide->generate(prompts), some = narrow->generate(prompts);
  for (std::size_t i = 0; i < prompts.size(); i++) {
    checks.that(all[i].tokens == some[i].tokens && all[i].status == some[i].status, "a split batch gives other tokens");
  }
  little.memoryBytes = 8 * 1024;
  checks.throws<OutOfMemory>([&] { EmulatedDecoder none(spec, optionsOf(DecoderPrecision::bf16, 20, 33), little); }, "out of device");
}

void checkRefusals(Checks& checks) {
  const DecoderOptions options = optionsOf(DecoderPrecision::bf16, 20, 2);
  const auto refuses = [&](const DecoderSpec& spec, const DecoderOptions& with, const std::string& part) {
    checks.throws<std::invalid_argument>([&] { EmulatedDecoder decoder(spec, with); }, part);
  };
  refuses(randomDecoder({1, 16, 3, 2, 16, 16, 9, true}, 1), options, "multiple of kvHeads");
  refuses(randomDecoder({1, 16, 1, 1, 12, 16, 9, true}, 1), options, "headDim");
  refuses(randomDecoder({1, 16, 1, 1, 136, 16, 9, true}, 1), options, "headDim");
  refuses(randomDecoder({1, 2400, 1, 1, 8, 8, 2, true}, 1), options, "too wide");
  DecoderSpec spec = randomDecoder(SMALL, 1);
  DecoderOptions other = options;
  other.stops = {40};
  refuses(spec, other, "stop token");
  other = options;
  other.grammar = TokenAutomaton{1, {0, 2}, {3, 3}, {0, 0}};
  refuses(spec, other, "ascending");
  other.grammar = TokenAutomaton{1, {0, 1}, {3}, {1}};
  refuses(spec, other, "not there");
  refuses(spec, optionsOf(DecoderPrecision::bf16, 1, 2), "context");
  refuses(spec, optionsOf(DecoderPrecision::bf16, 20, 0), "sequences");
  spec.weights[0].up.pop_back();
  refuses(spec, options, "weights");
}

void checkBadPrompts(Checks& checks) {
  EmulatedDecoder decoder(randomDecoder(SMALL, 1), optionsOf(DecoderPrecision::bf16, 20, 2));
  const auto refuses = [&](Prompt prompt, const std::string& part) {
    checks.throws<std::invalid_argument>([&] { decoder->prefill({promptOf({1}, 1), prompt}); }, part);
  };
  refuses(promptOf({}, 1), "at least one token");
  refuses(promptOf(std::vector<int>(20, 1), 1), "fewer than the context");
  refuses(promptOf({40}, 1), "outside of the vocabulary");
  refuses(promptOf({-1}, 1), "outside of the vocabulary");
  refuses(promptOf({1}, 0), "maxNewTokens");
  Prompt prompt = promptOf({1}, 1);
  prompt.grammarState = 0;
  refuses(prompt, "grammarState");
  for (const Sampling& sampling : {Sampling{-1, 0, 1, 0, 0}, Sampling{NAN, 0, 1, 0, 0}, Sampling{1e-5f, 0, 1, 0, 0}}) {
    prompt = promptOf({1}, 1);
    prompt.sampling = sampling;
    refuses(prompt, "temperature");
  }
  prompt.sampling = Sampling{1, -1, 1, 0, 0};
  refuses(prompt, "topK");
  prompt.sampling = Sampling{1, 0, 0, 0, 0};
  refuses(prompt, "topP");
  checks.that(decoder->prefill({promptOf({1}, 1), promptOf({1}, 1)}).size() == 2, "a refused batch keeps slots");
}

}  // namespace

int checkDecoderSequences() {
  Checks checks("decoder's sequences");
  checkEnds(checks);
  checkFaults(checks);
  checkBrokenHead(checks);
  checkSlots(checks);
  checkAppended(checks);
  checkSplitting(checks);
  checkRefusals(checks);
  checkBadPrompts(checks);
  return checks.finish();
}

}  // namespace reverie::test
