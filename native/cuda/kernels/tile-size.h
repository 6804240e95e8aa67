// Sizes in a block's shared memory that host and kernels must agree on.
#pragma once

#include <cstdint>

namespace reverie {

/** Room for the rows of one warp (WarpRows). */
constexpr std::uint32_t WARP_ROWS_BYTES = 832;

/** Room for the counters of SegmentSort, which lie in the ring's place. */
constexpr std::uint32_t SORT_BYTES = 9 * 64 * 4;

/** Room for the counters of Living and the tiles of each elite, at the start. */
constexpr std::uint32_t CONTROL_BYTES = 384;

}  // namespace reverie
