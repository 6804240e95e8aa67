// Finds the CUDA driver and its functions, and puts its errors into words.

#include "driver-api.h"

#include <dlfcn.h>

#include "device.h"

namespace reverie::cuda {

namespace {

/** Where the driver lies; the second is that of the Windows Subsystem for Linux, which few loaders search. */
constexpr const char* places[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};

void* openLibrary(std::string& problem) {
  for (const char* place : places) {
    if (void* library = dlopen(place, RTLD_NOW | RTLD_LOCAL)) return library;
    if (problem.empty()) problem = dlerror();
  }
  return nullptr;
}

std::string findFunctions(void* library, Api& api) {
#define REVERIE_FIND(member, symbol, ...)                                      \
  api.member = reinterpret_cast<decltype(api.member)>(dlsym(library, symbol)); \
  if (api.member == nullptr)                                                   \
    return "the CUDA driver is too old: it has no " symbol "; install the driver of CUDA 12 or newer";
  REVERIE_DRIVER_FUNCTIONS(REVERIE_FIND)
#undef REVERIE_FIND
  return "";
}

std::string initialise(const Api& api) {
  const Result result = api.init(0);
  if (result == success) return "";
  if (result == noDevice) {
    return "the CUDA driver finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES; a container has to be given one "
           "(docker run --gpus all)";
  }
  return errorText(api, "cuInit", result) + ": check nvidia-smi; after an update of the driver, restart the machine";
}

Driver load() {
  Driver driver;
  std::string problem;
  void* library = openLibrary(problem);
  if (library == nullptr) {
    driver.missing = "there is no CUDA driver (" + problem +
                     "): install NVIDIA's driver for the GPU; a container has to be given it (docker run --gpus all)";
    return driver;
  }
  driver.missing = findFunctions(library, driver.api);
  if (driver.missing.empty()) driver.missing = initialise(driver.api);
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

std::string errorText(const Api& api, const char* call, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.getErrorName(result, &name) != success || name == nullptr) name = "an unknown error";
  if (api.getErrorString(result, &text) != success || text == nullptr) text = "no description";
  return std::string(call) + ": " + name + " (" + std::to_string(result) + ", " + text + ")";
}

void check(const Api& api, const char* call, Result result) {
  if (result != success) throw DeviceError(errorText(api, call, result), result);
}

}  // namespace reverie::cuda
