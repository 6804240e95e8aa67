// The CUDA driver, found at run time: nothing here is linked against CUDA, so one build runs with and without a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace reverie {

struct DriverProbe {
  /** Empty where a GPU can be used; else what is missing, and the way out. */
  std::string missing, hint;
  int driverVersion = 0;
  std::vector<DeviceLimits> devices;
};

/** Never throws. */
DriverProbe probeDriver();

/** GPU `ordinal` with the kernels of a fat binary. Throws DeviceError saying what is missing. */
std::unique_ptr<Device> openDriverDevice(int ordinal, const std::string& fatbinPath);

}  // namespace reverie
