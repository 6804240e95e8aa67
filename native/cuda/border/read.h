// Values of JavaScript as the engine's structs, each checked: a wrong one is a TypeError of the caller, never a crash.
#pragma once

#include <napi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../engine/ensemble.h"

namespace reverie::border {

[[noreturn]] void refuse(Napi::Env env, const std::string& problem);

Napi::Object objectAt(const Napi::Object& from, const char* name);
int intAt(const Napi::Object& from, const char* name);
double numberAt(const Napi::Object& from, const char* name);
bool boolAt(const Napi::Object& from, const char* name);
std::string textAt(const Napi::Object& from, const char* name);

/** The memory of a Float32Array of exactly `length` elements; null where it is undefined and `isOptional`. */
float* floatsAt(const Napi::Object& from, const char* name, std::size_t length, bool isOptional = false);
std::uint8_t* bytesAt(const Napi::Object& from, const char* name, std::size_t length, bool isOptional = false);
/** The same of an Int32Array. */
std::int32_t* intsAt(const Napi::Object& from, const char* name, std::size_t length);
/** Elements of a Float32Array. */
std::size_t lengthAt(const Napi::Object& from, const char* name);
/** A copy of a Float32Array of any length. */
std::vector<float> copyAt(const Napi::Object& from, const char* name);

/** A new typed array with a copy of the values. */
template <class Array, class T, class Allocator>
Array arrayOf(Napi::Env env, const std::vector<T, Allocator>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

/** From a Uint32Array of four words a stream: key 0, key 1, position low, position high. */
std::vector<RandomStream> streamsAt(const Napi::Object& from, const char* name, std::size_t count);

Activation activationAt(const Napi::Object& from);
Precision precisionOf(const Napi::Value& value);
EnsembleSpec ensembleOf(const Napi::Value& value);
PolicySpec policyOf(const Napi::Object& from);
StepOptions stepOptionsOf(const Napi::Object& from);

}  // namespace reverie::border
