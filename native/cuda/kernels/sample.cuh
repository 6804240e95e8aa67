// From what the elites answered for a warp's rows to predictions: samples in raw units, bounds, doubt, learned ends.
// What is computed is src/worldmodel/ensemble/propagation.ts, with the variance in the form of member-network.ts:
// exp(min) + exp(max) sigmoid(raw - max) is the twice bounded log-variance of PETS.
#pragma once

#include "noise.cuh"
#include "number.cuh"
#include "tile.cuh"

namespace reverie {

template <class Number>
class Sampler {
 public:
  REVERIE_DEVICE Sampler(const DynamicsArgs& dynamics, const StepNoise& noise, const Answers& answers, WarpRows& rows)
      : dynamics_(dynamics), noise_(noise), answers_(answers), rows_(rows) {}

  /**
   * `keep(row, column, before, after)` for every element of the warp's next observations; rewards go to the rows.
   * Four elements a lane, as many as one block of random words serves. Elements that are not finite are kept as they are.
   */
  template <class Keep>
  REVERIE_DEVICE void sample(const float* obs, Keep keep) {
    const int blocksPerRow = dynamics_.isDeterministic ? (dynamics_.outputDim + 3) / 4 : (dynamics_.outputDim + 6) / 4;
    for (int item = laneOf(); item < rows_.count * blocksPerRow; item += 32) {
      const int row = item / blocksPerRow, index = item % blocksPerRow;
      Words words{};
      int first = 4 * index;
      if (!dynamics_.isDeterministic) {
        const RandomStream stream = noise_.streamOf(rows_.place[row]);
        const std::uint64_t position = stream.position + noise_.firstNormal(rows_.rank[row], dynamics_);
        first -= static_cast<int>(position % 4);
        words = philox(stream.key0, stream.key1, position / 4 + static_cast<std::uint64_t>(index));
      }
      REVERIE_UNROLL
      for (int i = 0; i < 4; i++) {
        const int column = first + i;
        if (column < 0 || column >= dynamics_.outputDim) continue;
        const float noise = dynamics_.isDeterministic ? 0.0f : normalOf(words.at[i]);
        place(row, column, change(row, column, noise), obs, keep);
      }
    }
  }

  /** Largest root mean square over elites of their means' distance from the mean of them all, in deviations of the targets. */
  REVERIE_DEVICE float disagreement(int row) {
    for (int j = 0; j < dynamics_.obsDim; j++) {
      float sum = 0.0f;
      for (int e = 0; e < dynamics_.elites; e++) sum += answers_(e, j, row);
      // The log-variance has been used; its place keeps the centre.
      answers_(0, dynamics_.outputDim + j, row) = sum / static_cast<float>(dynamics_.elites);
    }
    float most = 0.0f;
    for (int e = 0; e < dynamics_.elites; e++) {
      float squares = 0.0f;
      for (int j = 0; j < dynamics_.obsDim; j++) {
        const float distance = answers_(e, j, row) - answers_(0, dynamics_.outputDim + j, row);
        squares += distance * distance;
      }
      const float root = squareRoot(squares / static_cast<float>(dynamics_.obsDim));
      if (root > most || isNotANumber(root)) most = root;
    }
    return most;
  }

  /** Whether the learned head says that the task ended. */
  REVERIE_DEVICE bool isEnd(int row) const {
    const int column = 2 * dynamics_.outputDim, elite = rows_.elite[row];
    float probability = 0.0f;
    if (elite >= 0) {
      probability = Exact::sigmoid(answers_(answerOf(elite), column, row));
    } else {
      for (int e = 0; e < dynamics_.elites; e++) probability += Exact::sigmoid(answers_(e, column, row));
      probability /= static_cast<float>(dynamics_.elites);
    }
    return noise_.chance(rows_.place[row], rows_.rank[row], dynamics_) < probability;
  }

 private:
  REVERIE_DEVICE int answerOf(int elite) const { return dynamics_.asksAll ? elite : 0; }

  /** Change of an element (or the reward) in raw units. */
  REVERIE_DEVICE float change(int row, int column, float noise) const {
    const int elite = rows_.elite[row];
    float mean = 0.0f, variance = 0.0f;
    if (elite >= 0) {
      mean = answers_(answerOf(elite), column, row);
      if (!dynamics_.isDeterministic) variance = varianceOf(elite, answerOf(elite), column, row);
    } else {
      for (int e = 0; e < dynamics_.elites; e++) {
        mean += answers_(e, column, row);
        variance += varianceOf(e, e, column, row);
      }
      mean /= static_cast<float>(dynamics_.elites);
      variance /= static_cast<float>(dynamics_.elites);
    }
    return (mean + squareRoot(variance) * noise) * dynamics_.targetScale[column] + dynamics_.targetMean[column];
  }

  REVERIE_DEVICE float varianceOf(int elite, int answer, int column, int row) const {
    const int at = elite * dynamics_.outputDim + column;
    const float raw = answers_(answer, dynamics_.outputDim + column, row);
    return dynamics_.varianceMin[at] + dynamics_.varianceMax[at] * Number::sigmoid(raw - dynamics_.logVarMax[at]);
  }

  template <class Keep>
  REVERIE_DEVICE void place(int row, int column, float change, const float* obs, Keep keep) {
    if (column >= dynamics_.obsDim) {
      rows_.reward[row] = change;
      if (!isFinite(change)) rows_.isNonFinite[row] = 1;
      return;
    }
    const float before = obs[static_cast<std::uint64_t>(rows_.place[row]) * static_cast<unsigned>(dynamics_.obsDim) + column];
    const float after = before + change;
    const bool isUsable = isFinite(after);
    if (!isUsable) rows_.isNonFinite[row] = 1;
    keep(row, column, before, isUsable ? clamp(after, dynamics_.low[column], dynamics_.high[column]) : after);
  }

  const DynamicsArgs& dynamics_;
  const StepNoise& noise_;
  const Answers& answers_;
  WarpRows& rows_;
};

}  // namespace reverie
