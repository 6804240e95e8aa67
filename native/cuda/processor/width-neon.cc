// Kernels for NEON, which every 64-bit ARM processor has.
#if defined(__aarch64__)
#define REVERIE_WIDTH neon
#define REVERIE_LANES 4
#include "training-kernels.h"

namespace reverie::processor {

extern constexpr Width neonWidth = neon::table("neon", neon::trainingKernels);

}  // namespace reverie::processor
#endif
