// Which widths there are, and which a processor has.
#include "width.h"

#include <stdexcept>

namespace reverie::processor {

extern const Width plainWidth;
#if defined(__x86_64__)
extern const Width avx2Width, avx512Width;
#elif defined(__aarch64__)
extern const Width neonWidth;
#endif

namespace {

std::vector<const Width*> findWidths() {
  std::vector<const Width*> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
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
