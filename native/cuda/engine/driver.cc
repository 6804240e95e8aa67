// A GPU behind the Device interface. Every call makes the GPU's primary context current first, as work is given from whatever
// thread is free; nothing is assumed of the thread's past.

#include "driver.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "driver-api.h"

namespace reverie {

namespace {

using cuda::Api;
using cuda::check;

constexpr int oldestMajor = 8;
/** Shared memory that a block may have without asking. */
constexpr std::size_t plainSharedBytes = 48 * 1024;
/** Marks that are kept: one older than this many others is used anew. */
constexpr std::size_t keptMarks = 1024;

int attribute(const Api& api, int which, cuda::DeviceNumber device) {
  int value = 0;
  check(api, "cuDeviceGetAttribute", api.deviceGetAttribute(&value, which, device));
  return value;
}

DeviceLimits describe(const Api& api, cuda::DeviceNumber device) {
  DeviceLimits limits;
  std::array<char, 256> name{};
  check(api, "cuDeviceGetName", api.deviceGetName(name.data(), static_cast<int>(name.size()) - 1, device));
  limits.name = name.data();
  limits.computeMajor = attribute(api, cuda::computeMajor, device);
  limits.computeMinor = attribute(api, cuda::computeMinor, device);
  limits.multiprocessors = attribute(api, cuda::multiprocessorCount, device);
  limits.sharedBytesPerBlock = static_cast<std::size_t>(attribute(api, cuda::sharedMemoryPerBlockOptin, device));
  check(api, "cuDeviceTotalMem_v2", api.deviceTotalMem(&limits.memoryBytes, device));
  check(api, "cuDriverGetVersion", api.driverGetVersion(&limits.driverVersion));
  return limits;
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string tooOld(const DeviceLimits& limits) {
  return limits.name + " has compute capability " + std::to_string(limits.computeMajor) + "." +
         std::to_string(limits.computeMinor) + "; the kernels need 8.0 (Ampere) or newer";
}

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DeviceError("the kernels are not compiled: there is no " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/** What a fat binary begins with; `bytes` follow the header. */
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, headerBytes;
  std::uint64_t bytes;
};
constexpr std::uint32_t fatbinMagic = 0xba55ed50;

/** The fat binaries that a file holds one after another, one for each source of kernels. Throws DeviceError. */
std::vector<std::string> fatbinsOf(const std::string& path) {
  const std::string file = readFile(path);
  std::vector<std::string> fatbins;
  for (std::size_t at = 0; at < file.size();) {
    FatbinHeader header{};
    if (file.size() - at >= sizeof header) std::memcpy(&header, file.data() + at, sizeof header);
    const std::uint64_t rest = file.size() - at;
    if (header.magic != fatbinMagic || header.bytes > rest || header.headerBytes > rest - header.bytes) {
      throw DeviceError(path + " holds no compiled kernels: compile them anew (make -C native/cuda fatbin)");
    }
    fatbins.push_back(file.substr(at, header.headerBytes + header.bytes));
    at += header.headerBytes + header.bytes;
  }
  return fatbins;
}

cuda::StreamHandle handleOf(Stream stream) { return reinterpret_cast<cuda::StreamHandle>(stream); }

class DriverDevice : public Device {
 public:
  DriverDevice(const Api& api, int ordinal, const std::string& fatbinPath) : api_(api) {
    check(api_, "cuDeviceGet", api_.deviceGet(&device_, ordinal));
    limits_ = describe(api_, device_);
    if (limits_.computeMajor < oldestMajor) throw DeviceError(tooOld(limits_));
    const std::vector<std::string> images = fatbinsOf(fatbinPath);
    check(api_, "cuDevicePrimaryCtxRetain", api_.primaryRetain(&context_, device_));
    try {
      for (const std::string& image : images) loadKernels(image, fatbinPath);
    } catch (...) {
      leave();
      throw;
    }
  }

  ~DriverDevice() override { leave(); }

  DeviceLimits limits() override {
    bind();
    DeviceLimits limits = limits_;
    std::size_t total = 0;
    check(api_, "cuMemGetInfo_v2", api_.memGetInfo(&limits.freeBytes, &total));
    return limits;
  }

  Address allocate(std::size_t bytes) override {
    bind();
    cuda::Pointer address = 0;
    const cuda::Result result = api_.memAlloc(&address, bytes == 0 ? 1 : bytes);
    if (result == cuda::outOfMemory) throw OutOfMemory(bytes);
    check(api_, "cuMemAlloc_v2", result);
    return address;
  }

  void release(Address address) override {
    if (api_.setCurrent(context_) == cuda::success) api_.memFree(address);
  }

  void* allocatePinned(std::size_t bytes) override {
    bind();
    void* memory = nullptr;
    const cuda::Result result = api_.memHostAlloc(&memory, bytes == 0 ? 1 : bytes, cuda::portable);
    if (result == cuda::outOfMemory) throw OutOfMemory(bytes);
    check(api_, "cuMemHostAlloc", result);
    return memory;
  }

  void releasePinned(void* memory) override {
    if (api_.setCurrent(context_) == cuda::success) api_.memFreeHost(memory);
  }

  Stream makeStream() override {
    bind();
    cuda::StreamHandle stream = nullptr;
    // Not the non-blocking kind: such a stream would not wait for what is given to stream 0.
    check(api_, "cuStreamCreate", api_.streamCreate(&stream, 0));
    return reinterpret_cast<Stream>(stream);
  }

  void releaseStream(Stream stream) override {
    if (api_.setCurrent(context_) == cuda::success) api_.streamDestroy(handleOf(stream));
  }

  void synchronize(Stream stream) override {
    bind();
    check(api_, "cuStreamSynchronize", api_.streamSynchronize(handleOf(stream)));
  }

  void upload(Address to, const void* from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    bind();
    check(api_, "cuMemcpyHtoDAsync_v2", api_.copyToDevice(to, from, bytes, handleOf(stream)));
  }

  void download(void* to, Address from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    bind();
    check(api_, "cuMemcpyDtoHAsync_v2", api_.copyToHost(to, from, bytes, handleOf(stream)));
  }

  void fillZero(Address to, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    bind();
    check(api_, "cuMemsetD8Async", api_.memset(to, 0, bytes, handleOf(stream)));
  }

  void launch(const Launch& launch, Stream stream) override {
    bind();
    const cuda::Function function = functionFor(launch.kernel, launch.sharedBytes);
    void* params[] = {const_cast<void*>(launch.args)};
    const auto shared = static_cast<unsigned>(launch.sharedBytes);
    const cuda::Result result =
        launch.isCooperative
            ? api_.launchCooperative(function, launch.blocks, 1, 1, launch.threads, 1, 1, shared, handleOf(stream), params)
            : api_.launchKernel(function, launch.blocks, 1, 1, launch.threads, 1, 1, shared, handleOf(stream), params,
                                nullptr);
    if (result != cuda::success) throw DeviceError(launchProblem(launch, result), result);
  }

  int residentBlocks(const char* kernel, unsigned threads, std::size_t sharedBytes) override {
    bind();
    int blocks = 0;
    check(api_, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
          api_.occupancy(&blocks, functionFor(kernel, sharedBytes), static_cast<int>(threads), sharedBytes));
    return blocks;
  }

  std::uint64_t mark(Stream stream) override {
    bind();
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::uint64_t number = nextMark_;
    if (number < keptMarks) {
      cuda::Event event = nullptr;
      check(api_, "cuEventCreate", api_.eventCreate(&event, 0));
      marks_.push_back(event);
    }
    nextMark_++;
    check(api_, "cuEventRecord", api_.eventRecord(marks_[number % keptMarks], handleOf(stream)));
    return number;
  }

  float millisecondsBetween(std::uint64_t first, std::uint64_t second) override {
    bind();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first >= nextMark_ || second >= nextMark_ || nextMark_ - std::min(first, second) > keptMarks) {
      throw DeviceError("a mark that is unknown or too old was asked for");
    }
    float milliseconds = 0;
    const cuda::Event last = marks_[second % keptMarks];
    check(api_, "cuEventSynchronize", api_.eventSynchronize(last));
    check(api_, "cuEventElapsedTime", api_.eventElapsedTime(&milliseconds, marks_[first % keptMarks], last));
    return milliseconds;
  }

 private:
  struct Kernel {
    cuda::Function function = nullptr;
    /** Shared memory that was asked for so far. */
    std::size_t sharedBytes = plainSharedBytes;
  };

  /** At the end of the process the driver may be gone already: what it then answers concerns nobody. */
  void leave() {
    if (api_.setCurrent(context_) == cuda::success) {
      for (const cuda::Event event : marks_) api_.eventDestroy(event);
      for (const cuda::Module module : modules_) api_.moduleUnload(module);
    }
    api_.primaryRelease(device_);
  }

  void bind() { check(api_, "cuCtxSetCurrent", api_.setCurrent(context_)); }

  void loadKernels(const std::string& image, const std::string& path) {
    bind();
    cuda::Module module = nullptr;
    const cuda::Result result = api_.moduleLoadData(&module, image.data());
    if (cuda::isOfAnotherVersion(result)) {
      throw DeviceError(cuda::errorText(api_, "cuModuleLoadData", result) + ": " + path + " cannot run on " +
                            limits_.name + " with a driver of CUDA " + versionText(limits_.driverVersion) +
                            "; update the driver, or compile the kernels with an nvcc that is no newer",
                        result);
    }
    check(api_, "cuModuleLoadData", result);
    modules_.push_back(module);
  }

  cuda::Function find(const char* name) {
    for (const cuda::Module module : modules_) {
      cuda::Function function = nullptr;
      const cuda::Result result = api_.moduleGetFunction(&function, module, name);
      if (result == cuda::success) return function;
      if (result != cuda::notFound) check(api_, "cuModuleGetFunction", result);
    }
    throw DeviceError(std::string("the compiled kernels have no ") + name + ": they are older than the sources");
  }

  cuda::Function functionFor(const char* name, std::size_t sharedBytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Kernel& kernel = kernels_[name];
    if (kernel.function == nullptr) kernel.function = find(name);
    if (sharedBytes > kernel.sharedBytes) {
      check(api_, "cuFuncSetAttribute",
            api_.funcSetAttribute(kernel.function, cuda::maxDynamicSharedBytes, static_cast<int>(sharedBytes)));
      kernel.sharedBytes = sharedBytes;
    }
    return kernel.function;
  }

  std::string launchProblem(const Launch& launch, cuda::Result result) const {
    const char* call = launch.isCooperative ? "cuLaunchCooperativeKernel" : "cuLaunchKernel";
    return cuda::errorText(api_, call, result) + " for " + launch.kernel + ", " + std::to_string(launch.blocks) +
           " blocks of " + std::to_string(launch.threads) + " threads with " + std::to_string(launch.sharedBytes) +
           " bytes of shared memory";
  }

  const Api& api_;
  cuda::DeviceNumber device_ = 0;
  DeviceLimits limits_;
  cuda::Context context_ = nullptr;
  std::vector<cuda::Module> modules_;
  std::mutex mutex_;
  std::unordered_map<std::string, Kernel> kernels_;
  std::vector<cuda::Event> marks_;
  std::uint64_t nextMark_ = 0;
};

/** Everything about the GPUs that needs no context. Throws DeviceError. */
void probeDevices(const Api& api, DriverProbe& probe) {
  check(api, "cuDriverGetVersion", api.driverGetVersion(&probe.driverVersion));
  int count = 0;
  check(api, "cuDeviceGetCount", api.deviceGetCount(&count));
  for (int ordinal = 0; ordinal < count; ordinal++) {
    cuda::DeviceNumber device = 0;
    check(api, "cuDeviceGet", api.deviceGet(&device, ordinal));
    probe.devices.push_back(describe(api, device));
  }
  if (probe.devices.empty()) {
    probe.missing = "the CUDA driver finds no GPU";
    probe.hint = "Check nvidia-smi and CUDA_VISIBLE_DEVICES.";
  } else if (probe.devices[0].computeMajor < oldestMajor) {
    probe.missing = tooOld(probe.devices[0]);
    probe.hint = "CUDA_VISIBLE_DEVICES chooses another GPU where there is one.";
  }
}

}  // namespace

DriverProbe probeDriver() {
  DriverProbe probe;
  try {
    const cuda::Driver& driver = cuda::driver();
    probe.missing = driver.missing;
    probe.hint = driver.hint;
    if (probe.missing.empty()) probeDevices(driver.api, probe);
  } catch (const std::exception& error) {
    probe.missing = error.what();
    probe.hint = "Check nvidia-smi.";
  }
  return probe;
}

std::unique_ptr<Device> openDriverDevice(int ordinal, const std::string& fatbinPath) {
  const cuda::Driver& driver = cuda::driver();
  if (!driver.missing.empty()) throw DeviceError(driver.missing + ". " + driver.hint);
  return std::make_unique<DriverDevice>(driver.api, ordinal, fatbinPath);
}

}  // namespace reverie
