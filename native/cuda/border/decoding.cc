// See decoding.h.

#include "decoding.h"

#include <memory>
#include <mutex>

#include "../engine/decoder.h"
#include "devices.h"
#include "read.h"
#include "work.h"

namespace reverie::border {

namespace {

/** A decoder and the device that must outlive it. It does one thing at a time. */
class ResidentDecoder {
 public:
  void open(std::shared_ptr<Device> device, const DecoderSpec& spec, const DecoderOptions& options) {
    device_ = std::move(device);
    decoder_ = makeDecoder(*device_, spec, options);
    plan = decoder_->plan();
    limits = device_->limits();
  }

  template <class Use>
  void use(Use use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!decoder_) throw DeviceError("the decoder was closed meanwhile");
    use(*decoder_);
  }

  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    decoder_.reset();
    device_.reset();
  }

  DecoderPlan plan;
  DeviceLimits limits;

 private:
  std::mutex mutex_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Decoder> decoder_;
};

using Held = std::shared_ptr<ResidentDecoder>;

Held decoderOf(const Napi::CallbackInfo& info) {
  if (!info[0].IsExternal()) refuse(info.Env(), "no decoder is given");
  return *info[0].As<Napi::External<Held>>().Data();
}

Napi::Object objectArgument(const Napi::CallbackInfo& info, std::size_t index) {
  if (!info[index].IsObject()) refuse(info.Env(), "an argument that is no object");
  return info[index].As<Napi::Object>();
}

DecoderSpec sizesOf(const Napi::Object& from) {
  DecoderSpec spec;
  spec.layers = intAt(from, "layers");
  spec.dModel = intAt(from, "hiddenSize");
  spec.heads = intAt(from, "heads");
  spec.kvHeads = intAt(from, "kvHeads");
  spec.headDim = intAt(from, "headDim");
  spec.ffn = intAt(from, "intermediateSize");
  spec.vocab = intAt(from, "vocabSize");
  spec.ropeTheta = static_cast<float>(numberAt(from, "ropeTheta"));
  spec.normEps = static_cast<float>(numberAt(from, "normEpsilon"));
  spec.isTied = boolAt(from, "tieEmbeddings");
  return spec;
}

DecoderSpec specOf(const Napi::Object& from) {
  DecoderSpec spec = sizesOf(objectAt(from, "config"));
  spec.embedding = copyAt(from, "embedding");
  spec.finalNorm = copyAt(from, "finalNorm");
  if (!spec.isTied) spec.head = copyAt(from, "head");
  const Napi::Value layers = from.Get("layers");
  if (!layers.IsArray()) refuse(from.Env(), "layers is no array");
  const auto array = layers.As<Napi::Array>();
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    if (!array.Get(i).IsObject()) refuse(from.Env(), "a layer is no object");
    const auto layer = array.Get(i).As<Napi::Object>();
    spec.weights.push_back({copyAt(layer, "inputNorm"), copyAt(layer, "ffnNorm"), copyAt(layer, "query"), copyAt(layer, "key"),
                            copyAt(layer, "value"), copyAt(layer, "out"), copyAt(layer, "gate"), copyAt(layer, "up"),
                            copyAt(layer, "down")});
  }
  return spec;
}

DecoderOptions optionsOf(const Napi::Object& from) {
  const std::string precision = textAt(from, "precision");
  if (precision != "fp32" && precision != "bf16") refuse(from.Env(), "decoders are computed in fp32 or bf16");
  DecoderOptions options;
  options.precision = precision == "fp32" ? DecoderPrecision::fp32 : DecoderPrecision::bf16;
  options.context = intAt(from, "context");
  options.sequences = intAt(from, "sequences");
  return options;
}

