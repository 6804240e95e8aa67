// Kernels for AVX-512 F. The Makefile has this file compiled for such processors, whatever the machine.
#if defined(__AVX512F__)
#define REVERIE_WIDTH avx512
#define REVERIE_LANES 16
#include "training-kernels.h"

namespace reverie::processor {

extern constexpr Width avx512Width = avx512::table("avx512", avx512::trainingKernels);

}  // namespace reverie::processor
#endif
