// A libcuda.so.1 for tests, over the emulator: the driver's functions with its rules. Work needs a context that is current on
// the calling thread; a function needs to be allowed the shared memory it is launched with; what is not the driver's to know
// is refused with the driver's numbers. REVERIE_DOUBLE names a fault to show.

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../../engine/driver-api.h"
#include "../../engine/emulator.h"

using reverie::Device;
using namespace reverie::cuda;

namespace {

constexpr Result invalidValue = 1, notInitialised = 3, invalidContext = 201, launchFailed = 719;
constexpr std::size_t plainSharedBytes = 48 * 1024;
constexpr std::uint32_t fatbinMagic = 0xba55ed50;

struct KnownFunction {
  std::string name;
  std::size_t sharedBytes = plainSharedBytes;
};

struct State {
  bool isInitialised = false;
  int retained = 0;
  std::unique_ptr<Device> device = reverie::emulator::makeEmulatedDevice();
  std::map<std::string, KnownFunction> functions;
  std::mutex mutex;
};

State& state() {
  static State one;
  return one;
}

thread_local Context current = nullptr;
const Context onlyContext = reinterpret_cast<Context>(0x1000);

bool shows(const char* fault) {
  const char* asked = std::getenv("REVERIE_DOUBLE");
  return asked != nullptr && std::strcmp(asked, fault) == 0;
}

/** What goes wrong in the emulator is what a GPU calls a failed launch. */
template <class Work>
Result inContext(Work work) {
  if (!state().isInitialised) return notInitialised;
  if (current != onlyContext || state().retained == 0) return invalidContext;
  try {
    work(*state().device);
    return success;
  } catch (const reverie::OutOfMemory&) {
    return outOfMemory;
  } catch (const std::exception&) {
    return launchFailed;
  }
}

reverie::Stream streamOf(StreamHandle stream) { return reinterpret_cast<reverie::Stream>(stream); }

Result launch(Function function, unsigned grid, unsigned block, unsigned shared, StreamHandle stream, void** params, bool isCooperative) {
  if (shows("launch-fails")) return 700;
  const auto& known = *reinterpret_cast<KnownFunction*>(function);
  if (shared > known.sharedBytes) return invalidValue;
  const std::size_t bytes = reverie::emulator::argumentBytes(known.name);
  return inContext([&](Device& device) {
    device.launch({known.name.c_str(), grid, block, shared, params[0], bytes, isCooperative}, streamOf(stream));
  });
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) Result

EXPORT cuInit(unsigned) {
  if (shows("no-gpu")) return noDevice;
  if (shows("mismatch")) return 803;
  state().isInitialised = true;
  return success;
}
EXPORT cuDriverGetVersion(int* version) { *version = shows("old-driver") ? 12020 : 13010; return success; }
EXPORT cuGetErrorName(Result error, const char** text) {
  static const std::map<Result, const char*> names{{outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                   {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}};
  const auto found = names.find(error);
  *text = found == names.end() ? nullptr : found->second;
  return found == names.end() ? invalidValue : success;
}
EXPORT cuGetErrorString(Result, const char** text) { *text = "in words"; return success; }
EXPORT cuDeviceGetCount(int* count) { *count = shows("empty") ? 0 : 1; return success; }
EXPORT cuDeviceGet(DeviceNumber* device, int ordinal) { *device = ordinal; return ordinal == 0 ? success : 101; }
EXPORT cuDeviceGetName(char* name, int length, DeviceNumber) { std::strncpy(name, "A GPU in tests", static_cast<std::size_t>(length)); return success; }
EXPORT cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  const auto limits = state().device->limits();
  if (attribute == computeMajor) *value = shows("old-gpu") ? 7 : 9;
  else if (attribute == computeMinor) *value = 0;
  else if (attribute == multiprocessorCount) *value = limits.multiprocessors;
  else if (attribute == sharedMemoryPerBlockOptin) *value = static_cast<int>(limits.sharedBytesPerBlock);
  else return invalidValue;
  return success;
}
EXPORT cuDeviceTotalMem_v2(std::size_t* bytes, DeviceNumber) { *bytes = state().device->limits().memoryBytes; return success; }
EXPORT cuDevicePrimaryCtxRetain(Context* context, DeviceNumber) { state().retained++; *context = onlyContext; return success; }
EXPORT cuDevicePrimaryCtxRelease_v2(DeviceNumber) { state().retained--; return success; }
EXPORT cuCtxSetCurrent(Context context) { current = context; return success; }
EXPORT cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return inContext([&](Device& device) { *free = device.limits().freeBytes; *total = device.limits().memoryBytes; });
}
EXPORT cuModuleLoadData(Module* module, const void* image) {
  if (shows("old-driver")) return unsupportedPtx;
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, 4);
  if (magic != fatbinMagic) return invalidImage;
  *module = reinterpret_cast<Module>(0x2000);
  return inContext([](Device&) {});
}
EXPORT cuModuleUnload(Module) { return inContext([](Device&) {}); }
EXPORT cuModuleGetFunction(Function* function, Module, const char* name) {
  if (reverie::emulator::argumentBytes(name) == 0) return notFound;
  const std::lock_guard<std::mutex> lock(state().mutex);
  KnownFunction& known = state().functions[name];
  known.name = name;
  *function = reinterpret_cast<Function>(&known);
  return success;
}
EXPORT cuFuncSetAttribute(Function function, int attribute, int value) {
  if (attribute != maxDynamicSharedBytes) return invalidValue;
  reinterpret_cast<KnownFunction*>(function)->sharedBytes = static_cast<std::size_t>(value);
  return success;
}
EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int threads, std::size_t shared) {
  const auto& name = reinterpret_cast<KnownFunction*>(function)->name;
  return inContext([&](Device& device) { *blocks = device.residentBlocks(name.c_str(), static_cast<unsigned>(threads), shared); });
}
EXPORT cuMemAlloc_v2(Pointer* address, std::size_t bytes) {
  if (shows("out-of-memory") && bytes > (1u << 15)) return outOfMemory;
  return inContext([&](Device& device) { *address = device.allocate(bytes); });
}
EXPORT cuMemFree_v2(Pointer address) { return inContext([&](Device& device) { device.release(address); }); }
EXPORT cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return inContext([&](Device& device) { *memory = device.allocatePinned(bytes); });
}
EXPORT cuMemFreeHost(void* memory) { return inContext([&](Device& device) { device.releasePinned(memory); }); }
EXPORT cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, StreamHandle stream) {
  return inContext([&](Device& device) { device.upload(to, from, bytes, streamOf(stream)); });
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, StreamHandle stream) {
  return inContext([&](Device& device) { device.download(to, from, bytes, streamOf(stream)); });
}
EXPORT cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, StreamHandle stream) {
  if (value != 0) return invalidValue;
  return inContext([&](Device& device) { device.fillZero(to, bytes, streamOf(stream)); });
}
EXPORT cuStreamCreate(StreamHandle* stream, unsigned) {
  return inContext([&](Device& device) { *stream = reinterpret_cast<StreamHandle>(device.makeStream()); });
}
EXPORT cuStreamDestroy_v2(StreamHandle stream) { return inContext([&](Device& device) { device.releaseStream(streamOf(stream)); }); }
EXPORT cuStreamSynchronize(StreamHandle stream) { return inContext([&](Device& device) { device.synchronize(streamOf(stream)); }); }
// Only measuring asks for events.
EXPORT cuEventCreate(Event*, unsigned) { return invalidValue; }
EXPORT cuEventDestroy_v2(Event) { return invalidValue; }
EXPORT cuEventRecord(Event, StreamHandle) { return invalidValue; }
EXPORT cuEventSynchronize(Event) { return invalidValue; }
EXPORT cuEventElapsedTime(float*, Event, Event) { return invalidValue; }
EXPORT cuLaunchKernel(Function function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned, unsigned shared,
                      StreamHandle stream, void** params, void**) {
  return launch(function, grid, block, shared, stream, params, false);
}
EXPORT cuLaunchCooperativeKernel(Function function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned, unsigned shared,
                                 StreamHandle stream, void** params) {
  return launch(function, grid, block, shared, stream, params, true);
}
