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
    // Items of a warp are so few that the product with the rounded reciprocal is the quotient.
    const std::uint32_t reciprocal = 0xffffffffu / static_cast<std::uint32_t>(blocksPerRow) + 1;
    for (int item = laneOf(); item < rows_.count * blocksPerRow; item += 32) {
      const int row = blocksPerRow == 1 ? item : static_cast<int>(mulHigh(static_cast<std::uint32_t>(item), reciprocal));
      Four four{};
      four.first = 4 * (item - row * blocksPerRow);
      if (!dynamics_.isDeterministic) draw(row, four);
      if (rows_.elite[row] >= 0) {
        changeByOne(row, four);
      } else {
        changeByMean(row, four);
      }
      place(row, four, obs, keep);
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
  /** Elements of a row from `first` on; those before 0 or from `outputDim` on are nobody's. */
  struct Four {
    int first;
    float noise[4], change[4];
  };

  REVERIE_DEVICE int answerOf(int elite) const { return dynamics_.asksAll ? elite : 0; }

  /** The nearest element that is there: nobody's are computed too, so that all four go one way. */
  REVERIE_DEVICE int columnOf(const Four& four, int i) const {
    const int column = four.first + i < 0 ? 0 : four.first + i;
    return column < dynamics_.outputDim ? column : dynamics_.outputDim - 1;
  }

  /** A block of words that begins before the row's first one is brought forward. */
  REVERIE_DEVICE void draw(int row, Four& four) const {
    const RandomStream stream = noise_.streamOf(rows_.place[row]);
    const std::uint64_t position = stream.position + noise_.firstNormal(rows_.rank[row], dynamics_);
    const Words words = philox(stream.key0, stream.key1, position / 4 + static_cast<std::uint64_t>(four.first / 4));
    four.first -= static_cast<int>(position % 4);
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) four.noise[i] = normalOf(words.at[i]);
  }

  /** Changes of elements (or the reward) in raw units, by the row's own elite. */
  REVERIE_DEVICE void changeByOne(int row, Four& four) const {
    const int elite = rows_.elite[row];
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) {
      const int column = columnOf(four, i);
      const float mean = answers_(answerOf(elite), column, row);
      const float variance = dynamics_.isDeterministic ? 0.0f : varianceOf(elite, answerOf(elite), column, row);
      four.change[i] = changeOf(column, mean, variance, four.noise[i]);
    }
  }

  /** By the mean of all elites' means and variances. */
  REVERIE_DEVICE void changeByMean(int row, Four& four) const {
    for (int i = 0; i < 4; i++) {
      const int column = columnOf(four, i);
      float mean = 0.0f, variance = 0.0f;
      for (int e = 0; e < dynamics_.elites; e++) {
        mean += answers_(e, column, row);
        variance += varianceOf(e, e, column, row);
      }
      const float elites = static_cast<float>(dynamics_.elites);
      four.change[i] = changeOf(column, mean / elites, variance / elites, four.noise[i]);
    }
  }

  REVERIE_DEVICE float changeOf(int column, float mean, float variance, float noise) const {
    return (mean + squareRootFast(variance) * noise) * dynamics_.targetScale[column] + dynamics_.targetMean[column];
  }

  REVERIE_DEVICE float varianceOf(int elite, int answer, int column, int row) const {
    const int at = elite * dynamics_.outputDim + column;
    const float raw = answers_(answer, dynamics_.outputDim + column, row);
    return dynamics_.varianceMin[at] + dynamics_.varianceMax[at] * Number::sigmoid(raw - dynamics_.logVarMax[at]);
  }

  /** All is read before anything is written, so that reads do not wait for each other. */
  template <class Keep>
  REVERIE_DEVICE void place(int row, const Four& four, const float* obs, Keep keep) {
    float before[4], low[4], high[4];
    const float* own = obs + static_cast<std::uint64_t>(rows_.place[row]) * static_cast<unsigned>(dynamics_.obsDim);
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) {
      const int column = columnOf(four, i) < dynamics_.obsDim ? columnOf(four, i) : dynamics_.obsDim - 1;
      before[i] = own[column];
      low[i] = dynamics_.low[column];
      high[i] = dynamics_.high[column];
    }
    REVERIE_UNROLL
    for (int i = 0; i < 4; i++) {
      const int column = four.first + i;
      if (column < 0 || column >= dynamics_.outputDim) continue;
      const bool isReward = column >= dynamics_.obsDim;
      const float after = isReward ? four.change[i] : before[i] + four.change[i];
      const bool isUsable = isFinite(after);
      if (!isUsable) rows_.isNonFinite[row] = 1;
      if (isReward) {
        rows_.reward[row] = after;
      } else {
        keep(row, column, before[i], isUsable ? clamp(after, low[i], high[i]) : after);
      }
    }
  }

  const DynamicsArgs& dynamics_;
  const StepNoise& noise_;
  const Answers& answers_;
  WarpRows& rows_;
};

}  // namespace reverie
