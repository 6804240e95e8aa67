// Branched rollouts in one launch (Janner et al. 2019, 1906.08253, algorithm 2, as src/synth/rollout/chunk.ts lives a chunk):
// at each step every block lists and acts for its part of the living branches and sorts them by elite; then, after a barrier
// of all blocks, the tiles of the model are shared out; after another one the next step begins.
#pragma once

#include "dynamics-tiles.cuh"
#include "known.cuh"
#include "policy-tiles.cuh"

namespace reverie {

/** Judges the rows of a step and brings them to the next step, the record and the sums. */
struct RolloutLand {
  const RolloutArgs& args;
  int step;
  std::uint32_t rows;

  REVERIE_DEVICE std::uint32_t place(std::uint32_t rank) const { return args.living[step % 2][rank]; }
  REVERIE_DEVICE std::uint32_t slot(std::uint32_t place) const { return slotOf(args, place, step); }

  template <class Number>
  REVERIE_DEVICE void finish(Sampler<Number>& sampler, WarpRows& own) {
    const int obsDim = args.dynamics.obsDim;
    const float* obs = args.obs[step % 2];
    float* next = args.obs[(step + 1) % 2];
    sampler.sample(obs, [&](int row, int column, float before, float after) {
      next[startOf(own.place[row], obsDim) + static_cast<unsigned>(column)] = after;
      if (own.slot[row] == NO_SLOT) return;
      args.record.obs[startOf(own.slot[row], obsDim) + static_cast<unsigned>(column)] = before;
      args.record.nextObs[startOf(own.slot[row], obsDim) + static_cast<unsigned>(column)] = after;
    });
    syncWarp();
    Outcome outcome{};
    const int row = laneOf();
    if (row < own.count) {
      outcome = outcomeOf(sampler, own, row, obs, next);
      keep(own, row, outcome);
    }
    addUp(own, row < own.count, outcome);
  }

 private:
  struct Outcome {
    float reward, disagreement;
    bool isEnd, isFinite;
    Verdict verdict;
  };

  template <class Number>
  REVERIE_DEVICE Outcome outcomeOf(Sampler<Number>& sampler, const WarpRows& own, int row, const float* obs,
                                   const float* next) const {
    const DynamicsArgs& dynamics = args.dynamics;
    const std::uint64_t at = startOf(own.place[row], dynamics.obsDim);
    Outcome outcome{};
    outcome.reward = own.reward[row];
    if (!dynamics.learnsReward) {
      outcome.reward = knownReward<Exact>(args.reward, obs + at, args.action + startOf(own.place[row], dynamics.actionDim), next + at);
    }
    outcome.isEnd = dynamics.learnsTermination ? sampler.isEnd(row) : knownEnd(args.ends, next + at);
    outcome.isFinite = own.isNonFinite[row] == 0 && isFinite(outcome.reward);
    if (dynamics.withDisagreement) outcome.disagreement = sampler.disagreement(row);
    outcome.verdict = verdictOf(outcome);
    return outcome;
  }

  /** Doubt goes first: where the model is not believed, neither is the end it tells. */
  REVERIE_DEVICE Verdict verdictOf(const Outcome& outcome) const {
    if (args.hasLimit && !(outcome.disagreement <= args.disagreementLimit)) {
      return args.dropsDoubted ? Verdict::dropped : Verdict::doubted;
    }
    if (outcome.isEnd) return Verdict::terminated;
    return step + 1 == args.horizon ? Verdict::outOfHorizon : Verdict::goesOn;
  }

  REVERIE_DEVICE void keep(const WarpRows& own, int row, const Outcome& outcome) const {
    const std::uint32_t rank = own.rank[row], slot = own.slot[row];
    args.verdict[rank] = static_cast<std::uint8_t>(outcome.verdict);
    if (outcome.verdict == Verdict::goesOn) {
      const std::uint32_t part = rank / segmentRows(rows, static_cast<unsigned>(blocks()));
      addAtomic(args.alive + static_cast<std::int64_t>(step + 1) * blocks() + part, 1u);
    }
    if (slot == NO_SLOT) return;
    const RecordArgs& record = args.record;
    const std::uint32_t steps = static_cast<std::uint32_t>(step);
    const bool isDropped = outcome.verdict == Verdict::dropped;
    record.lengths[own.place[row] / record.deliverEvery] = isDropped ? steps | DROPPED_BIT : steps + 1;
    record.reward[slot] = outcome.reward;
    record.verdict[slot] = static_cast<std::uint8_t>(outcome.verdict);
    record.terminated[slot] = outcome.isEnd ? 1 : 0;
    if (record.disagreement != nullptr) record.disagreement[slot] = outcome.disagreement;
  }

