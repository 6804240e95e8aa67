// Sorts the rows of a step by elite, one segment a block.
#include "groups.cuh"

namespace reverie {

REVERIE_KERNEL(ensembleGroupRows, GroupStepArgs, 256, 1) {
  const StepNoise noise{args.stream, args.streams, args.firstRank, 0};
  const auto placeOf = [](std::uint32_t rank) { return rank; };
  SegmentSort<decltype(placeOf)> sort(args.groups, noise, args.rows, args.elites, placeOf,
                                      reinterpret_cast<std::uint32_t*>(sharedMemory()));
  sort.run(static_cast<std::uint32_t>(block()));
}

}  // namespace reverie
