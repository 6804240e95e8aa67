// Precisions by the names that users give them.
#pragma once

#include <optional>
#include <string>

#include "ensemble.h"

namespace reverie {

inline const char* nameOf(Precision precision) { return precision == Precision::fp32 ? "fp32" : "tf32"; }

/** Nothing for another word than fp32, tf32. */
inline std::optional<Precision> precisionNamed(const std::string& name) {
  if (name == "fp32") return Precision::fp32;
  if (name == "tf32") return Precision::tf32;
  return std::nullopt;
}

}  // namespace reverie
