// Decoding against doubles: logits of whole sequences recomputed without a cache, greedy tokens against the likeliest, and drawn
// tokens against the draw that the same random word makes of the device's own logits.
#include <algorithm>

#include "../reference/decoder-reference.h"
#include "check.h"
#include "decoder-fixture.h"

namespace reverie::bench {
namespace {

struct DecodeCase {
  DecoderPrecision precision;
  DecoderShape shape;
  int sequences, context, prompt;
  float temperature;

  std::string name() const {
    return std::string("decode ") + (precision == DecoderPrecision::fp32 ? "fp32" : "bf16") +
           " sequences=" + std::to_string(sequences) + " context=" + std::to_string(context) +
           " kv=" + std::to_string(shape.kvHeads) + "/" + std::to_string(shape.heads) +
           (temperature > 0 ? " drawn" : " greedy");
  }
};

/** A drawn token is right if the word draws it, or if so small a change of a probability would. */
constexpr double drawMargin = 1e-4;

/** The whole sequence is computed anew for each row that is looked at: of long ones, few. */
std::vector<int> slotsToLookAt(const DecodeCase& asked) {
  if (asked.context > 512) return {asked.sequences - 1};
  std::vector<int> looked{0, asked.sequences / 2, asked.sequences - 1};
  looked.erase(std::unique(looked.begin(), looked.end()), looked.end());
  return looked;
}

/** Decodes one token at a time; of some sequences each step's logits and token are looked at. */
void checkDecode(Device& device, const DecodeCase& asked, CheckReport& report) {
  const DecoderSpec spec = randomDecoder(asked.shape, 41);
  DecoderOptions options;
  options.precision = asked.precision;
  options.context = asked.context;
  options.sequences = asked.sequences;
  const auto decoder = makeDecoder(device, spec, options);
  const int newTokens = std::min(3, asked.context - asked.prompt);
  const auto prompts =
      randomPrompts(asked.sequences, asked.prompt, newTokens, asked.temperature, asked.shape.vocabulary, 42);
  const auto slots = decoder->prefill(prompts);
  const auto looked = slotsToLookAt(asked);
  Deviation logits;
  long tokens = 0, wrong = 0;
  for (int t = 0; t < newTokens; t++) {
    std::vector<std::vector<double>> own;
    for (const int i : looked) {
      const auto got = decoder->logits(slots[i]);
      const auto all = reference::decoderLogits(spec, decoder->read(slots[i]).tokens, asked.precision == DecoderPrecision::bf16);
      const double* last = all.data() + all.size() - got.size();
      for (std::size_t v = 0; v < got.size(); v++) logits.add(got[v], last[v]);
      own.emplace_back(got.begin(), got.end());
    }
    decoder->decode(1);
    for (std::size_t k = 0; k < looked.size(); k++) {
      const Sampling& sampling = prompts[looked[k]].sampling;
      const auto word = reference::randomWord(sampling.key0, sampling.key1, asked.prompt + t);
      const auto drawn = reference::drawToken(own[k], sampling, {}, word);
      tokens++;
      wrong += drawn.token != decoder->read(slots[looked[k]]).tokens[asked.prompt + t] && drawn.margin > drawMargin;
    }
  }
  report.put(asked.name() + ": logits", logits, asked.precision == DecoderPrecision::fp32 ? 1e-4 : 2e-2);
  report.put(asked.name() + ": tokens", wrong == 0, std::to_string(tokens - wrong) + " of " + std::to_string(tokens));
}

}  // namespace

void checkDecoder(Device& device, CheckSize size, CheckReport& report) {
  const DecoderShape small{2, 64, 4, 4, 96, 70}, grouped{2, 64, 4, 1, 96, 70};
  for (const DecoderPrecision precision : {DecoderPrecision::fp32, DecoderPrecision::bf16}) {
    std::vector<DecodeCase> cases{{precision, small, 5, 24, 19, 0}, {precision, grouped, 19, 24, 7, 1}};
    if (size == CheckSize::full) {
      const DecoderShape large{4, 256, 4, 4, 704, 512}, largeGrouped{4, 256, 4, 1, 704, 512};
      cases.push_back({precision, large, 1024, 256, 240, 0});
      cases.push_back({precision, largeGrouped, 4096, 256, 250, 1});
      cases.push_back({precision, large, 300, 1024, 1000, 1});
    }
    for (const auto& asked : cases) report.run(asked.name(), [&] { checkDecode(device, asked, report); });
  }
}

}  // namespace reverie::bench
