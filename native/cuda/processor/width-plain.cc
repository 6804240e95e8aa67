// Kernels in plain C++: four lanes, and the multiply-add of the C library where the processor has none.
#define REVERIE_PLAIN
#define REVERIE_WIDTH plain
#define REVERIE_LANES 4
#include "training-kernels.h"

namespace reverie::processor {

extern constexpr Width plainWidth = plain::table("plain", plain::trainingKernels);

}  // namespace reverie::processor
