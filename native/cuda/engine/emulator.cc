// The host as a Device: memory with margins that are checked, streams that do their work as late as they may.

#include "emulator.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fibers.h"

namespace reverie::emulator {
namespace {

constexpr std::size_t MARGIN = 256;
constexpr unsigned char UNTOUCHED = 0xa7;
/** What memory holds before anybody writes it: as floats, NaN. */
constexpr int GARBAGE = 0xff;
constexpr std::size_t SHARED_BYTES_PER_MULTIPROCESSOR = 228 * 1024;

struct Kernel {
  std::size_t argBytes;
  Body body;
  unsigned maxThreads;
};

std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> known;
  return known;
}

const Kernel& kernelNamed(const char* name) {
  const auto found = kernels().find(name);
  if (found == kernels().end()) throw DeviceError(std::string("no kernel is called ") + name);
  return found->second;
}

using Clock = std::chrono::steady_clock;

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(const Options& options) : options_(options) { streams_[0]; }

  ~EmulatedDevice() override {
    for (const auto& [address, bytes] : memory_) std::free(reinterpret_cast<char*>(address) - MARGIN);
    for (const auto& [address, bytes] : pinned_) std::free(reinterpret_cast<void*>(address));
  }

  DeviceLimits limits() override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    DeviceLimits limits;
    limits.name = "host emulation";
    limits.isEmulated = true;
    limits.computeMajor = 8;
    limits.multiprocessors = options_.multiprocessors;
    limits.sharedBytesPerBlock = options_.sharedBytesPerBlock;
    limits.memoryBytes = options_.memoryBytes;
    limits.freeBytes = options_.memoryBytes - used_;
    return limits;
  }

  Address allocate(std::size_t bytes) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (bytes > options_.memoryBytes - used_) throw OutOfMemory(bytes);
    const std::size_t whole = (bytes + 2 * MARGIN + 255) / 256 * 256;
    auto* begin = static_cast<char*>(std::aligned_alloc(256, whole));
    if (begin == nullptr) throw OutOfMemory(bytes);
    std::memset(begin, UNTOUCHED, whole);
    std::memset(begin + MARGIN, GARBAGE, bytes);
    used_ += bytes;
    const auto address = reinterpret_cast<Address>(begin + MARGIN);
    memory_[address] = bytes;
    return address;
  }

  void release(Address address) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const auto found = memory_.find(address);
    if (found == memory_.end()) return;
    finishEverything();
    used_ -= found->second;
    memory_.erase(found);
    std::free(reinterpret_cast<char*>(address) - MARGIN);
  }

  void* allocatePinned(std::size_t bytes) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    void* memory = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (memory == nullptr) throw OutOfMemory(bytes);
    pinned_[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
    return memory;
  }

  void releasePinned(void* memory) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (pinned_.erase(reinterpret_cast<std::uintptr_t>(memory)) > 0) std::free(memory);
  }

  Stream makeStream() override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    streams_[++lastStream_];
    return lastStream_;
  }

  void releaseStream(Stream stream) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (stream != 0) streams_.erase(stream);
  }

  void synchronize(Stream stream) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    auto work = std::move(queueOf(stream));
    queueOf(stream).clear();
    for (const auto& one : work) one();
    checkMargins();
  }

  void upload(Address to, const void* from, std::size_t bytes, Stream stream) override {
    give(stream, isPinned(from), [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  }

  void download(void* to, Address from, std::size_t bytes, Stream stream) override {
    give(stream, isPinned(to), [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
  }

  void fillZero(Address to, std::size_t bytes, Stream stream) override {
    give(stream, true, [=] { std::memset(reinterpret_cast<void*>(to), 0, bytes); });
  }

  void launch(const Launch& launch, Stream stream) override {
    const Kernel& kernel = kernelNamed(launch.kernel);
    check(launch, kernel);
    std::vector<char> args(static_cast<const char*>(launch.args), static_cast<const char*>(launch.args) + launch.argBytes);
    const Grid grid{launch.blocks, launch.threads, launch.sharedBytes, launch.isCooperative};
    give(stream, true, [grid, body = kernel.body, args = std::move(args), order = options_.order] {
      runGrid(grid, body, args.data(), order);
    });
  }

  int residentBlocks(const char* kernel, unsigned threads, std::size_t sharedBytes) override {
    if (threads > kernelNamed(kernel).maxThreads || sharedBytes > options_.sharedBytesPerBlock) return 0;
    const std::size_t byShared = SHARED_BYTES_PER_MULTIPROCESSOR / (sharedBytes + 1024);
    return static_cast<int>(std::min<std::size_t>({2, byShared, 2048 / threads}));
  }

  std::uint64_t mark(Stream stream) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const std::uint64_t id = ++lastMark_;
    give(stream, true, [this, id] { marks_[id] = Clock::now(); });
    return id;
  }

  float millisecondsBetween(std::uint64_t first, std::uint64_t second) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return std::chrono::duration<float, std::milli>(marks_.at(second) - marks_.at(first)).count();
  }

 private:
  using Work = std::function<void()>;

  /** Memory is given back when nothing uses it any more; what goes wrong is told by the next `synchronize`. */
  void finishEverything() {
    for (const auto& [stream, work] : streams_) {
      try {
        synchronize(stream);
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
  }

  std::vector<Work>& queueOf(Stream stream) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) throw DeviceError("work for a stream that is not there");
    return found->second;
  }

  /** Work that need not be done at once waits until somebody asks for it. */
  void give(Stream stream, bool canWait, Work work) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    queueOf(stream).push_back(std::move(work));
    if (!canWait) synchronize(stream);
  }

  bool isPinned(const void* memory) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    auto after = pinned_.upper_bound(at);
    if (after == pinned_.begin()) return false;
    --after;
    return at < after->first + after->second;
  }

  void check(const Launch& launch, const Kernel& kernel) {
    const std::string name = launch.kernel;
    if (launch.argBytes != kernel.argBytes) throw DeviceError(name + ": arguments of the wrong size");
    if (launch.threads > kernel.maxThreads) throw DeviceError(name + ": more threads than its bounds allow");
    if (launch.sharedBytes > options_.sharedBytesPerBlock) throw DeviceError(name + ": too much shared memory");
    const int resident = residentBlocks(launch.kernel, launch.threads, launch.sharedBytes) * options_.multiprocessors;
    if (launch.isCooperative && launch.blocks > static_cast<unsigned>(resident)) {
      throw DeviceError(name + ": more blocks wait for each other than are resident at once", 720);
    }
  }

  void checkMargins() {
    for (const auto& [address, bytes] : memory_) {
      const auto* begin = reinterpret_cast<const unsigned char*>(address);
      for (std::size_t i = 0; i < MARGIN; i++) {
        if (begin[i - MARGIN] != UNTOUCHED || begin[bytes + i] != UNTOUCHED) {
          throw DeviceError("a kernel wrote outside of a buffer of " + std::to_string(bytes) + " bytes", 700);
        }
      }
    }
  }

  const Options options_;
  std::recursive_mutex mutex_;
  std::size_t used_ = 0;
  std::map<Address, std::size_t> memory_;
  std::map<std::uintptr_t, std::size_t> pinned_;
  std::map<Stream, std::vector<Work>> streams_;
  std::map<std::uint64_t, Clock::time_point> marks_;
  std::exception_ptr failure_;
  Stream lastStream_ = 0;
  std::uint64_t lastMark_ = 0;
};

}  // namespace

Registration::Registration(const char* name, std::size_t argBytes, Body body, unsigned maxThreads) {
  kernels()[name] = Kernel{argBytes, body, maxThreads};
}

std::size_t argumentBytes(const std::string& kernel) {
  const auto found = kernels().find(kernel);
  return found == kernels().end() ? 0 : found->second.argBytes;
}

std::unique_ptr<Device> makeEmulatedDevice(const Options& options) { return std::make_unique<EmulatedDevice>(options); }

}  // namespace reverie::emulator
