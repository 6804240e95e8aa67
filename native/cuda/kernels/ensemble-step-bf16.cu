// One step of the ensemble in bfloat16, by width of the hidden layers and tiles of 16 rows a warp.
#include "fused-net.cuh"
#include "step.cuh"

namespace reverie {

REVERIE_KERNEL(ensembleStepBf16Width64Tiles1, StepArgs, 256, 2) { runStep<FusedNet<Bf16, 4, 1, true>>(args); }
REVERIE_KERNEL(ensembleStepBf16Width64Tiles2, StepArgs, 256, 2) { runStep<FusedNet<Bf16, 4, 2, true>>(args); }
#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleStepBf16Width128Tiles1, StepArgs, 256, 2) { runStep<FusedNet<Bf16, 8, 1, true>>(args); }
REVERIE_KERNEL(ensembleStepBf16Width128Tiles2, StepArgs, 256, 1) { runStep<FusedNet<Bf16, 8, 2, true>>(args); }
REVERIE_KERNEL(ensembleStepBf16Width208Tiles1, StepArgs, 256, 2) { runStep<FusedNet<Bf16, 13, 1, true>>(args); }
REVERIE_KERNEL(ensembleStepBf16Width208Tiles2, StepArgs, 256, 1) { runStep<FusedNet<Bf16, 13, 2, true>>(args); }
#endif
REVERIE_KERNEL(ensembleStepBf16Width256Tiles1, StepArgs, 256, 1) { runStep<FusedNet<Bf16, 16, 1, true>>(args); }
REVERIE_KERNEL(ensembleStepBf16Width256Tiles2, StepArgs, 256, 1) { runStep<FusedNet<Bf16, 16, 2, true>>(args); }

}  // namespace reverie
