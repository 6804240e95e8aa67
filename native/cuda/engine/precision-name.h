// Precisions by the names that users give them.
#pragma once

#include <optional>
#include <string>

#include "ensemble.h"

namespace reverie {

inline const char* nameOf(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    default:
      return "bf16";
  }
}

/** Nothing for another word than fp32, tf32, bf16. */
inline std::optional<Precision> precisionNamed(const std::string& name) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    if (name == nameOf(precision)) return precision;
  }
  return std::nullopt;
}

}  // namespace reverie
