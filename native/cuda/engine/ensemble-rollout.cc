// A rollout: one launch for all its steps.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "policy-device.h"
#include "record-collector.h"

namespace reverie {
namespace {

/** Bytes of a piece of packed records: long enough to be copied at full speed. */
constexpr std::size_t PIECE_BYTES = std::size_t{16} << 20;

/** Of a device's memory, what one model may keep between rollouts: others may want to live there. */
constexpr std::size_t KEPT_SHARE = 8;

}  // namespace

void requireRunnable(const RolloutRequest& request, const EnsembleSpec& spec) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("this rollout cannot run on a device: " + why);
  };
  if (request.branches < 1 || request.branches >= std::int64_t{1} << 31) refuse("it needs 1 to 2^31 branches");
  if (request.horizon < 1) refuse("its horizon is not positive");
  if (request.deliverEvery < 0) refuse("deliverEvery is negative");
  if (request.policy == nullptr) refuse("it has no policy");
  if (const auto problem = problemOfPolicy(*request.policy, spec)) refuse("of its policy, " + *problem);
  for (const KnownEntry& entry : knownFunctions) {
    const bool isAsked = entry.function == (entry.isReward ? request.reward : request.ends);
    if (isAsked && (entry.obsDim != spec.obsDim || entry.actionDim != spec.actionDim))
      refuse(std::string("a known function of ") + entry.environment + " does not fit its rows");
  }
}

class RolloutRun {
 public:
  RolloutRun(DeviceEnsemble& ensemble, const RolloutRequest& request, RolloutAnswer& answer, const PackForm& policyForm)
      : ensemble_(ensemble),
        device_(ensemble.device_),
        request_(request),
        answer_(answer),
        memory_(ensemble.rolloutMemory_),
        policy_(device_, *request.policy, policyForm, ensemble.spec_.obsDim, request.isPolicyDeterministic) {
    args_.dynamics = ensemble.dynamicsOf(request.step);
    args_.hasLimit = std::isfinite(request.disagreementLimit);
    if (args_.hasLimit) args_.dynamics.withDisagreement = args_.dynamics.asksAll = true;
    args_.disagreementLimit = request.disagreementLimit;
    args_.dropsDoubted = request.dropsDoubted;
    args_.policy = policy_.args;
    args_.branches = static_cast<std::uint32_t>(request.branches);
    args_.horizon = request.horizon;
    args_.reward = request.reward;
    args_.ends = request.ends;
  }

  void run() {
    planMemory();
    sendState();
    launch();
    if (collector_) collector_->collect(stream(), answer_);
    readSums();
    collector_.reset();
    if (memory_.bytes() > device_.limits().memoryBytes / KEPT_SHARE) memory_ = RolloutMemory();
  }

 private:
  Stream stream() const { return ensemble_.lanes_.front()->stream(); }

  void planMemory() {
    const DynamicsArgs& dynamics = args_.dynamics;
    const PlanNeeds needs{request_.branches,
                          dynamics.asksAll ? dynamics.elites : 1,
                          dynamics.elites,
                          {&dynamics.network, &policy_.args.network},
                          true};
    plan_ = planLaunch(device_, ensemble_.form_, needs, ensemble_.height_);
    if (ensemble_.form_.isFused) {
      stages_ = cutIntoStages(args_.dynamics.network, plan_.shared.stageBytes);
      modelStages_ = stages_.size();
      const auto policyStages = cutIntoStages(args_.policy.network, plan_.shared.stageBytes);
      stages_.insert(stages_.end(), policyStages.begin(), policyStages.end());
    }
    const auto every = static_cast<std::uint32_t>(request_.deliverEvery);
    sizes_.branches = args_.branches;
    sizes_.delivered = every > 0 ? (args_.branches + every - 1) / every : 0;
    sizes_.obsDim = static_cast<std::size_t>(dynamics.obsDim);
    sizes_.actionDim = static_cast<std::size_t>(args_.policy.actionDim);
    sizes_.horizon = static_cast<std::size_t>(request_.horizon);
    sizes_.blocks = plan_.blocks;
    sizes_.elites = static_cast<std::size_t>(dynamics.elites);
    sizes_.segments = plan_.segments;
    sizes_.hasLogProb = !request_.isPolicyDeterministic;
    sizes_.hasDisagreement = dynamics.withDisagreement;
    places_ = placeState(sizes_, plan_.scratch.bytesPerBlock * plan_.blocks, stages_.size() * sizeof(StageArgs));
    if (memory_.state.bytes() < places_.end) memory_ = RolloutMemory();
    memory_.state.grow(device_, places_.end);
    ensemble_.makeLanes();
    planRecords(every);
  }

