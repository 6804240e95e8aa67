// reverie-bench check|serve: what benchmarks/gpu/run.sh runs on a GPU (or, with --emulated, on the host, where nothing is fast).
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "../engine/driver.h"
#include "../engine/emulator.h"
#include "check.h"
#include "poisoned-device.h"
#include "serve.h"

namespace reverie::bench {
namespace {

struct Options {
  std::string mode, kernels, ceilings, json;
  bool isEmulated = false, isSmall = false, hasFewRows = false;
  /** Memory is left as it is, for tools that look for reads of memory nobody wrote. */
  bool isUnpoisoned = false;
};

Options readOptions(int count, char** words) {
  Options options;
  if (count < 2) throw std::invalid_argument("check or serve?");
  options.mode = words[1];
  for (int i = 2; i < count; i++) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (++i == count) throw std::invalid_argument(word + " needs a value");
      return words[i];
    };
    if (word == "--emulated") {
      options.isEmulated = true;
    } else if (word == "--small") {
      options.isSmall = options.hasFewRows = true;
    } else if (word == "--few-rows") {
      options.hasFewRows = true;
    } else if (word == "--unpoisoned") {
      options.isUnpoisoned = true;
    } else if (word == "--kernels") {
      options.kernels = next();
    } else if (word == "--ceilings") {
      options.ceilings = next();
    } else if (word == "--json") {
      options.json = next();
    } else {
      throw std::invalid_argument("no such option: " + word);
    }
  }
  return options;
}

int check(Device& device, const Shape& shape, const Options& options) {
  const auto size = options.hasFewRows ? CheckSize::fewRows : CheckSize::full;
  CheckReport report;
  checkSteps(device, shape, size, report);
  checkRollouts(device, shape, size, report);
  checkAgainstHost(device, report);
  if (!options.json.empty()) std::ofstream(options.json) << report.json();
  std::printf("%s\n", report.failures() == 0 ? "all right" : "NOT RIGHT: see the lines above");
  return report.failures() == 0 ? 0 : 1;
}

int run(const Options& options) {
  Shape shape;
  if (options.isSmall) {
    shape.hidden = shape.policyHidden = 32;
    shape.layers = 2;
  }
  std::unique_ptr<Device> device, ceilings;
  if (options.isEmulated) {
    device = emulator::makeEmulatedDevice();
  } else {
    device = openDriverDevice(0, options.kernels);
    if (!options.ceilings.empty()) ceilings = openDriverDevice(0, options.ceilings);
  }
  PoisonedDevice poisoned(*device);
  if (options.mode == "check") return check(options.isUnpoisoned ? *device : poisoned, shape, options);
  if (options.mode == "serve") return serve(*device, ceilings ? *ceilings : *device, shape);
  throw std::invalid_argument("check or serve, not " + options.mode);
}

}  // namespace
}  // namespace reverie::bench

int main(int count, char** words) {
  try {
    return reverie::bench::run(reverie::bench::readOptions(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reverie-bench: %s\n", error.what());
    return 2;
  }
}
