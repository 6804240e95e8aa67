// A policy network on a device.
#pragma once

#include "ensemble-device.h"

namespace reverie {

/** Why a policy cannot act for this ensemble; nothing where it can. */
std::optional<std::string> problemOfPolicy(const PolicySpec& policy, const EnsembleSpec& spec);

/** The policy's weights and constants on the device, and how kernels see it. */
class DevicePolicy {
 public:
  DevicePolicy(Device& device, const PolicySpec& policy, const PackForm& form, int obsDim, bool isDeterministic);
  PolicyArgs args{};

 private:
  PlacedNetworks networks_;
  Buffer constants_;
};

}  // namespace reverie
