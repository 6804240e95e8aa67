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

/** The name of a function that is not there; null where all are. */
const char* findFunctions(void* library, Api& api) {
#define REVERIE_FIND(member, symbol, ...)                                      \
  api.member = reinterpret_cast<decltype(api.member)>(dlsym(library, symbol)); \
  if (api.member == nullptr) return symbol;
  REVERIE_DRIVER_FUNCTIONS(REVERIE_FIND)
#undef REVERIE_FIND
  return nullptr;
}

/** What is missing once the library is there. */
void initialise(Driver& driver) {
  const Result result = driver.api.init(0);
  if (result == success) return;
  if (result == noDevice) {
    driver.missing = "the CUDA driver finds no GPU";
    driver.hint = "Check nvidia-smi and CUDA_VISIBLE_DEVICES; a container has to be given a GPU (docker run --gpus all).";
    return;
  }
  driver.missing = errorText(driver.api, "cuInit", result);
  driver.hint = "Check nvidia-smi; after an update of the driver, restart the machine.";
}

Driver load() {
  Driver driver;
  std::string problem;
  void* library = openLibrary(problem);
  if (library == nullptr) {
    driver.missing = "there is no CUDA driver";
    driver.hint = "Install NVIDIA's driver for the GPU; a container has to be given it (docker run --gpus all). The loader said: " + problem + ".";
    return driver;
  }
  const char* lacking = findFunctions(library, driver.api);
  if (lacking == nullptr) {
    initialise(driver);
  } else {
    driver.missing = std::string("the CUDA driver is too old: it has no ") + lacking;
    driver.hint = "Install the driver of CUDA 12 or newer.";
  }
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
