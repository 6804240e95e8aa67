// A device whose new memory holds NaN, so that a row which no kernel wrote is seen. The emulator's does so by itself.
#pragma once

#include <algorithm>
#include <vector>

#include "timed-device.h"

namespace reverie::bench {

class PoisonedDevice : public TimedDevice {
 public:
  using TimedDevice::TimedDevice;

  Address allocate(std::size_t bytes) override {
    const Address address = TimedDevice::allocate(bytes);
    const std::vector<char> nan(std::min(bytes, std::size_t{16} << 20), '\xff');
    for (std::size_t at = 0; at < bytes; at += nan.size()) upload(address + at, nan.data(), std::min(nan.size(), bytes - at), 0);
    synchronize(0);
    return address;
  }
};

}  // namespace reverie::bench
