// A decoder on a device: slots for sequences, and launches that take all running ones through some tokens at a time. Between
// launches the host learns what has ended and deals the rest to blocks anew.

#include "decoder.h"

#include <algorithm>
#include <cmath>

#include "decoder-pack.h"
#include "decoder-plan.h"

namespace reverie {
namespace {

using decoder::Args;
using decoder::Slot;
using decoder::Told;

/** Tokens a launch: long enough that its start is nothing, short enough that sequences that have ended soon make room. */
constexpr int STEPS_PER_LAUNCH = 32;

Slot slotOf(const Prompt& prompt) {
  const Sampling& sampling = prompt.sampling;
  const double share = std::floor(sampling.topP * 4294967296.0);
  Slot slot{};
  slot.status = DecodeStatus::running;
  slot.position = static_cast<int>(prompt.tokens.size()) - 1;
  slot.end = static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(prompt.tokens.size()) + prompt.maxNewTokens, INT32_MAX));
  slot.grammarState = prompt.grammarState;
  slot.scale = sampling.temperature > 0 ? static_cast<float>(1.4426950408889634 / sampling.temperature) : 0.0f;
  slot.topK = sampling.topK;
  slot.topP = sampling.topP < 1 ? static_cast<std::uint32_t>(std::max(share, 1.0)) : 0;
  slot.key0 = sampling.key0;
  slot.key1 = sampling.key1;
  slot.firstWord = sampling.firstWord;
  return slot;
}

float logProbOf(const Told& told) {
  if (told.mass == 0) return std::nanf("");
  return static_cast<float>(std::log(static_cast<double>(told.weight)) - std::log(static_cast<double>(told.mass)));
}

class DeviceDecoder final : public Decoder {
 public:
  DeviceDecoder(Device& device, const DecoderSpec& spec, const DecoderOptions& options)
      : device_(device), limits_(device.limits()), shape_(shapeOf(spec)), options_(options),
        plan_(planDecoder(spec, options, limits_)), slots_(plan_.sequences), prompted_(plan_.sequences), fed_(plan_.sequences), model_(device, plan_.weightBytes) {
    const int blocks = decoder::mostBlocks(plan_.sequences, limits_);
    keys_ = Buffer(device, plan_.cacheBytes / 2);
    values_ = Buffer(device, plan_.cacheBytes / 2);
    slotTable_ = Buffer(device, plan_.sequences * sizeof(Slot));
    tokens_ = Buffer(device, sizeof(int) * plan_.sequences * options.context);
    told_ = Buffer(device, sizeof(Told) * plan_.sequences * options.context);
    logits_ = Buffer(device, sizeof(float) * plan_.sequences * spec.vocab);
    order_ = Buffer(device, sizeof(int) * (plan_.sequences + static_cast<std::size_t>(blocks) * decoder::TILE_ROWS));
    const std::size_t partialBytes = decoder::partialBytes(spec, options, blocks);
    if (partialBytes > 0) partials_ = Buffer(device, partialBytes);
    stops_ = Buffer(device, sizeof(std::uint32_t) * (spec.vocab / 32 + 1));
    nameKernels();
    fillArgs(spec);
    stopAt(options.stops);
  }

  const DecoderPlan& plan() const override { return plan_; }

  std::vector<int> prefill(const std::vector<Prompt>& prompts) override {
    for (const auto& prompt : prompts) decoder::checkPrompt(prompt, shape_, options_);
    std::vector<int> taken;
    for (int i = 0; i < plan_.sequences && taken.size() < prompts.size(); i++) {
      if (slots_[i].status == DecodeStatus::free) taken.push_back(i);
    }
    if (taken.size() < prompts.size()) throw std::length_error("fewer slots are free than there are prompts");
    for (std::size_t i = 0; i < prompts.size(); i++) {
      slots_[taken[i]] = slotOf(prompts[i]);
      prompted_[taken[i]] = static_cast<int>(prompts[i].tokens.size());
      fed_[taken[i]] = -1;
    }
    try {
      uploadTokens(prompts, taken);
      runPrefill(taken);
    } catch (...) {
      for (const int slot : taken) slots_[slot] = Slot{};
      throw;
    }
    return taken;
  }

