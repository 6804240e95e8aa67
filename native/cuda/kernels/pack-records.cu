// Lays the kept rows of branches one after another, so that only they cross the bus. A warp takes a branch at a time.
#include "ensemble-args.h"
#include "lane.cuh"

namespace reverie {

template <class T>
REVERIE_DEVICE void copyRows(T* to, const T* from, std::uint32_t toRow, std::uint32_t fromRow, std::uint32_t rows,
                             int columns) {
  if (from == nullptr) return;
  const std::uint64_t source = static_cast<std::uint64_t>(fromRow) * static_cast<unsigned>(columns);
  const std::uint64_t target = static_cast<std::uint64_t>(toRow) * static_cast<unsigned>(columns);
  const std::uint32_t size = rows * static_cast<unsigned>(columns);
  for (std::uint32_t i = static_cast<unsigned>(laneOf()); i < size; i += 32) to[target + i] = from[source + i];
}

REVERIE_KERNEL(ensemblePackRecords, PackArgs, 256, 2) {
  const std::uint32_t warps = static_cast<unsigned>(blocks() * (threads() / 32));
  const std::uint32_t own = static_cast<unsigned>(block() * (threads() / 32) + warpOf());
  for (std::uint32_t i = own; i < args.count; i += warps) {
    const std::uint32_t rows = args.from.lengths[args.first + i] & ~DROPPED_BIT;
    const std::uint32_t from = (args.first + i) * args.from.steps, to = args.offsets[i];
    copyRows(args.to.obs, args.from.obs, to, from, rows, args.obsDim);
    copyRows(args.to.action, args.from.action, to, from, rows, args.actionDim);
    copyRows(args.to.nextObs, args.from.nextObs, to, from, rows, args.obsDim);
    copyRows(args.to.reward, args.from.reward, to, from, rows, 1);
    copyRows(args.to.logProb, args.from.logProb, to, from, rows, 1);
    copyRows(args.to.disagreement, args.from.disagreement, to, from, rows, 1);
    copyRows(args.to.verdict, args.from.verdict, to, from, rows, 1);
    copyRows(args.to.terminated, args.from.terminated, to, from, rows, 1);
  }
}

}  // namespace reverie
