// The kernel that the driver is tried with: multiplies numbers, from shared memory, block by block or all blocks together.

#include "../../kernels/lane.cuh"

namespace reverie {

struct ScaleArgs {
  float* values;
  int count;
  float factor;
  unsigned* barrier;
};

REVERIE_KERNEL(test_scale, ScaleArgs, 64, 1) {
  auto* shared = reinterpret_cast<float*>(sharedMemory());
  for (int i = block() * threads() + thread(); i < args.count; i += blocks() * threads()) {
    shared[thread()] = args.values[i];
    args.values[i] = shared[thread()] * args.factor;
  }
  if (args.barrier != nullptr) syncGrid(args.barrier);
}

}  // namespace reverie
