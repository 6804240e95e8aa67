// Rates that no kernel exceeds, measured in the same run: bytes copied on the device and over the bus, and the arithmetic of
// matrix instructions as the product's kernels issue them.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/ceilings.cuh"
#include "work.h"

namespace reverie::bench {
namespace {

constexpr unsigned threads = 256;

template <class Call>
std::vector<double> timed(Device& device, int repeats, Call call) {
  std::vector<double> ms;
  call();
  for (int i = 0; i < repeats; i++) {
    const auto begin = device.mark(0);
    call();
    const auto end = device.mark(0);
    device.synchronize(0);
    ms.push_back(device.millisecondsBetween(begin, end));
  }
  return ms;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double copyRate(Device& device, std::size_t bytes, int repeats) {
  const unsigned blocks = static_cast<unsigned>(8 * device.limits().multiprocessors);
  const std::size_t unit = std::size_t{16} * 4 * blocks * threads;
  bytes = std::max(unit, bytes / unit * unit);
  Buffer from(device, bytes), to(device, bytes);
  auto data = randomNormals(std::size_t{1} << 16, 1);
  for (std::size_t at = 0; at < bytes; at += 4 * data.size()) {
    device.upload(from.address() + at, data.data(), std::min(bytes - at, 4 * data.size()));
  }
  const CopyArgs args{from.as<void>(), to.as<void>(), bytes / 16};
  const auto ms = timed(device, repeats, [&] { device.launch(launchOf("copyBytes", blocks, threads, 0, args)); });
  std::vector<float> first(4), last(4), wanted(4);
  device.download(first.data(), to.address(), 16);
  device.download(last.data(), to.address() + bytes - 16, 16);
  device.download(wanted.data(), from.address() + bytes - 16, 16);
  device.synchronize(0);
  if (std::memcmp(first.data(), data.data(), 16) != 0 || std::memcmp(last.data(), wanted.data(), 16) != 0) {
    throw DeviceError("the copy on the device did not copy");
  }
  return 2.0 * static_cast<double>(bytes) / median(ms) * 1e3;
}

/** FLOP/s of matrix instructions on registers. */
double productRate(Device& device, int rounds, int repeats) {
  const unsigned blocks = static_cast<unsigned>(2 * device.limits().multiprocessors);
  const auto numbers = randomNormals(32 * 6, 2);
  std::vector<std::uint32_t> words(32 * 6);
  for (std::size_t i = 0; i < words.size(); i++) {
    std::memcpy(&words[i], &numbers[i], 4);
    words[i] &= 0xffffe000u;
  }
  Buffer fragments(device, 4 * words.size()), sums(device, std::size_t{4} * blocks * threads);
  device.upload(fragments.address(), words.data(), 4 * words.size());
  const ProductArgs args{fragments.as<const std::uint32_t>(), sums.as<float>(), rounds};
  const auto ms = timed(device, repeats, [&] { device.launch(launchOf("multiplyTf32", blocks, threads, 0, args)); });
  const double flop = 2.0 * 16 * 8 * 8 * PRODUCT_CHAINS * rounds * blocks * (threads / 32);
  return flop / median(ms) * 1e3;
}

/** Bytes a second between pinned memory and the device. */
double busRate(Device& device, std::size_t bytes, bool isDown, int repeats) {
  void* pinned = device.allocatePinned(bytes);
  Buffer memory(device, bytes);
  const auto data = randomNormals(bytes / 4, 3);
  std::memcpy(pinned, data.data(), bytes / 4 * 4);
  device.upload(memory.address(), pinned, bytes);
  const auto ms = timed(device, repeats, [&] {
    if (isDown) {
      device.download(pinned, memory.address(), bytes);
    } else {
      device.upload(memory.address(), pinned, bytes);
    }
  });
  device.releasePinned(pinned);
  return static_cast<double>(bytes) / median(ms) * 1e3;
}

}  // namespace

std::string measureCeilings(Device& device, const Request& request) {
  const auto bytes = static_cast<std::size_t>(request.integer("bytes"));
  const int repeats = static_cast<int>(request.integer("repeats")), rounds = static_cast<int>(request.integer("rounds"));
  JsonObject result;
  result.put("copyBytesPerSecond", copyRate(device, bytes, repeats));
  result.put("tf32InstructionFlops", productRate(device, rounds, repeats));
  result.put("toHostBytesPerSecond", busRate(device, bytes / 32, true, repeats));
  result.put("fromHostBytesPerSecond", busRate(device, bytes / 32, false, repeats));
  return result.text();
}

}  // namespace reverie::bench
