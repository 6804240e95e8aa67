// A device that marks the stream before and after each launch, so that work which copies to and from the host can be told
// apart from what its kernels take.
#pragma once

#include <vector>

#include "../engine/device.h"

namespace reverie::bench {

struct DeviceTime {
  int launches = 0;
  /** From the start of the first launch to the end of the last, and how long of that one or more were under way. */
  double spanMs = 0, busyMs = 0;
};

class TimedDevice : public Device {
 public:
  explicit TimedDevice(Device& inner) : inner_(inner) {}

  /** Forgets what was launched before; launches from here on are marked. */
  void start();
  /** Of the launches since `start`, which must be done. */
  DeviceTime stop();

  DeviceLimits limits() override { return inner_.limits(); }
  Address allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void release(Address address) override { inner_.release(address); }
  void* allocatePinned(std::size_t bytes) override { return inner_.allocatePinned(bytes); }
  void releasePinned(void* memory) override { inner_.releasePinned(memory); }
  Stream makeStream() override { return inner_.makeStream(); }
  void releaseStream(Stream stream) override { inner_.releaseStream(stream); }
  void synchronize(Stream stream) override { inner_.synchronize(stream); }
  void upload(Address to, const void* from, std::size_t bytes, Stream stream) override {
    inner_.upload(to, from, bytes, stream);
  }
  void download(void* to, Address from, std::size_t bytes, Stream stream) override {
    inner_.download(to, from, bytes, stream);
  }
  void fillZero(Address to, std::size_t bytes, Stream stream) override { inner_.fillZero(to, bytes, stream); }
  void launch(const Launch& launch, Stream stream) override;
  int residentBlocks(const char* kernel, unsigned threads, std::size_t sharedBytes) override {
    return inner_.residentBlocks(kernel, threads, sharedBytes);
  }
  std::uint64_t mark(Stream stream) override { return inner_.mark(stream); }
  float millisecondsBetween(std::uint64_t first, std::uint64_t second) override {
    return inner_.millisecondsBetween(first, second);
  }

 private:
  struct Marked {
    std::uint64_t begin, end;
  };

  Device& inner_;
  bool isMarking_ = false;
  std::vector<Marked> marked_;
};

}  // namespace reverie::bench
