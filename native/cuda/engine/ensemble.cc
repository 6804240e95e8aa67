// Ensembles on a device: what can run there, and bringing weights and constants over.
#include <cmath>
#include <functional>
#include <stdexcept>

#include "ensemble-device.h"

namespace reverie {
namespace {

constexpr int MAX_WIDTH = 4096;

std::optional<std::string> problemOfLayers(const std::vector<Layer>& layers, int inputs) {
  if (layers.size() < 2 || layers.size() > MAX_LAYERS) return "it needs 1 to 16 hidden layers";
  for (const Layer& layer : layers) {
    if (layer.in != inputs) return "its layers do not fit together";
    if (layer.out < 1 || layer.in < 1) return "a layer is empty";
    const auto size = static_cast<std::size_t>(layer.in) * static_cast<std::size_t>(layer.out);
    if (layer.w.size() != size || layer.b.size() != static_cast<std::size_t>(layer.out))
      return "a layer's weights do not have its size";
    inputs = layer.out;
  }
  for (std::size_t i = 0; i + 1 < layers.size(); i++) {
    if (layers[i].out > MAX_WIDTH) return "a hidden layer is wider than 4096";
  }
  return std::nullopt;
}

bool haveOneShape(const std::vector<Member>& elites) {
  for (const Member& elite : elites) {
    if (elite.layers.size() != elites.front().layers.size()) return false;
    for (std::size_t i = 0; i < elite.layers.size(); i++) {
      if (elite.layers[i].out != elites.front().layers[i].out) return false;
    }
  }
  return true;
}

std::optional<std::string> problemOfMember(const Member& elite, const EnsembleSpec& spec) {
  const auto outputs = static_cast<std::size_t>(spec.outputDim());
  if (const auto problem = problemOfLayers(elite.layers, spec.inputDim())) return problem;
  if (elite.layers.back().out != 2 * spec.outputDim() + (spec.learnsTermination ? 1 : 0))
    return "its head does not have the width of mean, log-variance and end";
  if (elite.logVarMin.size() != outputs || elite.logVarMax.size() != outputs)
    return "its log-variance has bounds of another size";
  return std::nullopt;
}

void append(std::vector<float>& to, const std::vector<float>& values) { to.insert(to.end(), values.begin(), values.end()); }

std::vector<float> each(const std::vector<float>& values, const std::function<float(float)>& of) {
  std::vector<float> out;
  for (const float value : values) out.push_back(of(value));
  return out;
}

}  // namespace

std::optional<std::string> unsupported(const EnsembleSpec& spec) {
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  if (spec.obsDim < 1 || spec.actionDim < 1 || spec.actionChoices < 0) return "the sizes of its rows are not positive";
  if (spec.actionChoices > 0 && spec.actionDim != 1) return "a discrete action has one column";
  if (spec.elites.empty() || spec.elites.size() > MAX_ELITES) return "it needs 1 to 64 elites";
  if (spec.inputMean.size() != size(spec.inputDim()) || spec.inputScale.size() != size(spec.inputDim()))
    return "its normaliser does not have the size of its inputs";
  if (spec.targetMean.size() != size(spec.outputDim()) || spec.targetScale.size() != size(spec.outputDim()))
    return "its normaliser does not have the size of its targets";
  if (spec.low.size() != size(spec.obsDim) || spec.high.size() != size(spec.obsDim))
    return "its bounds do not have the size of its observations";
  for (const Member& elite : spec.elites) {
    if (const auto problem = problemOfMember(elite, spec)) return problem;
  }
  if (!haveOneShape(spec.elites)) return "its elites are of different shapes";
  return std::nullopt;
}

Precision precisionFor(const EnsembleSpec& spec, Precision asked) {
  return packFormOf(spec, asked).isFused ? asked : Precision::fp32;
}

std::unique_ptr<Ensemble> makeEnsemble(Device& device, const EnsembleSpec& spec, Precision precision,
                                       std::optional<TileHeight> height) {
  if (const auto problem = unsupported(spec)) throw std::invalid_argument("this ensemble cannot run on a device: " + *problem);
  return std::make_unique<DeviceEnsemble>(device, spec, precision, height);
}

Buffer placeBytes(Device& device, const void* bytes, std::size_t size) {
  Buffer buffer(device, size > 0 ? size : 1);
  if (size == 0) return buffer;
  device.upload(buffer.address(), bytes, size);
  device.synchronize(0);
  return buffer;
}

PlacedNetworks placeNetworks(Device& device, const PackedNetworks& packed) {
  PlacedNetworks placed{placeBytes(device, packed.bytes.data(), packed.bytes.size()), packed.args};
  placed.args.weights = placed.weights.as<const char>();
  return placed;
}

DeviceEnsemble::DeviceEnsemble(Device& device, const EnsembleSpec& spec, Precision precision, std::optional<TileHeight> height)
    : device_(device),
      form_(packFormOf(spec, precision)),
      height_(height),
      spec_(spec),
      multiprocessors_(device.limits().multiprocessors) {
  std::vector<const std::vector<Layer>*> networks;
  for (const Member& elite : spec.elites) networks.push_back(&elite.layers);
  networks_ = placeNetworks(device, packNetworks(networks, Activation::swish, form_));
  placeConstants(spec);
}

void DeviceEnsemble::placeConstants(const EnsembleSpec& spec) {
  std::vector<float> all;
  const auto add = [&](const std::vector<float>& values) {
    const std::size_t at = all.size();
    append(all, values);
    return at;
  };
  const std::size_t inputMean = add(spec.inputMean);
  const std::size_t inputRate = add(each(spec.inputScale, [](float scale) { return 1.0f / scale; }));
  const std::size_t targetMean = add(spec.targetMean), targetScale = add(spec.targetScale);
  const std::size_t low = add(spec.low), high = add(spec.high);
  const auto exponential = [](float x) { return static_cast<float>(std::exp(static_cast<double>(x))); };
  const std::size_t varianceMin = all.size();
  for (const Member& elite : spec.elites) append(all, each(elite.logVarMin, exponential));
  const std::size_t varianceMax = all.size();
  for (const Member& elite : spec.elites) append(all, each(elite.logVarMax, exponential));
  const std::size_t logVarMax = all.size();
  for (const Member& elite : spec.elites) append(all, elite.logVarMax);
  constants_ = placeBytes(device_, all.data(), all.size() * sizeof(float));
  const float* base = constants_.as<const float>();
  DynamicsArgs& d = dynamics_;
  d.elites = static_cast<int>(spec.elites.size());
  d.obsDim = spec.obsDim;
  d.actionDim = spec.actionDim;
  d.actionChoices = spec.actionChoices;
  d.actionStart = spec.actionStart;
  d.inputDim = spec.inputDim();
  d.outputDim = spec.outputDim();
  d.learnsReward = spec.learnsReward;
  d.learnsTermination = spec.learnsTermination;
  d.inputMean = base + inputMean;
  d.inputRate = base + inputRate;
  d.targetMean = base + targetMean;
  d.targetScale = base + targetScale;
  d.low = base + low;
  d.high = base + high;
  d.varianceMin = base + varianceMin;
  d.varianceMax = base + varianceMax;
  d.logVarMax = base + logVarMax;
}

DynamicsArgs DeviceEnsemble::dynamicsOf(const StepOptions& options) const {
  DynamicsArgs d = dynamics_;
  d.network = networks_.args;
  d.isTs1 = options.isTs1;
  d.isDeterministic = options.isDeterministic;
  d.withDisagreement = options.withDisagreement;
  d.asksAll = !options.isTs1 || options.withDisagreement;
  return d;
}

void DeviceEnsemble::makeLanes() {
  while (lanes_.size() < 2) lanes_.push_back(std::make_unique<Lane>(device_));
}

void DeviceEnsemble::releaseLanes() { lanes_.clear(); }

std::size_t DeviceEnsemble::bytes() const {
  std::size_t total = networks_.weights.bytes() + constants_.bytes();
  for (const auto& lane : lanes_) total += lane->device_side.bytes();
  total += rolloutMemory_.bytes();
  return plain_ ? total + plain_->bytes() : total;
}

}  // namespace reverie
