// Which widths there are, and which a processor has.
#include "width.h"

#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace reverie::processor {

extern const Width plainWidth;
#if defined(__x86_64__)
extern const Width avx2Width, avx512Width;
/** Null where the compiler had no such instructions. */
extern const Bfloat16Kernels* const pairedBfloat16;
#elif defined(__aarch64__)
extern const Width neonWidth;
#endif

namespace {

#if defined(__x86_64__)
/** AVX512_BF16: bit 5 of eax in leaf 7.1. */
bool hasBfloat16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 5) != 0;
}

Width withPairs() {
  Width width = avx512Width;
  width.name = "avx512bf16";
  width.bfloat16 = pairedBfloat16;
  return width;
}
#endif

std::vector<const Width*> findWidths() {
  std::vector<const Width*> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && pairedBfloat16 != nullptr && hasBfloat16()) {
    static const Width paired = withPairs();
    found.push_back(&paired);
  }
  if (__builtin_cpu_supports("avx512f")) found.push_back(&avx512Width);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&avx2Width);
#elif defined(__aarch64__)
  found.push_back(&neonWidth);
#endif
  found.push_back(&plainWidth);
  return found;
}

}  // namespace

const std::vector<const Width*>& widths() {
  static const std::vector<const Width*> found = findWidths();
  return found;
}

const Width& widthNamed(const std::string& name) {
  if (name.empty()) return *widths().front();
  std::string known;
  for (const Width* width : widths()) {
    if (name == width->name) return *width;
    known += (known.empty() ? "" : ", ") + std::string(width->name);
  }
  throw std::invalid_argument("REVERIE_NATIVE_WIDTH is \"" + name + "\", and this processor has " + known);
}

}  // namespace reverie::processor