  /** Always in the same order, so that sums are the same however threads take their turns. */
  REVERIE_DEVICE void addUp(WarpRows& own, bool isRow, const Outcome& outcome) const {
    const bool isKept = isRow && outcome.verdict != Verdict::dropped;
    double reward = isKept ? static_cast<double>(outcome.reward) : 0.0;
    double squares = reward * reward;
    REVERIE_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) {
      reward += shuffleXor(reward, mask);
      squares += shuffleXor(squares, mask);
    }
    const auto count = [&](Verdict verdict) {
      return static_cast<std::uint32_t>(countBits(ballot(isRow && outcome.verdict == verdict)));
    };
    const std::uint32_t terminated = count(Verdict::terminated), outOfHorizon = count(Verdict::outOfHorizon);
    const std::uint32_t doubted = count(Verdict::doubted) + count(Verdict::dropped);
    const std::uint32_t nonFinite = static_cast<std::uint32_t>(countBits(ballot(isRow && !outcome.isFinite)));
    if (laneOf() != 0) return;
    own.sums.reward += reward;
    own.sums.rewardSquares += squares;
    own.sums.terminated += terminated;
    own.sums.outOfHorizon += outOfHorizon;
    own.sums.doubted += doubted;
    own.sums.nonFinite += nonFinite;
  }
};

/** Adds the warps' sums to the block's. */
REVERIE_DEVICE void addSums(const WarpRows* warps, int count, RolloutSums& to) {
  for (int warp = 0; warp < count; warp++) {
    const WarpSums& sums = warps[warp].sums;
    to.reward += sums.reward;
    to.rewardSquares += sums.rewardSquares;
    to.terminated += sums.terminated;
    to.outOfHorizon += sums.outOfHorizon;
    to.doubted += sums.doubted;
    to.nonFinite += sums.nonFinite;
  }
}

template <class PolicyNet>
REVERIE_DEVICE void actAndSort(const RolloutArgs& args, int step, std::uint32_t rows, const StepNoise& noise) {
  PolicyNet net(args.shared, args.scratch);
  const int tileRows = threads() / 32 * PolicyNet::warpRows;
  PolicyTiles tiles(args, step, partOf(rows, block(), blocks()), tileRows);
  runTiles(net, args.policy.network, tiles);
  if (args.dynamics.asksAll) return;
  const auto placeOf = [](std::uint32_t rank) { return rank; };
  syncBlock();
  SegmentSort<decltype(placeOf)> sort(args.groups, noise, rows, args.dynamics.elites, placeOf,
                                      reinterpret_cast<std::uint32_t*>(sharedMemory() + args.shared.ring));
  sort.run(static_cast<std::uint32_t>(block()));
}

template <class Net>
REVERIE_DEVICE void predict(const RolloutArgs& args, int step, std::uint32_t rows, const StepNoise& noise) {
  Net net(args.shared, args.scratch);
  GroupTable table = tableOf(args.groups, args.dynamics, args.scratch);
  const int tileRows = threads() / 32 * Net::warpRows;
  if (!args.dynamics.asksAll) table.build(tileRows);
  RolloutLand land{args, step, rows};
  DynamicsTiles<typename Net::Number, RolloutLand> tiles(args.dynamics, table, noise, rows, tileRows, args.obs[step % 2],
                                                         args.action, land);
  runTiles(net, args.dynamics.network, tiles);
}

template <class Net, class PolicyNet>
REVERIE_DEVICE void runRollout(const RolloutArgs& args) {
  WarpRows* warps = reinterpret_cast<WarpRows*>(sharedMemory() + args.shared.warpRows);
  if (laneOf() == 0) warps[warpOf()].sums = WarpSums{};
  const Living living(args, tilesBeforeOf());
  std::uint32_t before = 0;
  for (int step = 0; step < args.horizon; step++) {
    const std::uint32_t rows = living.rowsOf(step);
    if (rows == 0) break;
    const StepNoise noise{args.modelStreams[step], nullptr, 0, rows};
    living.list(step, rows, before);
    actAndSort<PolicyNet>(args, step, rows, noise);
    syncGrid(args.barrier);
    predict<Net>(args, step, rows, noise);
    before = rows;
    if (step + 1 < args.horizon) syncGrid(args.barrier);
  }
  syncBlock();
  if (thread() == 0) addSums(warps, threads() / 32, args.sums[block()]);
}

}  // namespace reverie
