// One step of the ensemble in tf32, by width of the hidden layers.
#include "fused-net.cuh"
#include "step.cuh"

namespace reverie {

REVERIE_KERNEL(ensembleStepTf32Width64Tiles1, StepArgs, 256, 2) { runStep<FusedNet<Tf32, 8, 1, true>>(args); }
#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleStepTf32Width128Tiles1, StepArgs, 256, 1) { runStep<FusedNet<Tf32, 16, 1, true>>(args); }
REVERIE_KERNEL(ensembleStepTf32Width208Tiles1, StepArgs, 256, 1) { runStep<FusedNet<Tf32, 26, 1, true>>(args); }
#endif
REVERIE_KERNEL(ensembleStepTf32Width256Tiles1, StepArgs, 256, 1) { runStep<FusedNet<Tf32, 32, 1, true>>(args); }

}  // namespace reverie
