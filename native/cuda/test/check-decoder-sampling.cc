// Which token is drawn: against the reference, given the logits that the device had.

#include <cmath>
#include <set>

#include "../reference/decoder-reference.h"
#include "check.h"
#include "check-decoder.h"
#include "decoder-models.h"

namespace reverie::test {
namespace {

/** Weights of the device are cut to 2^-31 of the largest: of probabilities nearer to a border than this, either side is right. */
constexpr double BORDER = 1e-6;

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

std::vector<bool> allowedIn(const TokenAutomaton& grammar, int state, int vocab) {
  std::vector<bool> allowed;
  if (state < 0) return allowed;
  allowed.resize(vocab);
  for (int edge = grammar.edgeStart[state]; edge < grammar.edgeStart[state + 1]; edge++) allowed[grammar.edgeToken[edge]] = true;
  return allowed;
}

int nextIn(const TokenAutomaton& grammar, int state, int token) {
  for (int edge = grammar.edgeStart[state]; edge < grammar.edgeStart[state + 1]; edge++) {
    if (grammar.edgeToken[edge] == token) return grammar.edgeNext[edge];
  }
  return -2;
}

/** Share of a token among those allowed, at the sampling's temperature, in nats; `error`: what the device's may be off by. */
double logProbOf(const std::vector<double>& logits, const Sampling& sampling, const std::vector<bool>& allowed, int token, double& error) {
  const double sharpness = sampling.temperature > 0 ? 1.0 / sampling.temperature : 1.0;
  double most = -INFINITY, mass = 0;
  for (std::size_t i = 0; i < logits.size(); i++) {
    if (allowed.empty() || allowed[i]) most = std::max(most, logits[i]);
  }
  for (std::size_t i = 0; i < logits.size(); i++) {
    if (allowed.empty() || allowed[i]) mass += std::exp((logits[i] - most) * sharpness);
  }
  const double below = (logits[token] - most) * sharpness;
  error = 2e-6 + std::ldexp(1.0, -30) * (1 / std::exp(below) + static_cast<double>(logits.size()));
  return below - std::log(mass);
}

/** Follows a sequence token by token and checks each draw; answers the tokens drawn. */
std::vector<int> followDraws(Checks& checks, EmulatedDecoder& decoder, const DecoderOptions& options, const Prompt& prompt,
                             const std::string& name) {
  const int slot = decoder->prefill({prompt})[0];
  std::vector<int> drawn;
  int state = prompt.grammarState;
  for (int i = 0; i < prompt.maxNewTokens; i++) {
    const std::vector<double> logits = doubles(decoder->logits(slot));
    const std::size_t position = prompt.tokens.size() + i;
    const std::uint32_t word = reference::randomWord(prompt.sampling.key0, prompt.sampling.key1, position + prompt.sampling.firstWord);
    const auto allowed = allowedIn(options.grammar, state, static_cast<int>(logits.size()));
    const auto wanted = reference::drawToken(logits, prompt.sampling, allowed, word);
    decoder->decode(1);
    const Sequence sequence = decoder->read(slot);
    if (!checks.that(sequence.tokens.size() == position + 1, name + ": no token was drawn")) break;
    const int token = sequence.tokens.back();
    drawn.push_back(token);
    checks.that(token == wanted.token || wanted.margin < BORDER, name + ": token " + std::to_string(token) + " where the reference has " +
                                                                     std::to_string(wanted.token));
    double error;
    const double logProb = logProbOf(logits, prompt.sampling, allowed, token, error);
    checks.near(sequence.logProbs.back(), logProb, error, name + ": log-probability");
    if (state >= 0) state = nextIn(options.grammar, state, token);
    checks.that(sequence.grammarState == state, name + ": another state of the grammar");
  }
  decoder->release(slot);
  return drawn;
}

/** States with edges to one, some or all tokens; every state leads on. */
TokenAutomaton randomGrammar(int states, int vocab, std::uint32_t seed) {
  std::mt19937 engine(seed);
  TokenAutomaton grammar;
  grammar.states = states;
  grammar.edgeStart.push_back(0);
  for (int state = 0; state < states; state++) {
    const std::uint32_t sparsity = state % 3 == 0 ? static_cast<std::uint32_t>(vocab) : state % 3 == 1 ? 4 : 1;
    for (int token = 0; token < vocab; token++) {
      const bool isForced = token == state % vocab;
      if (!isForced && engine() % sparsity != 0) continue;
      grammar.edgeToken.push_back(token);
      grammar.edgeNext.push_back(static_cast<int>(engine() % static_cast<std::uint32_t>(states)));
    }
    grammar.edgeStart.push_back(static_cast<int>(grammar.edgeToken.size()));
  }
  return grammar;
}

void checkDraws(Checks& checks) {
  const Sampling ways[] = {{0, 0, 1, 0, 0},      {1, 0, 1, 5, 1},        {0.7f, 5, 1, 6, 2},        {1.3f, 0, 0.8, 7, 3},
                           {1, 20, 0.5, 8, 4},   {5, 1, 0.3, 9, 5},      {0.01f, 0, 1, 10, 6},      {100, 0, 0.999, 11, 7},
                           {1, 1000, 1e-9, 1, 2}, {1e-4f, 3, 1, 12, 8},  {3, 2, 1, 0xffffffffu, 9}};
  for (const int vocab : {1, 2, 31, 33, 700}) {
    const DecoderSpec spec = randomDecoder({1, 16, 1, 1, 16, 16, vocab, false}, static_cast<std::uint32_t>(vocab));
    DecoderOptions options = optionsOf(DecoderPrecision::bf16, 24, 2);
    options.grammar = randomGrammar(7, vocab, 1);
    EmulatedDecoder decoder(spec, options);
    int state = 4;
    for (const auto& way : ways) {
      Prompt prompt = promptOf(randomTokens(2, vocab, 5), 4);
      prompt.sampling = way;
      prompt.sampling.firstWord = way.topK * 1'000'000'007LL - 1;
      state = prompt.grammarState = 3 - state;
      followDraws(checks, decoder, options, prompt, "vocabulary " + std::to_string(vocab) + " state " + std::to_string(state));
    }
  }
}

/** Only the likeliest left: the temperature does not matter. Hot draws, on the other hand, go everywhere. */
void checkExtremes(Checks& checks) {
  const int vocab = 50;
  const DecoderSpec spec = randomDecoder({1, 32, 2, 2, 16, 32, vocab, false}, 21);
  const DecoderOptions options = optionsOf(DecoderPrecision::fp32, 64, 2);
  EmulatedDecoder decoder(spec, options);
  Prompt prompt = promptOf(randomTokens(3, vocab, 2), 12);
  const std::vector<int> greedy = followDraws(checks, decoder, options, prompt, "greedy");
  prompt.sampling = Sampling{2, 1, 1, 3, 4};
  checks.that(followDraws(checks, decoder, options, prompt, "top 1") == greedy, "top-k of 1 is not greedy");
  prompt.sampling = Sampling{2, 0, 1e-6, 3, 4};
  checks.that(followDraws(checks, decoder, options, prompt, "top-p of nearly nothing") == greedy, "a tiny top-p is not greedy");
  prompt.maxNewTokens = 40;
  prompt.sampling = Sampling{1000, 0, 1, 3, 4};
  const std::vector<int> hot = followDraws(checks, decoder, options, prompt, "hot");
  checks.that(std::set<int>(hot.begin(), hot.end()).size() > 15, "hot draws are few tokens");
}

/** An automaton of a single cycle leaves one token everywhere. */
void checkForced(Checks& checks) {
  const int vocab = 40;
  const DecoderSpec spec = randomDecoder({1, 16, 1, 1, 16, 16, vocab, true}, 4);
  DecoderOptions options = optionsOf(DecoderPrecision::bf16, 40, 2);
  options.grammar = TokenAutomaton{3, {0, 1, 2, 3}, {39, 0, 17}, {1, 2, 0}};
  EmulatedDecoder decoder(spec, options);
  for (const float temperature : {0.0f, 1.0f}) {
    Prompt prompt = promptOf({5}, 7);
    prompt.sampling.temperature = temperature;
    prompt.grammarState = 1;
    const int slot = decoder->prefill({prompt})[0];
    decoder->decode(7);
    const Sequence sequence = decoder->read(slot);
    checks.that(sequence.tokens == std::vector<int>({5, 0, 17, 39, 0, 17, 39, 0}), "the only tokens allowed were not drawn");
    checks.that(sequence.grammarState == 2, "the automaton is in another state");
    decoder->release(slot);
  }
}

/** Tokens of the same logits, in several lanes: the first is the likeliest, and all are kept or none. */
void checkEquals(Checks& checks) {
  const int vocab = 90, d = 16;
  DecoderSpec spec = randomDecoder({1, d, 1, 1, 16, 16, vocab, false}, 4);
  const std::vector<int> equals = {7, 21, 39, 64, 71, 88};
  for (int i = 0; i < vocab * d; i++) spec.head[i] *= 0.01f;
  EmulatedDecoder plain(spec, optionsOf(DecoderPrecision::bf16, 24, 1));
  const bool isPositive = plain->logits(plain->prefill({promptOf({5}, 1)})[0])[7] > 0;
  const std::vector<float> row(spec.head.begin() + 7 * d, spec.head.begin() + 8 * d);
  for (const int token : equals) {
    for (int i = 0; i < d; i++) spec.head[token * d + i] = row[i] * (isPositive ? 1000.0f : -1000.0f);
  }
  EmulatedDecoder decoder(spec, optionsOf(DecoderPrecision::bf16, 24, 2));
  Prompt prompt = promptOf({5}, 1);
  checks.that(decoder->generate({prompt})[0].tokens[1] == 7, "of equals not the first is the likeliest");
  std::set<int> drawn;
  for (std::uint32_t i = 0; i < 40; i++) {
    prompt.sampling = Sampling{1, 2, 0.3, 1, i};
    drawn.insert(decoder->generate({prompt})[0].tokens[1]);
  }
  checks.that(drawn == std::set<int>(equals.begin(), equals.end()), "equals are not drawn alike");
}

}  // namespace

int checkDecoderSampling() {
  Checks checks("decoder's draws");
  checkDraws(checks);
  checkExtremes(checks);
  checkForced(checks);
  checkEquals(checks);
  return checks.finish();
}

}  // namespace reverie::test