/** { tokens, lengths, maxTokens, temperature, topK, topP, streams }: prompts one behind the other, a stream each. */
std::vector<Prompt> promptsOf(const Napi::Object& from) {
  const std::vector<int> tokens = intCopyAt(from, "tokens"), lengths = intCopyAt(from, "lengths");
  const std::vector<RandomStream> streams = streamsAt(from, "streams", lengths.size());
  std::vector<Prompt> prompts(lengths.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lengths.size(); i++) {
    if (lengths[i] < 0 || begin + lengths[i] > tokens.size()) refuse(from.Env(), "prompts that are longer than their tokens");
    Prompt& prompt = prompts[i];
    prompt.tokens.assign(tokens.begin() + begin, tokens.begin() + begin + lengths[i]);
    begin += lengths[i];
    prompt.maxNewTokens = intAt(from, "maxTokens");
    prompt.sampling.temperature = static_cast<float>(numberAt(from, "temperature"));
    prompt.sampling.topK = intAt(from, "topK");
    prompt.sampling.topP = numberAt(from, "topP");
    prompt.sampling.key0 = streams[i].key0;
    prompt.sampling.key1 = streams[i].key1;
    // The first token that is drawn, at the position behind the prompt, takes the stream's next word.
    prompt.sampling.firstWord = static_cast<std::int64_t>(streams[i].position) - lengths[i];
  }
  return prompts;
}

struct Ended {
  int slot;
  Sequence sequence;
};

const char* endOf(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::stopped: return "stop";
    case DecodeStatus::lengthReached:
    case DecodeStatus::contextFull: return "length";
    default: return "broken";
  }
}

Napi::Value endedArray(Napi::Env env, const std::vector<Ended>& ended) {
  Napi::Array array = Napi::Array::New(env);
  for (const Ended& each : ended) {
    const Sequence& sequence = each.sequence;
    Napi::Object object = Napi::Object::New(env);
    object.Set("slot", each.slot);
    const std::vector<int> own(sequence.tokens.end() - sequence.logProbs.size(), sequence.tokens.end());
    object.Set("tokens", arrayOf<Napi::Int32Array>(env, own));
    object.Set("logProbs", arrayOf<Napi::Float32Array>(env, sequence.logProbs));
    object.Set("end", endOf(sequence.status));
    array.Set(array.Length(), object);
  }
  return array;
}

Napi::Value fit(const Napi::CallbackInfo& info) {
  const auto where = objectArgument(info, 0);
  const std::string kind = textAt(where, "kind");
  const int ordinal = intAt(where, "ordinal");
  auto problem = std::make_shared<std::string>();
  auto job = [problem, kind, ordinal, spec = sizesOf(objectArgument(info, 1)), options = optionsOf(objectArgument(info, 2))] {
    *problem = unsupportedSizes(spec, options, limitsOf(kind, ordinal)).value_or("");
  };
  return Work::begin(info.Env(), job, [problem](Napi::Env env) { return Napi::String::New(env, *problem); });
}

Napi::Value make(const Napi::CallbackInfo& info) {
  const auto where = objectArgument(info, 0);
  const std::string kind = textAt(where, "kind"), fatbin = textAt(where, "fatbin");
  const int ordinal = intAt(where, "ordinal");
  auto spec = std::make_shared<DecoderSpec>(specOf(objectArgument(info, 1)));
  auto decoder = std::make_shared<ResidentDecoder>();
  auto job = [=, options = optionsOf(objectArgument(info, 2))] {
    decoder->open(sharedDevice(kind, ordinal, fatbin), *spec, options);
  };
  return Work::begin(info.Env(), job, [decoder](Napi::Env env) {
    Napi::Object object = Napi::Object::New(env);
    // What is forgotten without being closed is freed with its last reference: its bytes count with those who collect garbage.
    const auto bytes = static_cast<std::int64_t>(decoder->plan.bytes());
    Napi::MemoryManagement::AdjustExternalMemory(env, bytes);
    object.Set("decoder", Napi::External<Held>::New(env, new Held(decoder), [bytes](Napi::Env own, Held* gone) {
                 Napi::MemoryManagement::AdjustExternalMemory(own, -bytes);
                 delete gone;
               }));
    object.Set("bytes", static_cast<double>(decoder->plan.bytes()));
    object.Set("sequences", decoder->plan.sequences);
    object.Set("device", limitsObject(env, decoder->limits));
    return object;
  });
}

