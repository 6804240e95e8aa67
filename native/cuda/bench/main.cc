// The harness as one side of a comparison (benchmarks/gpu/measure.py): runs the kernels of a file on a GPU or, with --emulated, on the
// host, where nothing is fast, and answers requests line by line until its input ends: limits; export path=; prepare id= kind= ...;
// measure id= calls= warmup=; release id=.
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "../engine/driver.h"
#include "work.h"

namespace reverie::bench {
namespace {

std::string limitsJson(Device& device) {
  const DeviceLimits limits = device.limits();
  JsonObject json;
  json.put("name", limits.name).put("isEmulated", limits.isEmulated);
  json.put("computeMajor", static_cast<double>(limits.computeMajor));
  json.put("computeMinor", static_cast<double>(limits.computeMinor));
  json.put("driverVersion", static_cast<double>(limits.driverVersion));
  json.put("multiprocessors", static_cast<double>(limits.multiprocessors));
  json.put("sharedBytesPerBlock", static_cast<double>(limits.sharedBytesPerBlock));
  json.put("memoryBytes", static_cast<double>(limits.memoryBytes));
  json.put("freeBytes", static_cast<double>(limits.freeBytes));
  return json.text();
}

class Server {
 public:
  Server(Device& device, const Shape& shape) : device_(device), shape_(shape) {}

  std::string answer(const Request& request) {
    const std::string& method = request.method;
    if (method == "limits") return limitsJson(device_);
    if (method == "export") return exportWeights(device_, shape_, request.text("path")), "{}";
    if (method == "prepare") return prepare(request);
    if (method == "measure") return measure(request);
    if (method == "release") return works_.erase(request.text("id")), "{}";
    throw std::invalid_argument("no such method: " + method);
  }

 private:
  std::string prepare(const Request& request) {
    auto work = makeWork(device_, shape_, request);
    work->run();
    JsonObject described;
    work->describe(described);
    works_[request.text("id")] = std::move(work);
    return described.text();
  }

  std::string measure(const Request& request) {
    Work& work = *works_.at(request.text("id"));
    for (long i = request.integer("warmup", 0); i > 0; i--) work.run();
    std::vector<double> span, busy, wall, launches;
    for (long i = request.integer("calls"); i > 0; i--) {
      const Timing timing = work.run();
      span.push_back(timing.device.spanMs);
      busy.push_back(timing.device.busyMs);
      wall.push_back(timing.wallMs);
      launches.push_back(timing.device.launches);
    }
    JsonObject json;
    json.put("spanMs", span).put("busyMs", busy).put("wallMs", wall).put("launches", launches);
    return json.text();
  }

  TimedDevice device_;
  const Shape shape_;
  std::map<std::string, std::unique_ptr<Work>> works_;
};

void serve(Device& device, const Shape& shape) {
  Server server(device, shape);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = "{\"result\":" + server.answer(parseRequest(line)) + "}";
    } catch (const std::exception& error) {
      answer = "{\"error\":" + quoted(error.what()) + "}";
    }
    std::cout << answer << std::endl;
  }
}

/** `--kernels FILE`; or `--emulated`, with networks that the host steps in moments. */
void run(const std::vector<std::string>& words) {
  Shape shape;
  if (words == std::vector<std::string>{"--emulated"}) {
    shape.hidden = shape.policyHidden = 32;
    shape.layers = 2;
    serve(*emulator::makeEmulatedDevice(), shape);
  } else if (words.size() == 2 && words[0] == "--kernels") {
    serve(*openDriverDevice(0, words[1]), shape);
  } else {
    throw std::invalid_argument("--kernels FILE, or --emulated?");
  }
}

}  // namespace
}  // namespace reverie::bench

int main(int count, char** words) {
  try {
    reverie::bench::run({words + 1, words + count});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reverie-bench: %s\n", error.what());
    return 2;
  }
}
