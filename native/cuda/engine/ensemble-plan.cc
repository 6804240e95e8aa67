// How launches of the ensemble's kernels are planned.
#include "ensemble-plan.h"

#include <algorithm>

#include "../kernels/tile-size.h"

namespace reverie {
namespace {

constexpr std::uint32_t ALIGNMENT = 128;
/** Beyond it a longer stage saves nothing. */
constexpr std::uint32_t STAGE_BYTES = 28 * 1024;
constexpr std::uint32_t PLAIN_RING_BYTES = 2 * PLAIN_DEPTH * PLAIN_COLUMNS * 4;
constexpr int WIDTHS[] = {64, 128, 208, 256};

std::uint32_t aligned(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

std::int64_t wholes(std::int64_t size, std::int64_t of) { return (size + of - 1) / of; }

int widestHidden(const std::vector<Layer>& layers) {
  int widest = layers.front().in;
  for (std::size_t i = 0; i + 1 < layers.size(); i++) widest = std::max(widest, layers[i].out);
  return widest;
}

/** Fragments of a row that a network's layers read and leave. */
int activationSteps(const NetworkArgs& network, const PackForm& form) {
  int most = 0;
  for (int i = 0; i < network.layers; i++) {
    most = std::max(most, network.layer[i].steps);
    if (i + 1 < network.layers) most = std::max(most, network.layer[i].chunks * CHUNK_COLUMNS / depthOf(form));
  }
  return most;
}

/**
 * A tile's height, and times relative to a block of 256 rows alone on its multiprocessor: of such a block alone, and of two
 * that share one. As measured on an H200 with layers of 200; two blocks hide each other's waits.
 */
struct Candidate {
  TileHeight height;
  double alone, shared;
};
constexpr Candidate CANDIDATES[] = {
    {{8}, 0.72, 0.89}, {{4}, 0.65, 0.67}, {{2}, 0.66, 0.74}};

std::string kernelOf(const PackForm& form, const PlanNeeds& needs) {
  const std::string job = needs.isRollout ? "ensembleRollout" : "ensembleStep";
  if (!form.isFused) return job + "Plain";
  return job + "Tf32Width" + std::to_string(form.steps * depthOf(form));
}

/** Bytes of one column's answers of all rows of a warp. */
constexpr std::uint64_t COLUMN_BYTES = (16 + 4) * 4;

bool layOutFused(LaunchPlan& plan, const PackForm& form, const PlanNeeds& needs, TileHeight height, std::size_t limit) {
  int steps = form.steps;
  for (const NetworkArgs* network : needs.networks) steps = std::max(steps, activationSteps(*network, form));
  SharedLayout& shared = plan.shared;
  shared.activationBytes = static_cast<std::uint32_t>(steps) * 512;
  shared.warpRows = CONTROL_BYTES;
  shared.activations = aligned(shared.warpRows + static_cast<std::uint64_t>(height.warps) * WARP_ROWS_BYTES);
  shared.ring = aligned(shared.activations + static_cast<std::uint64_t>(height.warps) * shared.activationBytes);
  std::uint32_t chunk = SORT_BYTES / RING_STAGES, longest = 0;
  for (const NetworkArgs* network : needs.networks) {
    chunk = std::max(chunk, largestChunk(*network));
    for (int i = 0; i < network->layers; i++) {
      longest = std::max(longest, chunkBytesOf(network->layer[i]) * static_cast<std::uint32_t>(network->layer[i].chunks));
    }
  }
  const std::uint64_t least = shared.ring + static_cast<std::uint64_t>(RING_STAGES) * chunk;
  if (least > limit) return false;
  // Room for two blocks on a multiprocessor, where that is enough; each takes a kilobyte that is not its own.
  const std::size_t half = (limit + 1024) / 2 - 1024;
  const std::size_t own = least <= half ? half : limit;
  const std::uint32_t room = (static_cast<std::uint32_t>(own) - shared.ring) / RING_STAGES / 16 * 16;
  shared.stageBytes = std::max(chunk, std::min({room, longest, STAGE_BYTES}));
  plan.sharedBytes = shared.ring + RING_STAGES * shared.stageBytes;
  std::uint64_t answers = 0;
  for (std::size_t i = 0; i < needs.networks.size(); i++) {
    const std::uint64_t size = static_cast<std::uint64_t>(needs.networks[i]->outputs) * COLUMN_BYTES;
    const int passes = i == 0 ? needs.passes : 1;
    if (passes > 1 || size > shared.activationBytes)
      answers = std::max(answers, size * static_cast<unsigned>(passes * height.warps));
  }
  plan.scratch.activations = plan.scratch.answers + aligned(answers);
  plan.scratch.bytesPerBlock = plan.scratch.activations;
  return true;
}

bool layOutPlain(LaunchPlan& plan, const PlanNeeds& needs, std::size_t limit) {
  constexpr std::uint64_t columnOfRows = (PLAIN_ROWS + 4) * 4;
  SharedLayout& shared = plan.shared;
  shared.warpRows = CONTROL_BYTES;
  shared.ring = aligned(shared.warpRows + static_cast<std::uint64_t>(PLAIN_THREADS / 32) * WARP_ROWS_BYTES);
  shared.stageBytes = PLAIN_RING_BYTES / 2;
  shared.activations = shared.ring + PLAIN_RING_BYTES;
  std::uint64_t columns = 0, answers = 0;
  for (std::size_t i = 0; i < needs.networks.size(); i++) {
    const NetworkArgs& network = *needs.networks[i];
    for (int layer = 0; layer < network.layers; layer++) {
      columns = std::max(columns, static_cast<std::uint64_t>(network.layer[layer].steps) * PLAIN_DEPTH);
      if (layer + 1 < network.layers)
        columns = std::max(columns, static_cast<std::uint64_t>(network.layer[layer].chunks) * PLAIN_COLUMNS);
    }
    answers = std::max(
        answers, static_cast<std::uint64_t>(network.outputs) * columnOfRows * static_cast<unsigned>(i == 0 ? needs.passes : 1));
  }
  const std::uint64_t activations = 2 * columns * columnOfRows;
  const bool isNear = shared.activations + activations <= limit;
  shared.activationBytes = isNear ? static_cast<std::uint32_t>(activations) : 0;
  plan.sharedBytes = shared.activations + shared.activationBytes;
  plan.scratch.activations = plan.scratch.answers + aligned(answers);
  plan.scratch.bytesPerBlock = plan.scratch.activations + (isNear ? 0 : activations);
  plan.scratch.bytesPerBlock = aligned(plan.scratch.bytesPerBlock);
  return plan.sharedBytes <= limit;
}

/** Tiles that rows make; each elite's last one is half full on average. */
double tilesOf(const PlanNeeds& needs, int tileRows) {
  const double tiles = static_cast<double>(needs.rows) / tileRows;
  return needs.passes == 1 && needs.elites > 1 ? tiles + 0.5 * needs.elites : tiles;
}

std::optional<LaunchPlan> layOut(Device& device, const DeviceLimits& limits, const PackForm& form, const PlanNeeds& needs,
                                 TileHeight height) {
  LaunchPlan plan;
  plan.threads = form.isFused ? static_cast<unsigned>(height.warps) * 32 : PLAIN_THREADS;
  plan.tileRows = form.isFused ? 16 * height.warps : PLAIN_ROWS;
  plan.kernel = kernelOf(form, needs);
  const auto most = static_cast<std::int64_t>(limits.multiprocessors) * 2;
  // The table of a block has room for as many segments as there may be blocks.
  plan.scratch.answers = aligned(static_cast<std::uint64_t>(needs.elites) * static_cast<std::uint64_t>(most + 1) * 4);
  const bool fits = form.isFused ? layOutFused(plan, form, needs, height, limits.sharedBytesPerBlock)
                                 : layOutPlain(plan, needs, limits.sharedBytesPerBlock);
  if (!fits) return std::nullopt;
  const int resident = std::min(2, device.residentBlocks(plan.kernel.c_str(), plan.threads, plan.sharedBytes));
  if (resident == 0) return std::nullopt;
  const auto tiles = static_cast<std::int64_t>(tilesOf(needs, plan.tileRows)) + 1;
  plan.blocks =
      static_cast<unsigned>(std::clamp<std::int64_t>(tiles, 1, resident * static_cast<std::int64_t>(limits.multiprocessors)));
  plan.segments =
      needs.isRollout ? plan.blocks : static_cast<std::uint32_t>(std::clamp<std::int64_t>(wholes(needs.rows, 256), 1, most));
  return plan;
}

}  // namespace

PackForm packFormOf(const EnsembleSpec& spec, Precision precision) {
  PackForm form{precision != Precision::fp32, 0};
  if (!form.isFused) return form;
  const int widest = widestHidden(spec.elites.front().layers);
  for (const int width : WIDTHS) {
    if (widest > width) continue;
    form.steps = width / depthOf(form);
    return form;
  }
  return PackForm{false, 0};
}

std::optional<PackForm> policyFormOf(const PolicySpec& policy, const PackForm& model) {
  PackForm form = model;
  form.steps = 0;
  if (form.isFused && widestHidden(policy.layers) > 256) return std::nullopt;
  return form;
}

LaunchPlan planLaunch(Device& device, const PackForm& form, const PlanNeeds& needs, std::optional<TileHeight> height) {
  const DeviceLimits limits = device.limits();
  const auto multiprocessors = static_cast<unsigned>(limits.multiprocessors);
  std::optional<LaunchPlan> best;
  double soonest = 0;
  for (const Candidate& candidate : CANDIDATES) {
    if (height && height->warps != candidate.height.warps) continue;
    const auto plan = layOut(device, limits, form, needs, candidate.height);
    if (!plan) continue;
    const double rounds = static_cast<double>(static_cast<std::int64_t>(tilesOf(needs, plan->tileRows) / plan->blocks) + 1);
    const double time = rounds * (plan->blocks > multiprocessors ? candidate.shared : candidate.alone);
    if (best && time >= soonest) continue;
    best = plan;
    soonest = time;
  }
  if (!best) throw DeviceError("this device's blocks have too little shared memory for networks of this size");
  return *best;
}

}  // namespace reverie
