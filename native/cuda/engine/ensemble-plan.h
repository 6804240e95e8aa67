// Which kernel runs an ensemble, in tiles of which height, and what a block takes of shared and device memory.
#pragma once

#include <optional>
#include <string>

#include "ensemble-pack.h"

namespace reverie {

/** What decides how memory is laid out. */
struct PlanNeeds {
  std::int64_t rows;
  /** Networks a row is answered by at once: 1, or all elites. */
  int passes;
  int elites;
  /** Each network that a launch runs, the model first. */
  std::vector<const NetworkArgs*> networks;
  bool isRollout;
};

struct LaunchPlan {
  std::string kernel;
  unsigned blocks = 0, threads = 0, sharedBytes = 0;
  int tileRows = 0;
  SharedLayout shared{};
  /** Without the address. */
  ScratchArgs scratch{};
  /** Segments in which rows are sorted by elite. */
  std::uint32_t segments = 0;
};

/** The form in which an ensemble's networks are packed: fused where all hidden layers fit, else plain. */
PackForm packFormOf(const EnsembleSpec& spec, Precision precision);

/** That of a policy beside it, or nothing where it is too wide for the fused kernels. */
std::optional<PackForm> policyFormOf(const PolicySpec& policy, const PackForm& model);

/**
 * The tiles that are worked off soonest, going by a model of their times: as few rounds as possible of as small tiles as
 * possible. `height` overrides. Throws DeviceError where no layout fits.
 */
LaunchPlan planLaunch(Device& device, const PackForm& form, const PlanNeeds& needs, std::optional<TileHeight> height);

}  // namespace reverie
