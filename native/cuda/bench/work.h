// A piece of work the harness holds and times: made once for a shape, run again and again.
#pragma once

#include <memory>

#include "fixture.h"
#include "request.h"
#include "timed-device.h"

namespace reverie::bench {

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

/** Milliseconds by the host's clock. */
double nowMs();

/** Rollouts (`kind=rollout`), or single steps of given rows (`kind=step`); keys: docs in benchmarks/gpu/README.md. */
std::unique_ptr<Work> makeEnsembleWork(TimedDevice& device, const Shape& shape, const Request& request);

/** As a JSON object: rates of copies on the device and over the bus, and of matrix instructions. */
std::string measureCeilings(Device& device, const Request& request);

/** Weights, and sample rows with the answers of the device, for peers that shall compute the same (peers/weights.py). */
void exportWeights(Device& device, const Shape& shape, const std::string& path);

}  // namespace reverie::bench
