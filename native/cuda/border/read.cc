// See read.h.

#include "read.h"

#include <cmath>
#include <cstring>

#include "../engine/precision-name.h"

namespace reverie::border {

void refuse(Napi::Env env, const std::string& problem) { throw Napi::TypeError::New(env, problem); }

Napi::Object objectAt(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  if (!value.IsObject()) refuse(from.Env(), std::string(name) + " is no object");
  return value.As<Napi::Object>();
}

double numberAt(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  if (!value.IsNumber()) refuse(from.Env(), std::string(name) + " is no number");
  return value.As<Napi::Number>().DoubleValue();
}

int intAt(const Napi::Object& from, const char* name) {
  const double value = numberAt(from, name);
  if (!(std::abs(value) <= 2147483647.0) || std::trunc(value) != value) {
    refuse(from.Env(), std::string(name) + " is no whole number of 32 bits");
  }
  return static_cast<int>(value);
}

bool boolAt(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  if (!value.IsBoolean()) refuse(from.Env(), std::string(name) + " is neither true nor false");
  return value.As<Napi::Boolean>().Value();
}

std::string textAt(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  if (!value.IsString()) refuse(from.Env(), std::string(name) + " is no text");
  return value.As<Napi::String>().Utf8Value();
}

namespace {

template <class Array>
Array arrayAt(const Napi::Object& from, const char* name, napi_typedarray_type type) {
  const Napi::Value value = from.Get(name);
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    refuse(from.Env(), std::string(name) + " is no typed array of the right kind");
  }
  return value.As<Array>();
}

template <class Array, class T>
T* memoryAt(const Napi::Object& from, const char* name, std::size_t length, bool isOptional, napi_typedarray_type type) {
  if (isOptional && from.Get(name).IsUndefined()) return nullptr;
  Array array = arrayAt<Array>(from, name, type);
  if (array.ElementLength() != length) {
    refuse(from.Env(), std::string(name) + " has " + std::to_string(array.ElementLength()) + " elements in place of " +
                           std::to_string(length));
  }
  return array.Data();
}

std::vector<Layer> layersAt(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  if (!value.IsArray()) refuse(from.Env(), std::string(name) + " is no array");
  const auto array = value.As<Napi::Array>();
  std::vector<Layer> layers;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const auto item = array.Get(i);
    if (!item.IsObject()) refuse(from.Env(), "a layer is no object");
    const auto object = item.As<Napi::Object>();
    layers.push_back({intAt(object, "in"), intAt(object, "out"), copyAt(object, "w"), copyAt(object, "b")});
  }
  return layers;
}

PolicyHead headAt(const Napi::Object& from) {
  const std::string name = textAt(from, "head");
  if (name == "squashed") return PolicyHead::squashed;
  if (name == "gaussian") return PolicyHead::gaussian;
  if (name == "categorical") return PolicyHead::categorical;
  refuse(from.Env(), "unknown head " + name);
}

}  // namespace

float* floatsAt(const Napi::Object& from, const char* name, std::size_t length, bool isOptional) {
  return memoryAt<Napi::Float32Array, float>(from, name, length, isOptional, napi_float32_array);
}

std::uint8_t* bytesAt(const Napi::Object& from, const char* name, std::size_t length, bool isOptional) {
  return memoryAt<Napi::Uint8Array, std::uint8_t>(from, name, length, isOptional, napi_uint8_array);
}

std::int32_t* intsAt(const Napi::Object& from, const char* name, std::size_t length) {
  return memoryAt<Napi::Int32Array, std::int32_t>(from, name, length, false, napi_int32_array);
}

std::size_t lengthAt(const Napi::Object& from, const char* name) {
  return arrayAt<Napi::Float32Array>(from, name, napi_float32_array).ElementLength();
}

std::vector<float> copyAt(const Napi::Object& from, const char* name) {
  auto array = arrayAt<Napi::Float32Array>(from, name, napi_float32_array);
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<RandomStream> streamsAt(const Napi::Object& from, const char* name, std::size_t count) {
  auto array = arrayAt<Napi::Uint32Array>(from, name, napi_uint32_array);
  if (array.ElementLength() != 4 * count) refuse(from.Env(), std::string(name) + " is of another length");
  const std::uint32_t* words = array.Data();
  std::vector<RandomStream> streams(count);
  for (std::size_t i = 0; i < count; i++, words += 4) {
    streams[i] = {words[0], words[1], words[2] | (static_cast<std::uint64_t>(words[3]) << 32)};
  }
  return streams;
}

Activation activationAt(const Napi::Object& from) {
  const std::string name = textAt(from, "activation");
  if (name == "relu") return Activation::relu;
  if (name == "tanh") return Activation::tanh;
  if (name == "swish") return Activation::swish;
  refuse(from.Env(), "unknown activation " + name);
}

Precision precisionOf(const Napi::Value& value) {
  const std::string name = value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
  if (const auto precision = precisionNamed(name)) return *precision;
  refuse(value.Env(), "a precision that is neither fp32 nor tf32");
}

EnsembleSpec ensembleOf(const Napi::Value& value) {
  if (!value.IsObject()) refuse(value.Env(), "the ensemble is no object");
  const auto from = value.As<Napi::Object>();
  EnsembleSpec spec{};
  spec.obsDim = intAt(from, "obsDim");
  spec.actionDim = intAt(from, "actionDim");
  spec.actionChoices = intAt(from, "actionChoices");
  spec.actionStart = intAt(from, "actionStart");
  spec.learnsReward = boolAt(from, "learnsReward");
  spec.learnsTermination = boolAt(from, "learnsTermination");
  spec.inputMean = copyAt(from, "inputMean");
  spec.inputScale = copyAt(from, "inputScale");
  spec.targetMean = copyAt(from, "targetMean");
  spec.targetScale = copyAt(from, "targetScale");
  spec.low = copyAt(from, "low");
  spec.high = copyAt(from, "high");
  const Napi::Value elites = from.Get("elites");
  if (!elites.IsArray()) refuse(value.Env(), "elites is no array");
  const auto array = elites.As<Napi::Array>();
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    if (!array.Get(i).IsObject()) refuse(value.Env(), "an elite is no object");
    const auto member = array.Get(i).As<Napi::Object>();
    spec.elites.push_back({layersAt(member, "layers"), copyAt(member, "logVarMin"), copyAt(member, "logVarMax")});
  }
  return spec;
}

PolicySpec policyOf(const Napi::Object& from) {
  PolicySpec policy{};
  policy.head = headAt(from);
  policy.activation = activationAt(from);
  policy.layers = layersAt(from, "layers");
  policy.choices = intAt(from, "choices");
  policy.start = intAt(from, "start");
  for (const auto& [name, into] : {std::pair{"logStd", &policy.logStd}, {"scale", &policy.scale}, {"bias", &policy.bias},
                                   {"low", &policy.low}, {"high", &policy.high}}) {
    *into = copyAt(from, name);
  }
  return policy;
}

StepOptions stepOptionsOf(const Napi::Object& from) {
  return {boolAt(from, "isTs1"), boolAt(from, "isDeterministic"), boolAt(from, "withDisagreement")};
}

}  // namespace reverie::border
