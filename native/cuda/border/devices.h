// Devices as JavaScript names them, shared by all models of a process.
#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "../engine/device.h"

namespace reverie::border {

/** One device a process, whoever asks and from whatever thread: models share it, and it goes with the last of them. */
std::shared_ptr<Device> sharedDevice(const std::string& kind, int ordinal, const std::string& fatbin);

Napi::Object limitsObject(Napi::Env env, const DeviceLimits& limits);

}  // namespace reverie::border
