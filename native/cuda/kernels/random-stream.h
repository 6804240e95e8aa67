// The state of a random stream, as host and kernels share it.
#pragma once

#include <cstdint>

namespace reverie {

/** A stream of src/rng.ts: word p is philox(key, p / 4)[p % 4]. */
struct RandomStream {
  std::uint32_t key0, key1;
  std::uint64_t position;
};

}  // namespace reverie
