// One step of the ensemble for rows that the host gave.
#pragma once

#include "dynamics-tiles.cuh"

namespace reverie {

/** Brings a step's predictions to where the host asked for them. */
struct StepLand {
  const StepArgs& args;

  REVERIE_DEVICE std::uint32_t place(std::uint32_t rank) const { return rank; }
  REVERIE_DEVICE std::uint32_t slot(std::uint32_t) const { return NO_SLOT; }

  template <class Number>
  REVERIE_DEVICE void finish(Sampler<Number>& sampler, WarpRows& rows) {
    const int obsDim = args.dynamics.obsDim;
    sampler.sample(args.obs, [&](int row, int column, float, float after) {
      args.out.nextObs[static_cast<std::uint64_t>(rows.place[row]) * static_cast<unsigned>(obsDim) + column] = after;
    });
    syncWarp();
    if (laneOf() >= rows.count) return;
    const std::uint32_t place = rows.place[laneOf()];
    if (args.dynamics.learnsReward) args.out.reward[place] = rows.reward[laneOf()];
    if (args.dynamics.learnsTermination) args.out.terminated[place] = sampler.isEnd(laneOf()) ? 1 : 0;
    if (args.dynamics.withDisagreement) args.out.disagreement[place] = sampler.disagreement(laneOf());
  }
};

template <class Net>
REVERIE_DEVICE void runStep(const StepArgs& args) {
  Net net(args.shared, args.scratch);
  GroupTable table = tableOf(args.groups, args.dynamics, args.scratch);
  const int tileRows = threads() / 32 * Net::warpRows;
  if (!args.dynamics.asksAll) table.build(tileRows);
  const StepNoise noise{args.stream, args.streams, args.firstRank, args.batchRows};
  StepLand land{args};
  DynamicsTiles<typename Net::Number, StepLand> tiles(args.dynamics, table, noise, args.rows, tileRows, args.obs, args.action,
                                                      land);
  runTiles(net, args.dynamics.network, tiles);
}

}  // namespace reverie
