// The part of the CUDA driver API that is used here, declared without CUDA's headers and found in libcuda at run time.
// Names and numbers are those of NVIDIA's public driver API; functions carry the version suffix of their ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace reverie::cuda {

using Result = int;
using DeviceNumber = int;
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using StreamHandle = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Pointer = unsigned long long;

constexpr Result success = 0;
constexpr Result outOfMemory = 2;
constexpr Result noDevice = 100;
constexpr Result noBinaryForDevice = 209;
constexpr Result unsupportedPtx = 222;
constexpr Result invalidImage = 200;
constexpr Result invalidPtx = 218;
constexpr Result noJitCompiler = 221;

/** Compiled kernels that this driver or this GPU cannot read: any of these, depending on what is newer than what. */
constexpr bool isOfAnotherVersion(Result result) {
  return result == noBinaryForDevice || result == unsupportedPtx || result == invalidImage || result == invalidPtx ||
         result == noJitCompiler;
}
constexpr Result notFound = 500;

enum Attribute {
  multiprocessorCount = 16,
  computeMajor = 75,
  computeMinor = 76,
  sharedMemoryPerBlockOptin = 97,
};

/** Of cuFuncSetAttribute: dynamic shared memory a launch may ask for, in bytes. */
constexpr int maxDynamicSharedBytes = 8;
/** Of cuMemHostAlloc: pinned for every context. */
constexpr unsigned portable = 1;

// clang-format off
#define REVERIE_DRIVER_FUNCTIONS(apply)                                                                                  \
  apply(init, "cuInit", unsigned flags)                                                                                  \
  apply(driverGetVersion, "cuDriverGetVersion", int* version)                                                            \
  apply(getErrorName, "cuGetErrorName", Result error, const char** text)                                                 \
  apply(getErrorString, "cuGetErrorString", Result error, const char** text)                                             \
  apply(deviceGetCount, "cuDeviceGetCount", int* count)                                                                  \
  apply(deviceGet, "cuDeviceGet", DeviceNumber* device, int ordinal)                                                     \
  apply(deviceGetName, "cuDeviceGetName", char* name, int length, DeviceNumber device)                                   \
  apply(deviceGetAttribute, "cuDeviceGetAttribute", int* value, int attribute, DeviceNumber device)                      \
  apply(deviceTotalMem, "cuDeviceTotalMem_v2", std::size_t* bytes, DeviceNumber device)                                  \
  apply(primaryRetain, "cuDevicePrimaryCtxRetain", Context* context, DeviceNumber device)                                \
  apply(primaryRelease, "cuDevicePrimaryCtxRelease_v2", DeviceNumber device)                                             \
  apply(setCurrent, "cuCtxSetCurrent", Context context)                                                                  \
  apply(memGetInfo, "cuMemGetInfo_v2", std::size_t* free, std::size_t* total)                                            \
  apply(moduleLoadData, "cuModuleLoadData", Module* module, const void* image)                                           \
  apply(moduleUnload, "cuModuleUnload", Module module)                                                                   \
  apply(moduleGetFunction, "cuModuleGetFunction", Function* function, Module module, const char* name)                   \
  apply(funcSetAttribute, "cuFuncSetAttribute", Function function, int attribute, int value)                             \
  apply(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", int* blocks, Function function, int threads, std::size_t shared) \
  apply(memAlloc, "cuMemAlloc_v2", Pointer* address, std::size_t bytes)                                                  \
  apply(memFree, "cuMemFree_v2", Pointer address)                                                                        \
  apply(memHostAlloc, "cuMemHostAlloc", void** memory, std::size_t bytes, unsigned flags)                                \
  apply(memFreeHost, "cuMemFreeHost", void* memory)                                                                      \
  apply(copyToDevice, "cuMemcpyHtoDAsync_v2", Pointer to, const void* from, std::size_t bytes, StreamHandle stream)      \
  apply(copyToHost, "cuMemcpyDtoHAsync_v2", void* to, Pointer from, std::size_t bytes, StreamHandle stream)              \
  apply(memset, "cuMemsetD8Async", Pointer to, unsigned char value, std::size_t bytes, StreamHandle stream)              \
  apply(streamCreate, "cuStreamCreate", StreamHandle* stream, unsigned flags)                                            \
  apply(streamDestroy, "cuStreamDestroy_v2", StreamHandle stream)                                                        \
  apply(streamSynchronize, "cuStreamSynchronize", StreamHandle stream)                                                   \
  apply(eventCreate, "cuEventCreate", Event* event, unsigned flags)                                                      \
  apply(eventDestroy, "cuEventDestroy_v2", Event event)                                                                  \
  apply(eventRecord, "cuEventRecord", Event event, StreamHandle stream)                                                  \
  apply(eventSynchronize, "cuEventSynchronize", Event event)                                                             \
  apply(eventElapsedTime, "cuEventElapsedTime", float* milliseconds, Event first, Event second)                          \
  apply(launchKernel, "cuLaunchKernel", Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared, StreamHandle stream, void** params, void** extra) \
  apply(launchCooperative, "cuLaunchCooperativeKernel", Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared, StreamHandle stream, void** params)
// clang-format on

struct Api {
#define REVERIE_DECLARE(member, symbol, ...) Result (*member)(__VA_ARGS__) = nullptr;
  REVERIE_DRIVER_FUNCTIONS(REVERIE_DECLARE)
#undef REVERIE_DECLARE
};

/** The driver, loaded once a process and initialised, or what is missing, and the way out. */
struct Driver {
  Api api;
  std::string missing, hint;
};
const Driver& driver();

/** `cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)`, in the driver's words. */
std::string errorText(const Api& api, const char* call, Result result);

/** Throws DeviceError with the driver's number and words unless `result` is success. */
void check(const Api& api, const char* call, Result result);

}  // namespace reverie::cuda
