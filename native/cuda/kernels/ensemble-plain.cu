// The ensemble in float, networks of any width.
#include "plain-net.cuh"
#include "rollout.cuh"
#include "step.cuh"

namespace reverie {

#ifndef REVERIE_WIDEST_ALONE
REVERIE_KERNEL(ensembleStepPlain, StepArgs, PLAIN_THREADS, 1) { runStep<PlainNet>(args); }
#endif
REVERIE_KERNEL(ensembleRolloutPlain, RolloutArgs, PLAIN_THREADS, 1) { runRollout<PlainNet, PlainNet>(args); }

}  // namespace reverie