  int decode(int steps) override {
    for (int left = steps; left > 0; left -= STEPS_PER_LAUNCH) {
      const std::vector<int> running = runningSlots();
      if (running.empty()) return 0;
      runDecode(running, std::min(left, STEPS_PER_LAUNCH), true);
      device_.download(slots_.data(), slotTable_.address(), slotTable_.bytes());
      device_.synchronize(0);
    }
    return static_cast<int>(runningSlots().size());
  }

  Sequence read(int slot) override {
    const Slot& own = taken(slot);
    Sequence sequence;
    sequence.tokens.resize(own.position + 1);
    sequence.status = own.status;
    sequence.grammarState = own.grammarState;
    const std::size_t row = options_.context * static_cast<std::size_t>(slot);
    const int prompted = prompted_[slot];
    std::vector<Told> told(sequence.tokens.size() - prompted);
    device_.download(sequence.tokens.data(), tokens_.address() + sizeof(int) * row, sizeof(int) * sequence.tokens.size());
    if (!told.empty()) device_.download(told.data(), told_.address() + sizeof(Told) * (row + prompted), sizeof(Told) * told.size());
    device_.synchronize(0);
    for (const Told& each : told) sequence.logProbs.push_back(logProbOf(each));
    return sequence;
  }

  void release(int slot) override {
    taken(slot);
    slots_[slot] = Slot{};
  }

  std::vector<float> logits(const std::vector<int>& slots) override {
    requireRunning(slots);
    const std::size_t width = shape_.vocab;
    std::vector<float> rows(width * slots.size());
    if (slots.empty()) return rows;
    runDecode(slots, 1, false);
    for (const int slot : slots) fed_[slot] = slots_[slot].position;
    for (std::size_t i = 0; i < slots.size(); i++) {
      device_.download(rows.data() + width * i, logits_.address() + sizeof(float) * width * slots[i], sizeof(float) * width);
    }
    device_.synchronize(0);
    return rows;
  }

  void append(const std::vector<int>& slots, const std::vector<int>& tokens) override {
    requireRunning(slots);
    if (slots.size() != tokens.size()) throw std::invalid_argument("each sequence is given one token");
    for (std::size_t i = 0; i < slots.size(); i++) {
      if (tokens[i] < 0 || tokens[i] >= shape_.vocab) throw std::invalid_argument("a token outside of the vocabulary");
      if (fed_[slots[i]] != slots_[slots[i]].position) throw std::invalid_argument("a token is given after logits were asked for");
      if (slots_[slots[i]].position + 1 >= options_.context) throw std::invalid_argument("the context is full");
    }
    static const Told untold{};
    for (std::size_t i = 0; i < slots.size(); i++) {
      const std::size_t place = static_cast<std::size_t>(slots[i]) * options_.context + ++slots_[slots[i]].position;
      device_.upload(tokens_.address() + sizeof(int) * place, &tokens[i], sizeof(int));
      device_.upload(told_.address() + sizeof(Told) * place, &untold, sizeof(Told));
    }
    device_.synchronize(0);
  }

  void stopAt(const std::vector<int>& tokens) override {
    if (const auto reason = decoder::wrongWithStops(tokens, shape_)) throw std::invalid_argument(*reason);
    std::vector<std::uint32_t> bits(stops_.bytes() / sizeof(std::uint32_t));
    for (const int token : tokens) bits[token / 32] |= 1u << (token % 32);
    device_.upload(stops_.address(), bits.data(), stops_.bytes());
    device_.synchronize(0);
  }

