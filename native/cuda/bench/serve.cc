// Requests: limits; ceilings; export path=; prepare id= kind= ...; measure id= calls= warmup=; release id=.
#include "serve.h"

#include <cstdio>
#include <iostream>
#include <stdexcept>

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
  Server(Device& kernels, Device& ceilings, const Shape& shape)
      : device_(kernels), ceilings_(ceilings), shape_(shape) {}

  std::string answer(const Request& request) {
    const std::string& method = request.method;
    if (method == "limits") return limitsJson(device_);
    if (method == "ceilings") return measureCeilings(ceilings_, request);
    if (method == "export") return exportWeights(device_, shape_, request.text("path")), "{}";
    if (method == "prepare") return prepare(request);
    if (method == "measure") return measure(request);
    if (method == "release") return works_.erase(request.text("id")), "{}";
    throw std::invalid_argument("no such method: " + method);
  }

 private:
  std::string prepare(const Request& request) {
    auto work = makeEnsembleWork(device_, shape_, request);
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
  Device& ceilings_;
  const Shape shape_;
  std::map<std::string, std::unique_ptr<Work>> works_;
};

}  // namespace

int serve(Device& kernels, Device& ceilings, const Shape& shape) {
  Server server(kernels, ceilings, shape);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = "{\"result\":" + server.answer(parseRequest(line)) + "}";
    } catch (const std::exception& error) {
      answer = "{\"error\":" + quoted(error.what()) + "}";
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace reverie::bench
