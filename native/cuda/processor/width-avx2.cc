// Kernels for AVX2 with FMA. The Makefile has this file compiled for such processors, whatever the machine.
#if defined(__AVX2__) && defined(__FMA__)
#define REVERIE_WIDTH avx2
#define REVERIE_LANES 8
#include "training-kernels.h"

namespace reverie::processor {

extern constexpr Width avx2Width = avx2::table("avx2", avx2::trainingKernels);

}  // namespace reverie::processor
#endif
