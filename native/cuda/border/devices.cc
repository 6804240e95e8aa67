// See devices.h.

#include "devices.h"

#include <map>
#include <mutex>

#include "../engine/driver.h"
#include "../engine/emulator.h"
#include "work.h"

namespace reverie::border {

std::shared_ptr<Device> sharedDevice(const std::string& kind, int ordinal, const std::string& fatbin) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Device>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Device>& place = known[kind + " " + std::to_string(ordinal) + " " + fatbin];
  if (auto device = place.lock()) return device;
  std::shared_ptr<Device> device;
  if (kind == "emulated") {
    device = emulator::makeEmulatedDevice();
  } else {
    const DriverProbe probe = probeDriver();
    if (!probe.missing.empty() && probe.devices.empty()) throw Unavailable(probe.missing + ". " + probe.hint);
    try {
      device = openDriverDevice(ordinal, fatbin);
    } catch (const DeviceError& error) {
      throw Unavailable(error.what());
    }
  }
  place = device;
  return device;
}

Napi::Object limitsObject(Napi::Env env, const DeviceLimits& limits) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", limits.name);
  object.Set("computeCapability", std::to_string(limits.computeMajor) + "." + std::to_string(limits.computeMinor));
  object.Set("multiprocessors", limits.multiprocessors);
  object.Set("memoryBytes", static_cast<double>(limits.memoryBytes));
  object.Set("sharedBytesPerBlock", static_cast<double>(limits.sharedBytesPerBlock));
  return object;
}

}  // namespace reverie::border
