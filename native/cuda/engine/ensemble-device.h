// An ensemble whose weights are on a device, and what its step and its rollout share.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ensemble-plan.h"
#include "ensemble.h"
#include "staging.h"

namespace reverie {

/** Networks on a device. */
struct PlacedNetworks {
  Buffer weights;
  NetworkArgs args;
};

/** Uploads and waits. */
Buffer placeBytes(Device& device, const void* bytes, std::size_t size);
PlacedNetworks placeNetworks(Device& device, const PackedNetworks& packed);

/** How steps of some number of rows are launched; kept, as planning takes longer than a small step. */
struct StepPlan {
  std::int64_t rows = 0;
  int passes = 0;
  LaunchPlan launch;
  NetworkArgs network;
  Buffer stages;
};

/** Memory of a rollout, kept for the next one as far as it is little: what is allocated anew takes longer than it is used. */
struct RolloutMemory {
  Buffer state, lengths, records;
  std::size_t bytes() const { return state.bytes() + lengths.bytes() + records.bytes(); }
};

class DeviceEnsemble final : public Ensemble {
 public:
  DeviceEnsemble(Device& device, const EnsembleSpec& spec, Precision precision, std::optional<TileHeight> height);

  void step(const StepRequest& request, const StepAnswer& answer) override;
  void rollout(const RolloutRequest& request, RolloutAnswer& answer) override;
  std::size_t bytes() const override;

 private:
  friend class StepRun;
  friend class RolloutRun;

  /** The ensemble as kernels see it, with what a step asks for. */
  DynamicsArgs dynamicsOf(const StepOptions& options) const;
  void placeConstants(const EnsembleSpec& spec);
  void makeLanes();
  void releaseLanes();

  /** Calls from several threads take turns. */
  std::mutex turn_;
  Device& device_;
  PackForm form_;
  std::optional<TileHeight> height_;
  /** For policies that the fused kernels cannot take: the plain ones then run the model too, from weights packed on demand. */
  EnsembleSpec spec_;
  PlacedNetworks networks_;
  std::unique_ptr<DeviceEnsemble> plain_;
  Buffer constants_;
  DynamicsArgs dynamics_{};
  std::vector<std::unique_ptr<Lane>> lanes_;
  StepPlan stepPlan_;
  RolloutMemory rolloutMemory_;
  int multiprocessors_;
};

}  // namespace reverie