Napi::Value take(const Napi::CallbackInfo& info) {
  const auto from = objectArgument(info, 1);
  auto prompts = std::make_shared<std::vector<Prompt>>(promptsOf(from));
  auto slots = std::make_shared<std::vector<int>>();
  auto job = [decoder = decoderOf(info), prompts, slots, stops = intCopyAt(from, "stops")] {
    decoder->use([&](Decoder& own) {
      own.stopAt(stops);
      *slots = own.prefill(*prompts);
    });
  };
  return Work::begin(info.Env(), job, [slots](Napi::Env env) { return arrayOf<Napi::Int32Array>(env, *slots); });
}

/** { steps, slots }: of these slots, those whose sequences end. */
Napi::Value advance(const Napi::CallbackInfo& info) {
  const auto from = objectArgument(info, 1);
  auto ended = std::make_shared<std::vector<Ended>>();
  auto job = [decoder = decoderOf(info), ended, steps = intAt(from, "steps"), slots = intCopyAt(from, "slots")] {
    decoder->use([&](Decoder& own) {
      own.decode(steps);
      for (const int slot : slots) {
        Sequence sequence = own.read(slot);
        if (sequence.status == DecodeStatus::running) continue;
        own.release(slot);
        ended->push_back({slot, std::move(sequence)});
      }
    });
  };
  return Work::begin(info.Env(), job, [ended](Napi::Env env) { return endedArray(env, *ended); });
}

Napi::Value logits(const Napi::CallbackInfo& info) {
  auto rows = std::make_shared<std::vector<float>>();
  auto job = [decoder = decoderOf(info), rows, slots = intCopyAt(objectArgument(info, 1), "slots")] {
    decoder->use([&](Decoder& own) { *rows = own.logits(slots); });
  };
  return Work::begin(info.Env(), job, [rows](Napi::Env env) { return arrayOf<Napi::Float32Array>(env, *rows); });
}

Napi::Value append(const Napi::CallbackInfo& info) {
  const auto from = objectArgument(info, 1);
  auto job = [decoder = decoderOf(info), slots = intCopyAt(from, "slots"), tokens = intCopyAt(from, "tokens")] {
    decoder->use([&](Decoder& own) { own.append(slots, tokens); });
  };
  return Work::begin(info.Env(), job, [](Napi::Env env) { return env.Undefined(); });
}

Napi::Value release(const Napi::CallbackInfo& info) {
  auto job = [decoder = decoderOf(info), slots = intCopyAt(objectArgument(info, 1), "slots")] {
    decoder->use([&](Decoder& own) {
      for (const int slot : slots) own.release(slot);
    });
  };
  return Work::begin(info.Env(), job, [](Napi::Env env) { return env.Undefined(); });
}

Napi::Value close(const Napi::CallbackInfo& info) {
  return Work::begin(info.Env(), [decoder = decoderOf(info)] { decoder->close(); }, [](Napi::Env env) { return env.Undefined(); });
}

}  // namespace

void addDecoding(Napi::Env env, Napi::Object exports) {
  using Method = Napi::Value (*)(const Napi::CallbackInfo&);
  const std::pair<const char*, Method> methods[] = {{"decoderFit", fit},   {"makeDecoder", make},    {"takePrompts", take},
                                                    {"advanceSlots", advance}, {"slotLogits", logits}, {"appendTokens", append},
                                                    {"freeSlots", release}, {"closeDecoder", close}};
  for (const auto& [name, method] : methods) exports.Set(name, Napi::Function::New(env, method, name));
}

}  // namespace reverie::border
