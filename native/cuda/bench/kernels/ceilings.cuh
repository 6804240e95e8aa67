// Arguments of the kernels that measure what a chip can do at most.
#pragma once

#include <cstdint>

namespace reverie::bench {

/** `words` groups of 16 bytes, a multiple of 4 times the threads of the launch. */
struct CopyArgs {
  const void* from;
  void* to;
  std::uint64_t words;
};

/** Chains of products; every thread leaves its sums in `sums` [threads of the launch]. */
struct ProductArgs {
  /** [32, 6] random words of a warp: fragments of a and b. */
  const std::uint32_t* fragments;
  float* sums;
  int rounds;
};

/** Independent chains a warp, so that instructions do not wait for each other. */
constexpr int PRODUCT_CHAINS = 8;

}  // namespace reverie::bench
