// Whole rollouts in bfloat16, by width of the model's hidden layers and tiles of 16 rows a warp; policies up to width 256.
#include "fused-net.cuh"
#include "rollout.cuh"

namespace reverie {

using Policy1 = FusedNet<Bf16, 16, 1, false>;
using Policy2 = FusedNet<Bf16, 16, 2, false>;

#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleRolloutBf16Width64Tiles1, RolloutArgs, 256, 1) { runRollout<FusedNet<Bf16, 4, 1, true>, Policy1>(args); }
REVERIE_KERNEL(ensembleRolloutBf16Width64Tiles2, RolloutArgs, 256, 1) { runRollout<FusedNet<Bf16, 4, 2, true>, Policy2>(args); }
REVERIE_KERNEL(ensembleRolloutBf16Width128Tiles1, RolloutArgs, 256, 2) { runRollout<FusedNet<Bf16, 8, 1, true>, Policy1>(args); }
REVERIE_KERNEL(ensembleRolloutBf16Width128Tiles2, RolloutArgs, 256, 1) { runRollout<FusedNet<Bf16, 8, 2, true>, Policy2>(args); }
REVERIE_KERNEL(ensembleRolloutBf16Width208Tiles1, RolloutArgs, 256, 2) { runRollout<FusedNet<Bf16, 13, 1, true>, Policy1>(args); }
REVERIE_KERNEL(ensembleRolloutBf16Width208Tiles2, RolloutArgs, 256, 1) { runRollout<FusedNet<Bf16, 13, 2, true>, Policy2>(args); }
#endif
REVERIE_KERNEL(ensembleRolloutBf16Width256Tiles1, RolloutArgs, 256, 1) { runRollout<FusedNet<Bf16, 16, 1, true>, Policy1>(args); }
REVERIE_KERNEL(ensembleRolloutBf16Width256Tiles2, RolloutArgs, 256, 1) { runRollout<FusedNet<Bf16, 16, 2, true>, Policy2>(args); }

}  // namespace reverie