  void planRecords(std::uint32_t every) {
    if (sizes_.delivered == 0) return;
    const std::size_t rows = sizes_.delivered * sizes_.horizon, rowBytes = placeRecords(sizes_, 1024).end / 1024 + 1;
    if (rows >= 0xffffffff) throw OutOfMemory(rows * rowBytes);
    memory_.lengths.grow(device_, sizes_.delivered * 4);
    const RecordPlaces places = placeRecords(sizes_, rows);
    memory_.records.grow(device_, places.end);
    args_.record = recordsAt(memory_.records.as<char>(), places, sizes_);
    args_.record.deliverEvery = every;
    args_.record.steps = static_cast<std::uint32_t>(request_.horizon);
    args_.record.lengths = memory_.lengths.as<std::uint32_t>();
    const std::size_t held = ensemble_.lanes_[0]->device_side.bytes() + ensemble_.lanes_[1]->device_side.bytes();
    const std::size_t room = std::min(PIECE_BYTES, (device_.limits().freeBytes + held) / 8);
    const std::size_t pieceRows = std::clamp<std::size_t>(room / (rowBytes + 4), 1, rows);
    collector_ = std::make_unique<RecordCollector>(device_, ensemble_.lanes_, sizes_, args_.record, pieceRows);
  }

  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_.state.address() + offset);
  }

  void sendState() {
    const auto send = [&](std::size_t to, const void* from, std::size_t bytes) {
      if (bytes > 0) device_.upload(memory_.state.address() + to, from, bytes, stream());
    };
    send(places_.obs[0], request_.starts, sizes_.branches * sizes_.obsDim * 4);
    send(places_.actStreams, request_.actStreams, sizes_.horizon * sizeof(RandomStream));
    send(places_.modelStreams, request_.modelStreams, sizes_.horizon * sizeof(RandomStream));
    send(places_.stages, stages_.data(), stages_.size() * sizeof(StageArgs));
    device_.fillZero(memory_.state.address() + places_.alive, (sizes_.horizon + 1) * sizes_.blocks * 4, stream());
    device_.fillZero(memory_.state.address() + places_.sums, sizes_.blocks * sizeof(RolloutSums), stream());
    for (int i = 0; i < 2; i++) {
      args_.obs[i] = at<float>(places_.obs[i]);
      args_.living[i] = at<std::uint32_t>(places_.living[i]);
    }
    args_.action = at<float>(places_.action);
    args_.verdict = at<std::uint8_t>(places_.verdict);
    args_.alive = at<std::uint32_t>(places_.alive);
    args_.actStreams = at<const RandomStream>(places_.actStreams);
    args_.modelStreams = at<const RandomStream>(places_.modelStreams);
    args_.groups = {at<std::uint32_t>(places_.order), at<std::uint32_t>(places_.starts), plan_.segments};
    args_.sums = at<RolloutSums>(places_.sums);
    args_.barrier = at<unsigned>(places_.barrier);
    args_.dynamics.network.stages = at<const StageArgs>(places_.stages);
    args_.policy.network.stages = args_.dynamics.network.stages + modelStages_;
    args_.shared = plan_.shared;
    args_.scratch = plan_.scratch;
    args_.scratch.memory = at<char>(places_.scratch);
  }

  void launch() {
    device_.fillZero(memory_.state.address() + places_.barrier, 4, stream());
    if (sizes_.delivered > 0) device_.fillZero(memory_.lengths.address(), sizes_.delivered * 4, stream());
    device_.launch(launchOf(plan_.kernel.c_str(), plan_.blocks, plan_.threads, plan_.sharedBytes, args_, true), stream());
  }

  void readSums() {
    std::vector<RolloutSums> sums(sizes_.blocks);
    std::vector<std::uint32_t> alive((sizes_.horizon + 1) * sizes_.blocks);
    device_.download(sums.data(), memory_.state.address() + places_.sums, sums.size() * sizeof(RolloutSums), stream());
    device_.download(alive.data(), memory_.state.address() + places_.alive, alive.size() * 4, stream());
    device_.synchronize(stream());
    for (const RolloutSums& of : sums) {
      answer_.rewardSum += of.reward;
      answer_.rewardSquares += of.rewardSquares;
      answer_.terminatedRows += static_cast<std::int64_t>(of.terminated);
      answer_.outOfHorizon += static_cast<std::int64_t>(of.outOfHorizon);
      answer_.doubted += static_cast<std::int64_t>(of.doubted);
      answer_.nonFinite += static_cast<std::int64_t>(of.nonFinite);
    }
    for (std::size_t step = 0; step < sizes_.horizon; step++) {
      std::int64_t rows = step == 0 ? request_.branches : 0;
      for (std::size_t i = 0; step > 0 && i < sizes_.blocks; i++) rows += alive[step * sizes_.blocks + i];
      answer_.alive.push_back(rows);
      answer_.lived += rows;
    }
  }

  DeviceEnsemble& ensemble_;
  Device& device_;
  const RolloutRequest& request_;
  RolloutAnswer& answer_;
  RolloutMemory& memory_;
  DevicePolicy policy_;
  RolloutArgs args_{};
  RolloutSizes sizes_{};
  LaunchPlan plan_;
  StatePlaces places_{};
  std::vector<StageArgs> stages_;
  std::size_t modelStages_ = 0;
  std::unique_ptr<RecordCollector> collector_;
};

void DeviceEnsemble::rollout(const RolloutRequest& request, RolloutAnswer& answer) {
  requireRunnable(request, spec_);
  const std::lock_guard<std::mutex> turn(turn_);
  answer = RolloutAnswer{};
  if (const auto policyForm = policyFormOf(*request.policy, form_)) {
    RolloutRun(*this, request, answer, *policyForm).run();
    return;
  }
  if (!plain_) plain_ = std::make_unique<DeviceEnsemble>(device_, spec_, Precision::fp32, height_);
  plain_->rollout(request, answer);
}

}  // namespace reverie
