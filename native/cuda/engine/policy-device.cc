// A policy network on a device.
#include "policy-device.h"

#include <cmath>

namespace reverie {
namespace {

/** Action columns of a policy of a box. */
int columnsOf(const PolicySpec& policy) {
  return policy.head == PolicyHead::categorical ? 1 : static_cast<int>(policy.scale.size());
}

}  // namespace

std::optional<std::string> problemOfPolicy(const PolicySpec& policy, const EnsembleSpec& spec) {
  if (policy.layers.empty() || policy.layers.size() > MAX_LAYERS) return "it needs 1 to 17 layers";
  int inputs = spec.obsDim;
  for (const Layer& layer : policy.layers) {
    if (layer.in != inputs || layer.out < 1) return "its layers do not fit the observations or each other";
    const auto size = static_cast<std::size_t>(layer.in) * static_cast<std::size_t>(layer.out);
    if (layer.w.size() != size || layer.b.size() != static_cast<std::size_t>(layer.out))
      return "a layer's weights do not have its size";
    inputs = layer.out;
  }
  const bool isDiscrete = policy.head == PolicyHead::categorical;
  if (isDiscrete != (spec.actionChoices > 0)) return "its head is not of the kind of the actions";
  if (isDiscrete)
    return inputs == policy.choices && policy.choices == spec.actionChoices
               ? std::nullopt
               : std::optional<std::string>("it chooses among another number of actions");
  const auto columns = static_cast<std::size_t>(spec.actionDim);
  if (policy.scale.size() != columns || policy.bias.size() != columns || policy.low.size() != columns ||
      policy.high.size() != columns)
    return "its action has another number of columns";
  if (policy.head == PolicyHead::gaussian && policy.logStd.size() != columns) return "its spread has another number of columns";
  const int outputs = policy.head == PolicyHead::squashed ? 2 * spec.actionDim : spec.actionDim;
  return inputs == outputs ? std::nullopt : std::optional<std::string>("its last layer does not have the width of its head");
}

DevicePolicy::DevicePolicy(Device& device, const PolicySpec& policy, const PackForm& form, int obsDim, bool isDeterministic)
    : networks_(placeNetworks(device, packNetworks({&policy.layers}, policy.activation, form))) {
  std::vector<float> all;
  const auto add = [&](const std::vector<float>& values) {
    all.insert(all.end(), values.begin(), values.end());
    return all.size() - values.size();
  };
  const std::size_t logStd = add(policy.logStd), scale = add(policy.scale), bias = add(policy.bias);
  const std::size_t low = add(policy.low), high = add(policy.high);
  constants_ = placeBytes(device, all.data(), all.size() * sizeof(float));
  const float* base = constants_.as<const float>();
  double logScale = 0;
  for (const float value : policy.scale) logScale += std::log(static_cast<double>(value));
  args.network = networks_.args;
  args.head = policy.head;
  args.obsDim = obsDim;
  args.actionDim = columnsOf(policy);
  args.choices = policy.choices;
  args.start = policy.start;
  args.isDeterministic = isDeterministic;
  args.logScale = static_cast<float>(logScale);
  args.logStd = base + logStd;
  args.scale = base + scale;
  args.bias = base + bias;
  args.low = base + low;
  args.high = base + high;
}

}  // namespace reverie
