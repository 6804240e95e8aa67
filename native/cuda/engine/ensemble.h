// A probabilistic ensemble on a device: its elites' weights stay there, steps and whole branched rollouts run there.
// What is computed is src/worldmodel/ensemble's propagation and src/synth/rollout/chunk.ts, with the same random words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../kernels/kinds.h"
#include "../kernels/known.h"
#include "../kernels/random-stream.h"
#include "column.h"
#include "device.h"

namespace reverie {

enum class Precision { fp32, tf32 };

/** One fully connected layer: w [in, out] row-major, b [out]. */
struct Layer {
  int in, out;
  std::vector<float> w, b;
};

/**
 * One elite in normalised units: hidden layers with swish, then a head of outputs [mean | bounded log-variance | logit of the
 * end]. Bounds of the log-variance: PETS, 1805.12114, appendix A.1.
 */
struct Member {
  std::vector<Layer> layers;
  std::vector<float> logVarMin, logVarMax;
};

struct EnsembleSpec {
  int obsDim;
  /** Columns of an action as given: those of a box, 1 for a discrete one, which the network sees one-hot. */
  int actionDim;
  /** 0 for a box. */
  int actionChoices = 0;
  int actionStart = 0;
  bool learnsReward;
  bool learnsTermination;
  /** Best first; all of one shape. */
  std::vector<Member> elites;
  /** Of the network's input [obsDim + action columns or choices] and of its targets [obsDim + (learnsReward ? 1 : 0)]. */
  std::vector<float> inputMean, inputScale, targetMean, targetScale;
  /** Bounds that next observations are clipped to, infinite where there are none: [obsDim]. */
  std::vector<float> low, high;

  int inputDim() const { return obsDim + (actionChoices > 0 ? actionChoices : actionDim); }
  int outputDim() const { return obsDim + (learnsReward ? 1 : 0); }
};

struct StepOptions {
  /** One random elite a row; else the elites' mean. */
  bool isTs1 = true;
  bool isDeterministic = false;
  bool withDisagreement = false;
};

/**
 * Rows to step, host memory. One stream for the batch (words: elites [rows], normals [rows, outputDim], ends [rows], as
 * src/worldmodel/ensemble/step-noise.ts draws them), or one a row, each used as if the row were alone.
 */
struct StepRequest {
  std::int64_t rows;
  const float* obs;
  const float* action;
  const RandomStream* streams;
  bool hasStreamPerRow;
  StepOptions options;
};

/** Filled by `step`, host memory; null where not wanted (reward and terminated only where learned). */
struct StepAnswer {
  float* nextObs;
  float* reward;
  std::uint8_t* terminated;
  float* disagreement;
};

/** src/rl/policy-net.ts: `layers` is the trunk; `logStd` of a gaussian head only. */
struct PolicySpec {
  PolicyHead head;
  Activation activation;
  std::vector<Layer> layers;
  std::vector<float> logStd, scale, bias, low, high;
  int choices = 0;
  int start = 0;
};

struct RolloutRequest {
  std::int64_t branches;
  /** [branches, obsDim] */
  const float* starts;
  int horizon;
  const PolicySpec* policy;
  bool isPolicyDeterministic = false;
  StepOptions step;
  /** Branches end where disagreement is above; infinite for no limit. */
  float disagreementLimit;
  bool dropsDoubted = false;
  /** Streams of the policy's and of the model's noise at each step: [horizon] each. */
  const RandomStream* actStreams;
  const RandomStream* modelStreams;
  /** Of kernels/known.h, where reward or end is not learned; `none`: the reward is 0, nothing ends. */
  KnownFunction reward = KnownFunction::none;
  KnownFunction ends = KnownFunction::none;
  /** Of the rows lived, one in so many branches is brought to the host (all: 1; none: 0); statistics are always over all. */
  int deliverEvery = 1;
};

/**
 * Rows branch after branch, in the order of starts, each branch's steps in order. Host memory, owned here.
 * A row that is dropped is not here; the row before it, which did not end the branch itself, carries `dropped` then.
 */
struct RolloutAnswer {
  std::int64_t rows = 0;
  /** `logProb` is empty for a deterministic policy, `disagreement` where it was not asked for. */
  Column<float> obs, action, reward, nextObs, logProb, disagreement;
  /** What became of the branch, and whether the model said that the task ended (a doubted row may say so too). */
  Column<std::uint8_t> verdict, terminated;
  Column<std::uint32_t> branch, step;
  /** Over all rows lived, delivered or not; `doubted` counts dropped rows too, the sums of the reward leave them out. */
  std::int64_t lived = 0, terminatedRows = 0, outOfHorizon = 0, doubted = 0, nonFinite = 0;
  double rewardSum = 0, rewardSquares = 0;
  /** Living branches at each step. */
  std::vector<std::int64_t> alive;
};

/**
 * Rows a block takes at once through the fused kernels: `warps` (2, 4 or 8) times 16. Results do not depend on it; chosen by a
 * model of the time where it is left out.
 */
struct TileHeight {
  int warps;
};

class Ensemble {
 public:
  virtual ~Ensemble() = default;
  /** Blocks until done; call it off the event loop. Splits a batch that does not fit. Throws DeviceError. */
  virtual void step(const StepRequest& request, const StepAnswer& answer) = 0;
  virtual void rollout(const RolloutRequest& request, RolloutAnswer& answer) = 0;
  /** Bytes of device memory held. */
  virtual std::size_t bytes() const = 0;
};

/** Why this ensemble cannot run on a device; nothing where it can. */
std::optional<std::string> unsupported(const EnsembleSpec& spec);

/** Throws std::invalid_argument for a rollout that this ensemble cannot live, whatever runs it. */
void requireRunnable(const RolloutRequest& request, const EnsembleSpec& spec);

/** What products are computed in where `asked` is: fp32 for layers wider than tensor cores are used for. */
Precision precisionFor(const EnsembleSpec& spec, Precision asked);

/** Uploads the weights. The device must outlive it. Throws DeviceError, std::invalid_argument for what `unsupported` names. */
std::unique_ptr<Ensemble> makeEnsemble(Device& device, const EnsembleSpec& spec, Precision precision,
                                       std::optional<TileHeight> height = std::nullopt);

}  // namespace reverie
