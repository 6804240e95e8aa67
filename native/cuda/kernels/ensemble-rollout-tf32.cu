// Whole rollouts in tf32, by width of the model's hidden layers; policies up to width 256.
#include "fused-net.cuh"
#include "rollout.cuh"

namespace reverie {

using Policy = FusedNet<Tf32, 32, 1, false>;

#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleRolloutTf32Width64Tiles1, RolloutArgs, 256, 1) { runRollout<FusedNet<Tf32, 8, 1, true>, Policy>(args); }
REVERIE_KERNEL(ensembleRolloutTf32Width128Tiles1, RolloutArgs, 256, 1) { runRollout<FusedNet<Tf32, 16, 1, true>, Policy>(args); }
REVERIE_KERNEL(ensembleRolloutTf32Width208Tiles1, RolloutArgs, 256, 1) { runRollout<FusedNet<Tf32, 26, 1, true>, Policy>(args); }
#endif
REVERIE_KERNEL(ensembleRolloutTf32Width256Tiles1, RolloutArgs, 256, 1) { runRollout<FusedNet<Tf32, 32, 1, true>, Policy>(args); }

}  // namespace reverie
