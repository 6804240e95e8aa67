// One step of many rows: pieces of the batch pass through two lanes, so that one is copied while the other is computed.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "ensemble-device.h"

namespace reverie {
namespace {

/** Rows of a piece: whole rounds of tiles of all multiprocessors, long enough to hide a copy. */
std::int64_t pieceRows(int multiprocessors) { return std::int64_t{multiprocessors} * 256 * 4; }

}  // namespace

/** The pieces of one call. */
class StepRun {
 public:
  StepRun(DeviceEnsemble& ensemble, const StepRequest& request, const StepAnswer& answer)
      : ensemble_(ensemble),
        device_(ensemble.device_),
        request_(request),
        answer_(answer),
        dynamics_(ensemble.dynamicsOf(request.options)) {}

  void run() {
    std::int64_t rows = std::min(request_.rows, pieceRows(ensemble_.multiprocessors_));
    for (;; rows = (rows + 1) / 2) {
      try {
        prepare(rows);
        break;
      } catch (const OutOfMemory&) {
        ensemble_.releaseLanes();
        ensemble_.stepPlan_ = StepPlan();
        ensemble_.rolloutMemory_ = RolloutMemory();
        if (rows == 1) throw;
      }
    }
    eachPiece();
  }

 private:
  /** Places in a lane's memory, from its start; the first ones come from the host, the middle ones go back to it. */
  struct Places {
    std::size_t obs, action, streams, answers, nextObs, reward, terminated, disagreement, order, starts, scratch, end;
  };

  void prepare(std::int64_t rows) {
    rows_ = rows;
    plan(rows);
    place(static_cast<std::size_t>(rows));
    ensemble_.makeLanes();
    const std::size_t lanes = rows < request_.rows ? 2 : 1;
    for (std::size_t i = 0; i < lanes; i++) ensemble_.lanes_[i]->grow(places_.end, places_.order);
  }

  void plan(std::int64_t rows) {
    StepPlan& plan = ensemble_.stepPlan_;
    const int passes = dynamics_.asksAll ? dynamics_.elites : 1;
    if (plan.rows != rows || plan.passes != passes) {
      const PlanNeeds needs{rows, passes, dynamics_.elites, {&dynamics_.network}, false};
      plan.launch = planLaunch(device_, ensemble_.form_, needs, ensemble_.height_);
      plan.network = dynamics_.network;
      if (ensemble_.form_.isFused) {
        const auto stages = cutIntoStages(plan.network, plan.launch.shared.stageBytes);
        plan.stages = placeBytes(device_, stages.data(), stages.size() * sizeof(StageArgs));
        plan.network.stages = plan.stages.as<const StageArgs>();
      }
      plan.rows = rows;
      plan.passes = passes;
    }
    plan_ = plan.launch;
    dynamics_.network = plan.network;
  }

  void place(std::size_t rows) {
    Parts parts;
    const auto outputs = static_cast<std::size_t>(dynamics_.obsDim);
    places_.obs = parts.take(rows * outputs * 4);
    places_.action = parts.take(rows * static_cast<std::size_t>(dynamics_.actionDim) * 4);
    places_.streams = parts.take(request_.hasStreamPerRow ? rows * sizeof(RandomStream) : 0);
    places_.answers = parts.end();
    places_.nextObs = parts.take(rows * outputs * 4);
    places_.reward = parts.take(dynamics_.learnsReward ? rows * 4 : 0);
    places_.terminated = parts.take(dynamics_.learnsTermination ? rows : 0);
    places_.disagreement = parts.take(dynamics_.withDisagreement ? rows * 4 : 0);
    places_.order = parts.take(dynamics_.asksAll ? 0 : rows * 4);
    places_.starts = parts.take(static_cast<std::size_t>(plan_.segments) * static_cast<std::size_t>(dynamics_.elites + 1) * 4);
    places_.scratch = parts.take(plan_.scratch.bytesPerBlock * plan_.blocks);
    places_.end = parts.end();
  }

  void eachPiece() {
    struct Piece {
      std::int64_t first = 0, rows = 0;
    };
    Piece pieces[2];
    int turn = 0;
    for (std::int64_t first = 0; first < request_.rows; first += rows_, turn ^= 1) {
      Lane& lane = *ensemble_.lanes_[static_cast<std::size_t>(turn)];
      collect(lane, pieces[turn].first, pieces[turn].rows);
      pieces[turn] = {first, std::min(rows_, request_.rows - first)};
      start(lane, pieces[turn].first, pieces[turn].rows);
    }
    for (int i = 0; i < 2; i++, turn ^= 1)
      collect(*ensemble_.lanes_[static_cast<std::size_t>(turn)], pieces[turn].first, pieces[turn].rows);
  }

