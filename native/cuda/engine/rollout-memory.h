// What a rollout keeps on the device: the state of all branches, and records of the delivered ones.
#pragma once

#include "ensemble-device.h"

namespace reverie {

/** Sizes that decide how much memory a rollout takes. */
struct RolloutSizes {
  std::size_t branches, delivered, obsDim, actionDim, horizon, blocks, elites, segments;
  bool hasLogProb, hasDisagreement;
};

/** State of all branches. Offsets into one buffer. */
struct StatePlaces {
  std::size_t obs[2], action, living[2], verdict, alive, actStreams, modelStreams, order, starts, sums, barrier, stages,
      scratch, end;
};
StatePlaces placeState(const RolloutSizes& sizes, std::size_t scratchBytes, std::size_t stageBytes);

/** Columns of records of `rows` rows. Offsets into one buffer; kept columns lie side by side. */
struct RecordPlaces {
  std::size_t obs, action, nextObs, reward, logProb, disagreement, verdict, terminated, end;
};
RecordPlaces placeRecords(const RolloutSizes& sizes, std::size_t rows);

/** Addresses of records that begin at `base`. */
RecordArgs recordsAt(char* base, const RecordPlaces& places, const RolloutSizes& sizes);

}  // namespace reverie
