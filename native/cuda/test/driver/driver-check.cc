// Tries engine/driver.cc against a libcuda for tests (double.cc), which stands where the loader finds it first. The argument
// names what is tried; the process ends with 1 and a sentence where something is not as it should be.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../../engine/driver.h"

using namespace reverie;

namespace {

struct ScaleArgs {
  Address values;
  int count;
  float factor;
  Address barrier;
};

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what.c_str());
  std::exit(1);
}

/** Two empty fat binaries, one after another. */
std::string fatbin(const std::string& folder, std::uint32_t magic = 0xba55ed50) {
  const std::string path = folder + "/kernels.fatbin";
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 2; i++) {
    const std::uint16_t version[2] = {1, 16};
    const std::uint64_t bytes = 8;
    file.write(reinterpret_cast<const char*>(&magic), 4).write(reinterpret_cast<const char*>(version), 4);
    file.write(reinterpret_cast<const char*>(&bytes), 8).write("\0\0\0\0\0\0\0", 8);
  }
  return path;
}

std::string failureOf(const std::function<void()>& work, int* code = nullptr) {
  try {
    work();
  } catch (const DeviceError& error) {
    if (code != nullptr) *code = error.code;
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

void scale(Device& device, bool isCooperative) {
  const int count = 1000;
  const Stream stream = device.makeStream();
  auto* pinned = static_cast<float*>(device.allocatePinned(count * 4));
  for (int i = 0; i < count; i++) pinned[i] = static_cast<float>(i);
  Buffer values(device, count * 4), barrier(device, 4);
  device.fillZero(barrier.address(), 4, stream);
  device.upload(values.address(), pinned, count * 4, stream);
  const ScaleArgs args{values.address(), count, 3.0f, isCooperative ? barrier.address() : 0};
  const std::uint64_t before = device.mark(stream);
  device.launch(launchOf("test_scale", 2, 64, 100 * 1024, args, isCooperative), stream);
  const std::uint64_t after = device.mark(stream);
  std::vector<float> back(count);
  device.download(back.data(), values.address(), count * 4, stream);
  device.synchronize(stream);
  for (int i = 0; i < count; i++) require(back[static_cast<std::size_t>(i)] == 3.0f * static_cast<float>(i), "every value is scaled once");
  require(device.millisecondsBetween(before, after) >= 0, "time goes forward");
  device.releasePinned(pinned);
  device.releaseStream(stream);
}

void works(const std::string& folder) {
  const DriverProbe probe = probeDriver();
  require(probe.missing.empty() && probe.devices.size() == 1 && probe.driverVersion == 13010, "the probe finds a GPU");
  const auto device = openDriverDevice(0, fatbin(folder));
  const DeviceLimits limits = device->limits();
  require(limits.name == "A GPU in tests" && limits.computeMajor == 9 && !limits.isEmulated, "limits are those of the driver");
  require(device->residentBlocks("test_scale", 64, 100 * 1024) > 0, "occupancy is told");
  scale(*device, false);
  scale(*device, true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back([&] { scale(*device, i % 2 == 0); });
  for (std::thread& thread : threads) thread.join();
  require(device->limits().freeBytes == limits.freeBytes, "memory is given back");
  require(has(failureOf([&] { device->launch(launchOf("no_kernel", 1, 32, 0, 1)); }), "no no_kernel"), "an unknown kernel is named");
  require(has(failureOf([&] { device->millisecondsBetween(0, 99999); }), "mark"), "an unknown mark is refused");
  bool isOutOfMemory = false;
  try {
    device->allocate(std::size_t{1} << 40);
  } catch (const OutOfMemory& error) {
    isOutOfMemory = error.bytes == std::size_t{1} << 40;
  }
  require(isOutOfMemory, "too much memory is OutOfMemory");
}

void refuses(const char* part) {
  const DriverProbe probe = probeDriver();
  require(has(probe.missing, part), "the probe says '" + std::string(part) + "', not '" + probe.missing + "'");
}

void cannotOpen(const std::string& folder, const char* part) {
  const std::string said = failureOf([&] { openDriverDevice(0, fatbin(folder)); });
  require(has(said, part), "opening says '" + std::string(part) + "', not '" + said + "'");
}

void launchFails(const std::string& folder) {
  const auto device = openDriverDevice(0, fatbin(folder));
  int code = 0;
  const ScaleArgs args{};
  const std::string said = failureOf([&] { device->launch(launchOf("test_scale", 1, 64, 0, args)); }, &code);
  require(code == 700 && has(said, "CUDA_ERROR_ILLEGAL_ADDRESS") && has(said, "test_scale"), "a failed launch is named: " + said);
}

void badFiles(const std::string& folder) {
  require(has(failureOf([&] { openDriverDevice(0, folder + "/nothing"); }), "not compiled"), "a missing file is told");
  require(has(failureOf([&] { openDriverDevice(0, fatbin(folder, 1)); }), "no compiled kernels"), "another file is told");
  require(!failureOf([&] { openDriverDevice(7, fatbin(folder)); }).empty(), "a GPU that is not there is refused");
}

}  // namespace

int main(int count, char** given) {
  if (count != 3) return 2;
  const std::string folder = given[2];
  const std::map<std::string, std::function<void()>> tried{
      {"works", [&] { works(folder); }},
      {"no-library", [] { refuses("there is no CUDA driver"); }},
      {"old-library", [] { refuses("cuEventCreate"); }},
      {"no-gpu", [] { refuses("finds no GPU"); }},
      {"empty", [] { refuses("finds no GPU"); }},
      {"mismatch", [] { refuses("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"); }},
      {"old-gpu", [&] { refuses("compute capability 7.0"); cannotOpen(folder, "compute capability 7.0"); }},
      {"old-driver", [&] { cannotOpen(folder, "update the driver"); }},
      {"launch-fails", [&] { launchFails(folder); }},
      {"bad-files", [&] { badFiles(folder); }},
  };
  const auto found = tried.find(given[1]);
  if (found == tried.end()) return 2;
  found->second();
  std::printf("%s: as it should be\n", given[1]);
}
