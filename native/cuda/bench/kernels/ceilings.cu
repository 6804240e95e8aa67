// What a chip can do at most, with the same words that the product's kernels use: copies, and matrix instructions on data that
// stays in registers.
#include "ceilings.cuh"

#include "../../kernels/lane.cuh"

using namespace reverie;
using namespace reverie::bench;

REVERIE_KERNEL(copyBytes, CopyArgs, 256, 4) {
  const std::uint64_t stride = static_cast<std::uint64_t>(blocks()) * threads();
  const auto* from = static_cast<const uint4*>(args.from);
  auto* to = static_cast<uint4*>(args.to);
  for (std::uint64_t at = static_cast<std::uint64_t>(block()) * threads() + thread(); at < args.words; at += 4 * stride) {
    uint4 values[4];
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) values[i] = loadStream(from + at + i * stride);
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) to[at + i * stride] = values[i];
  }
}

REVERIE_KERNEL(multiplyTf32, ProductArgs, 256, 2) {
  std::uint32_t a[4], b[2];
  REVERIE_UNROLL
  for (int i = 0; i < 4; i++) a[i] = args.fragments[6 * laneOf() + i];
  REVERIE_UNROLL
  for (int i = 0; i < 2; i++) b[i] = args.fragments[6 * laneOf() + 4 + i];
  float c[PRODUCT_CHAINS][4] = {};
  for (int round = 0; round < args.rounds; round++) {
    REVERIE_UNROLL
    for (int chain = 0; chain < PRODUCT_CHAINS; chain++) mmaTf32(c[chain], a, b);
  }
  float sum = 0;
  REVERIE_UNROLL
  for (int chain = 0; chain < PRODUCT_CHAINS; chain++) sum += c[chain][0] + c[chain][1] + c[chain][2] + c[chain][3];
  args.sums[static_cast<std::uint64_t>(block()) * threads() + thread()] = sum;
}