  std::vector<Sequence> generate(const std::vector<Prompt>& prompts) override {
    const auto isFree = [](const Slot& slot) { return slot.status == DecodeStatus::free; };
    if (!std::all_of(slots_.begin(), slots_.end(), isFree)) throw std::logic_error("generate needs all slots free");
    for (const auto& prompt : prompts) decoder::checkPrompt(prompt, shape_, options_);
    std::vector<Sequence> sequences(prompts.size());
    std::vector<std::size_t> owner(slots_.size());
    std::size_t next = 0, done = 0;
    while (done < prompts.size()) {
      const auto room = static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), isFree));
      const std::size_t last = std::min(prompts.size(), next + room);
      const std::vector<int> slots = prefill({prompts.begin() + next, prompts.begin() + last});
      for (const int slot : slots) owner[slot] = next++;
      decode(STEPS_PER_LAUNCH);
      for (int slot = 0; slot < plan_.sequences; slot++) {
        if (isFree(slots_[slot]) || slots_[slot].status == DecodeStatus::running) continue;
        sequences[owner[slot]] = read(slot);
        release(slot);
        done++;
      }
    }
    return sequences;
  }

 private:
  /** The sizes alone, without weights. */
  static DecoderSpec shapeOf(const DecoderSpec& spec) {
    DecoderSpec shape;
    shape.layers = spec.layers;
    shape.dModel = spec.dModel;
    shape.heads = spec.heads;
    shape.kvHeads = spec.kvHeads;
    shape.headDim = spec.headDim;
    shape.ffn = spec.ffn;
    shape.vocab = spec.vocab;
    return shape;
  }

  void nameKernels() {
    const std::string width = options_.precision == DecoderPrecision::fp32 ? "Fp32" : "Bf16x" + std::to_string((shape_.headDim + 31) / 32);
    decodeKernel_ = "decoderDecode" + width;
    prefillKernel_ = "decoderPrefill" + width;
    resident_ = device_.residentBlocks(decodeKernel_.c_str(), decoder::THREADS, plan_.sharedBytes) * limits_.multiprocessors;
    if (resident_ < 1) throw DeviceError("the device has no room for a block of " + decodeKernel_);
  }

  void fillArgs(const DecoderSpec& spec) {
    std::vector<char> bytes(plan_.weightBytes);
    const auto packed = decoder::pack(spec, options_, bytes.data(), model_.address());
    device_.upload(model_.address(), bytes.data(), bytes.size());
    device_.synchronize(0);
    args_ = Args{spec.layers, spec.dModel, spec.heads, spec.kvHeads, spec.headDim, spec.ffn, spec.vocab, spec.normEps,
                 options_.context, plan_.sequences, decoder::sharedLayoutOf(spec, options_.precision),
                 packed.embedding, packed.layer, packed.finalNorm, packed.head, packed.rotations,
                 keys_.as<void>(), values_.as<void>(), slotTable_.as<Slot>(), tokens_.as<int>(), told_.as<Told>(), logits_.as<float>(),
                 partials_.as<float>(), decoder::partsOf(options_.context),
                 options_.grammar.states > 0 ? packed.mask : nullptr, packed.edgeStart, packed.edgeToken, packed.edgeNext,
                 packed.maskWords, stops_.as<std::uint32_t>(), order_.as<int>(), 0, 0, 0, 1};
  }

  const Slot& taken(int slot) const {
    if (slot < 0 || slot >= plan_.sequences || slots_[slot].status == DecodeStatus::free) {
      throw std::invalid_argument("no sequence is in slot " + std::to_string(slot));
    }
    return slots_[slot];
  }

  void requireRunning(const std::vector<int>& slots) const {
    for (const int slot : slots) {
      if (taken(slot).status != DecodeStatus::running) throw std::invalid_argument("the sequence does not run any more");
    }
  }

  std::vector<int> runningSlots() const {
    std::vector<int> running;
    for (int i = 0; i < plan_.sequences; i++) {
      if (slots_[i].status == DecodeStatus::running) running.push_back(i);
    }
    return running;
  }

  /** One copy for each stretch of neighbouring slots. */
  void uploadTokens(const std::vector<Prompt>& prompts, const std::vector<int>& slots) {
    const auto context = static_cast<std::size_t>(options_.context);
    for (std::size_t first = 0; first < slots.size();) {
      std::size_t last = first + 1;
      while (last < slots.size() && slots[last] == slots[last - 1] + 1) last++;
      std::vector<int> rows((last - first) * context);
      for (std::size_t i = first; i < last; i++) {
        std::copy(prompts[i].tokens.begin(), prompts[i].tokens.end(), rows.begin() + (i - first) * context);
      }
      device_.upload(tokens_.address() + sizeof(int) * context * slots[first], rows.data(), sizeof(int) * rows.size());
      device_.synchronize(0);
      first = last;
    }
  }

  /** Longest first, so that blocks end together. */
  void sortByLength(std::vector<int>& slots) const {
    std::stable_sort(slots.begin(), slots.end(), [&](int a, int b) { return slots_[a].position > slots_[b].position; });
  }

  void launch(const std::string& kernel, int blocks, const std::vector<int>& order, int rowsPerBlock, int steps, bool isSampling) {
    Args args = args_;
    args.orderCount = static_cast<int>(order.size());
    args.rowsPerBlock = rowsPerBlock;
    args.steps = steps;
    args.isSampling = isSampling ? 1 : 0;
    device_.upload(slotTable_.address(), slots_.data(), slotTable_.bytes());
    device_.upload(order_.address(), order.data(), sizeof(int) * order.size());
    device_.launch(launchOf(kernel.c_str(), static_cast<unsigned>(blocks), decoder::THREADS, plan_.sharedBytes, args));
    device_.synchronize(0);
  }

  void runPrefill(std::vector<int> slots) {
    const auto isShort = [&](int slot) { return slots_[slot].position == 0; };
    slots.erase(std::remove_if(slots.begin(), slots.end(), isShort), slots.end());
    if (slots.empty()) return;
    sortByLength(slots);
    const int blocks = std::min(static_cast<int>(slots.size()), decoder::mostBlocks(plan_.sequences, limits_));
    launch(prefillKernel_, blocks, slots, 1, 1, false);
  }

  /** Blocks get as many rows each, and of long and short sequences alike: dealt to and fro. */
  void runDecode(std::vector<int> slots, int steps, bool isSampling) {
    sortByLength(slots);
    const int count = static_cast<int>(slots.size());
    const int most = std::min(resident_, decoder::residentBound(limits_));
    const int waves = (count + most * decoder::TILE_ROWS - 1) / (most * decoder::TILE_ROWS);
    const int rows = (count + waves * most - 1) / (waves * most), blocks = (count + rows - 1) / rows;
    std::vector<int> order(static_cast<std::size_t>(blocks) * rows, -1);
    for (int i = 0; i < count; i++) {
      const int round = i / blocks, place = i % blocks;
      order[(round % 2 == 0 ? place : blocks - 1 - place) * rows + round] = slots[i];
    }
    launch(decodeKernel_, blocks, order, rows, steps, isSampling);
  }

  Device& device_;
  const DeviceLimits limits_;
  const DecoderSpec shape_;
  const DecoderOptions options_;
  const DecoderPlan plan_;
  /** As the device has it, whenever no launch is under way. */
  std::vector<Slot> slots_;
  /** Tokens of each one's prompt. */
  std::vector<int> prompted_;
  /** Position of the newest token of each that `logits` brought into the cache. */
  std::vector<int> fed_;
  Buffer model_, keys_, values_, slotTable_, tokens_, told_, logits_, stops_, order_, partials_;
  std::string decodeKernel_, prefillKernel_;
  int resident_ = 0;
  Args args_{};
};

}  // namespace

std::unique_ptr<Decoder> makeDecoder(Device& device, const DecoderSpec& spec, const DecoderOptions& options) {
  if (const auto reason = unsupported(spec, options, device.limits())) throw std::invalid_argument(*reason);
  return std::make_unique<DeviceDecoder>(device, spec, options);
}

}  // namespace reverie
