// The same weights for peers: one line of JSON that names the arrays, then their floats.
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "work.h"

namespace reverie::bench {
namespace {

constexpr std::int64_t sampleRows = 256;

/** Arrays by name, in the order they were added. */
class WeightFile {
 public:
  void add(const std::string& name, const std::vector<int>& shape, const std::vector<float>& values) {
    std::string sizes;
    for (const int size : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    names_ += (names_.empty() ? "" : ",") + ("[" + quoted(name) + ",[" + sizes + "]]");
    values_.insert(values_.end(), values.begin(), values.end());
  }

  void write(const std::string& path, const Shape& shape) const {
    JsonObject header;
    header.put("obsDim", static_cast<double>(shape.obs)).put("actionDim", static_cast<double>(shape.action));
    header.putJson("arrays", "[" + names_ + "]");
    std::ofstream file(path, std::ios::binary);
    file << header.text() << '\n';
    file.write(reinterpret_cast<const char*>(values_.data()), static_cast<std::streamsize>(4 * values_.size()));
    if (!file) throw std::runtime_error("cannot write " + path);
  }

 private:
  std::string names_;
  std::vector<float> values_;
};

void append(std::vector<float>& to, const std::vector<float>& from) { to.insert(to.end(), from.begin(), from.end()); }

void addMembers(WeightFile& file, const EnsembleSpec& spec) {
  const int count = static_cast<int>(spec.elites.size()), targets = spec.outputDim();
  for (std::size_t i = 0; i < spec.elites[0].layers.size(); i++) {
    std::vector<float> w, b;
    for (const Member& member : spec.elites) {
      append(w, member.layers[i].w);
      append(b, member.layers[i].b);
    }
    const Layer& layer = spec.elites[0].layers[i];
    file.add("net.w" + std::to_string(i), {count, layer.in, layer.out}, w);
    file.add("net.b" + std::to_string(i), {count, layer.out}, b);
  }
  std::vector<float> low, high;
  for (const Member& member : spec.elites) {
    append(low, member.logVarMin);
    append(high, member.logVarMax);
  }
  file.add("logVarMin", {count, targets}, low);
  file.add("logVarMax", {count, targets}, high);
  file.add("inputMean", {spec.inputDim()}, spec.inputMean);
  file.add("inputScale", {spec.inputDim()}, spec.inputScale);
  file.add("targetMean", {targets}, spec.targetMean);
  file.add("targetScale", {targets}, spec.targetScale);
}

void addPolicy(WeightFile& file, const std::string& name, const PolicySpec& policy) {
  for (std::size_t i = 0; i < policy.layers.size(); i++) {
    const Layer& layer = policy.layers[i];
    file.add("policy." + name + ".w" + std::to_string(i), {layer.in, layer.out}, layer.w);
    file.add("policy." + name + ".b" + std::to_string(i), {layer.out}, layer.b);
  }
}

/** Rows and what follows them by the mean of all members, without noise, in fp32. */
void addSample(WeightFile& file, Device& device, const Shape& shape, const EnsembleSpec& spec) {
  const auto obs = test::numbers(static_cast<std::size_t>(sampleRows * shape.obs), 6);
  const auto action = test::numbers(static_cast<std::size_t>(sampleRows * shape.action), 7);
  const RandomStream stream{8, 0, 0};
  std::vector<float> nextObs(obs.size()), reward(sampleRows);
  StepOptions options;
  options.isTs1 = false;
  options.isDeterministic = true;
  const auto ensemble = makeEnsemble(device, spec, Precision::fp32);
  ensemble->step({sampleRows, obs.data(), action.data(), &stream, false, options},
                 {nextObs.data(), reward.data(), nullptr, nullptr});
  const int rows = static_cast<int>(sampleRows);
  file.add("sample.obs", {rows, shape.obs}, obs);
  file.add("sample.action", {rows, shape.action}, action);
  file.add("sample.nextObs", {rows, shape.obs}, nextObs);
  file.add("sample.reward", {rows}, reward);
}

}  // namespace

void exportWeights(Device& device, const Shape& shape, const std::string& path) {
  const auto spec = ensembleOf(shape, shape.members);
  WeightFile file;
  addMembers(file, spec);
  addPolicy(file, "linear", policyOf(shape, 0));
  addPolicy(file, "mlp", policyOf(shape, shape.policyLayers));
  addSample(file, device, shape, spec);
  file.write(path, shape);
}

}  // namespace reverie::bench
