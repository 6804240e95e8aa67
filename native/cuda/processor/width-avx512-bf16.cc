// Products of bfloat16 by AVX512_BF16. The Makefile has this file compiled for such processors where the compiler knows them.
#include "width.h"

#if defined(__AVX512BF16__)
#define REVERIE_WIDTH avx512bf16
#define REVERIE_LANES 16
#define REVERIE_BFLOAT16_PAIRS
#include "bfloat16-kernels.h"

namespace reverie::processor {

extern constexpr const Bfloat16Kernels* pairedBfloat16 = &avx512bf16::bfloat16Kernels;

}  // namespace reverie::processor
#else
namespace reverie::processor {

extern constexpr const Bfloat16Kernels* pairedBfloat16 = nullptr;

}  // namespace reverie::processor
#endif
