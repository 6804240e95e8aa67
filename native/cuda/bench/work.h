// A piece of work the harness holds and times: made once for a shape, run again and again.
#pragma once

#include <memory>

#include "../test/ensemble-models.h"
#include "request.h"
#include "timed-device.h"

namespace reverie::bench {

/** Of the ensemble and its policy; as benchmarks/gpu/cases.py has them. */
struct Shape {
  int obs = 17, action = 6, members = 7, hidden = 200, layers = 4, policyHidden = 256, policyLayers = 2;
};

/** Random weights: zeros would run faster. Learns the reward; observations have no bounds, as peers have none. */
EnsembleSpec ensembleOf(const Shape& shape, int elites);

/** A policy of actions within [-1, 1] with `layers` hidden layers; none makes it linear. */
PolicySpec policyOf(const Shape& shape, int layers);

/** What one run took: the device's time by its own marks, and the caller's, copies included. */
struct Timing {
  DeviceTime device;
  double wallMs = 0;
};

class Work {
 public:
  virtual ~Work() = default;
  virtual Timing run() = 0;
  /** Facts that the reader of the figure wants: rows that came back, bytes held. */
  virtual void describe(JsonObject& into) const = 0;
};

/** Rollouts (`kind=rollout`), or single steps of given rows (`kind=step`); keys: parameters of benchmarks/gpu/cases.py. */
std::unique_ptr<Work> makeWork(TimedDevice& device, const Shape& shape, const Request& request);

/** Weights, and sample rows with the answers of the device, for peers that shall compute the same (peers/weights.py). */
void exportWeights(Device& device, const Shape& shape, const std::string& path);

}  // namespace reverie::bench
