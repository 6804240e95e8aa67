// One step of the ensemble in tf32, by width of the hidden layers.
#include "fused-net.cuh"
#include "step.cuh"

namespace reverie {

REVERIE_KERNEL(ensembleStepTf32Width64, StepArgs, 256, 2) { runStep<FusedNet<8, true>>(args); }
#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleStepTf32Width128, StepArgs, 256, 1) { runStep<FusedNet<16, true>>(args); }
REVERIE_KERNEL(ensembleStepTf32Width208, StepArgs, 256, 1) { runStep<FusedNet<26, true>>(args); }
REVERIE_KERNEL(ensembleStepTf32Width256, StepArgs, 256, 1) { runStep<FusedNet<32, true>>(args); }
#endif

}  // namespace reverie
