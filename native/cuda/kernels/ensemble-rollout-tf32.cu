// Whole rollouts in tf32, by width of the model's hidden layers; policies up to width 256.
#include "fused-net.cuh"
#include "rollout.cuh"

namespace reverie {

using Policy = FusedNet<32, false>;

#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleRolloutTf32Width64, RolloutArgs, 256, 1) { runRollout<FusedNet<8, true>, Policy>(args); }
REVERIE_KERNEL(ensembleRolloutTf32Width128, RolloutArgs, 256, 1) { runRollout<FusedNet<16, true>, Policy>(args); }
REVERIE_KERNEL(ensembleRolloutTf32Width208, RolloutArgs, 256, 1) { runRollout<FusedNet<26, true>, Policy>(args); }
#endif
REVERIE_KERNEL(ensembleRolloutTf32Width256, RolloutArgs, 256, 1) { runRollout<FusedNet<32, true>, Policy>(args); }

}  // namespace reverie