  void start(Lane& lane, std::int64_t first, std::int64_t rows) {
    const auto count = static_cast<std::size_t>(rows), from = static_cast<std::size_t>(first);
    const auto obsDim = static_cast<std::size_t>(dynamics_.obsDim), actionDim = static_cast<std::size_t>(dynamics_.actionDim);
    std::memcpy(lane.pinned.at(places_.obs), request_.obs + from * obsDim, count * obsDim * 4);
    if (actionDim > 0) std::memcpy(lane.pinned.at(places_.action), request_.action + from * actionDim, count * actionDim * 4);
    if (request_.hasStreamPerRow)
      std::memcpy(lane.pinned.at(places_.streams), request_.streams + from, count * sizeof(RandomStream));
    const Address base = lane.device_side.address();
    device_.upload(base, lane.pinned.at(0), places_.answers, lane.stream());
    StepArgs args = argsOf(base, first, rows);
    if (!dynamics_.asksAll) {
      const GroupStepArgs sort{args.groups,    args.rows,   static_cast<std::uint32_t>(dynamics_.elites),
                               args.firstRank, args.stream, args.streams};
      device_.launch(launchOf("ensembleGroupRows", args.groups.segments, 256, SORT_SHARED, sort), lane.stream());
    }
    device_.launch(launchOf(plan_.kernel.c_str(), plan_.blocks, plan_.threads, plan_.sharedBytes, args), lane.stream());
    device_.download(lane.pinned.at(places_.answers), base + places_.answers, places_.order - places_.answers, lane.stream());
  }

  StepArgs argsOf(Address base, std::int64_t first, std::int64_t rows) const {
    const auto at = [&](std::size_t offset) { return reinterpret_cast<void*>(base + offset); };
    StepArgs args{};
    args.dynamics = dynamics_;
    args.shared = plan_.shared;
    args.scratch = plan_.scratch;
    args.scratch.memory = static_cast<char*>(at(places_.scratch));
    const auto segments = std::min<std::uint32_t>(plan_.segments, static_cast<std::uint32_t>((rows + 255) / 256));
    args.groups = {static_cast<std::uint32_t*>(at(places_.order)), static_cast<std::uint32_t*>(at(places_.starts)), segments};
    args.rows = static_cast<std::uint32_t>(rows);
    args.firstRank = static_cast<std::uint64_t>(first);
    args.batchRows = static_cast<std::uint64_t>(request_.rows);
    if (request_.hasStreamPerRow) args.streams = static_cast<const RandomStream*>(at(places_.streams));
    if (!request_.hasStreamPerRow && request_.streams != nullptr) args.stream = *request_.streams;
    args.obs = static_cast<const float*>(at(places_.obs));
    args.action = static_cast<const float*>(at(places_.action));
    args.out = {static_cast<float*>(at(places_.nextObs)), static_cast<float*>(at(places_.reward)),
                static_cast<std::uint8_t*>(at(places_.terminated)), static_cast<float*>(at(places_.disagreement))};
    return args;
  }

  void collect(Lane& lane, std::int64_t first, std::int64_t rows) {
    if (rows == 0) return;
    device_.synchronize(lane.stream());
    const auto count = static_cast<std::size_t>(rows), at = static_cast<std::size_t>(first);
    const auto obsDim = static_cast<std::size_t>(dynamics_.obsDim);
    std::memcpy(answer_.nextObs + at * obsDim, lane.pinned.at(places_.nextObs), count * obsDim * 4);
    if (dynamics_.learnsReward && answer_.reward != nullptr)
      std::memcpy(answer_.reward + at, lane.pinned.at(places_.reward), count * 4);
    if (dynamics_.learnsTermination && answer_.terminated != nullptr)
      std::memcpy(answer_.terminated + at, lane.pinned.at(places_.terminated), count);
    if (dynamics_.withDisagreement && answer_.disagreement != nullptr)
      std::memcpy(answer_.disagreement + at, lane.pinned.at(places_.disagreement), count * 4);
  }

  static constexpr std::size_t SORT_SHARED = 4096;

  DeviceEnsemble& ensemble_;
  Device& device_;
  const StepRequest& request_;
  const StepAnswer& answer_;
  DynamicsArgs dynamics_;
  LaunchPlan plan_;
  Places places_{};
  std::int64_t rows_ = 0;
};

void DeviceEnsemble::step(const StepRequest& request, const StepAnswer& answer) {
  if (request.rows < 0) throw std::invalid_argument("a step has no negative number of rows");
  const std::lock_guard<std::mutex> turn(turn_);
  if (request.rows > 0) StepRun(*this, request, answer).run();
}

}  // namespace reverie
