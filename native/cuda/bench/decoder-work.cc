// Tokens drawn for many sequences at once near the end of their context (`kind=decode`).
#include <stdexcept>

#include "decoder-fixture.h"
#include "work.h"

namespace reverie::bench {
namespace {

/** Positions at the end of the context that are decoded before sequences begin anew. */
constexpr int tail = 8;

DecoderShape shapeOf(const Request& request) {
  const auto at = [&](const char* key) { return static_cast<int>(request.integer(key)); };
  return {at("layers"), at("width"), at("heads"), at("kv_heads"), at("feedForward"), at("vocabulary")};
}

DecoderOptions optionsOf(const Request& request) {
  DecoderOptions options;
  options.precision = request.text("precision") == "fp32" ? DecoderPrecision::fp32 : DecoderPrecision::bf16;
  options.context = static_cast<int>(request.integer("context"));
  options.sequences = static_cast<int>(request.integer("rows"));
  return options;
}

class DecodeWork : public Work {
 public:
  DecodeWork(TimedDevice& device, const Request& request)
      : device_(device),
        rows_(static_cast<int>(request.integer("rows"))),
        steps_(static_cast<int>(request.integer("steps"))),
        prompts_(randomPrompts(rows_, static_cast<int>(request.integer("context")) - tail, tail, 1.0f,
                               static_cast<int>(request.integer("vocabulary")), 7)),
        decoder_(makeDecoder(device, randomDecoder(shapeOf(request), 1), optionsOf(request))) {
    if (decoder_->plan().sequences < rows_) throw OutOfMemory(decoder_->plan().bytes());
  }

  Timing run() override {
    if (left_ < steps_) beginAnew();
    Timing timing;
    device_.start();
    const double begin = nowMs();
    const int running = decoder_->decode(steps_);
    timing.wallMs = nowMs() - begin;
    timing.device = device_.stop();
    left_ -= steps_;
    if (left_ > 0 && running != rows_) {
      throw DeviceError("sequences that still run: " + std::to_string(running) + " of " + std::to_string(rows_));
    }
    return timing;
  }

  void describe(JsonObject& into) const override {
    into.put("deviceBytes", static_cast<double>(decoder_->plan().bytes()));
    into.put("cacheBytes", static_cast<double>(decoder_->plan().cacheBytes));
  }

 private:
  void beginAnew() {
    for (const int slot : slots_) decoder_->release(slot);
    slots_ = decoder_->prefill(prompts_);
    left_ = tail;
  }

  TimedDevice& device_;
  const int rows_, steps_;
  const std::vector<Prompt> prompts_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<int> slots_;
  int left_ = 0;
};

}  // namespace

std::unique_ptr<Work> makeDecoderWork(TimedDevice& device, const Request& request) {
  return std::make_unique<DecodeWork>(device, request);
}

}  // namespace reverie::bench
