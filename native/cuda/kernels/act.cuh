// What a policy network's outputs become: actions and their log-density, as src/rl/policy-net.ts has them.
#pragma once

#include "noise.cuh"
#include "number.cuh"
#include "tile.cuh"

namespace reverie {

constexpr float HALF_LOG_TWO_PI = 0.918938533204672742f;
constexpr float TWO_LOG_TWO = 1.386294361119890619f;

/** One row's action. Words of the policy's stream: [rows, action columns or choices]. */
class Actor {
 public:
  REVERIE_DEVICE Actor(const PolicyArgs& policy, const RandomStream& stream, const Answers& answers)
      : policy_(policy), stream_(stream), answers_(answers) {}

  /** Writes the action; answers its log-density (of a sample; meaningless for the mode). */
  REVERIE_DEVICE float act(int row, std::uint32_t rank, float* action) {
    if (policy_.head == PolicyHead::categorical) return choose(row, rank, action);
    const std::uint64_t first = static_cast<std::uint64_t>(rank) * static_cast<unsigned>(policy_.actionDim);
    float density = -policy_.logScale;
    for (int j = 0; j < policy_.actionDim; j++) {
      const float mean = answers_(0, j, row);
      const float noise = policy_.isDeterministic ? 0.0f : normalOf(word(first + static_cast<unsigned>(j)));
      const float unit =
          policy_.head == PolicyHead::squashed ? squash(row, j, mean, noise, density) : add(j, mean, noise, density);
      action[j] = clamp(unit * policy_.scale[j] + policy_.bias[j], policy_.low[j], policy_.high[j]);
    }
    return density;
  }

 private:
  /** The block of words that was used last serves the next columns too. */
  REVERIE_DEVICE std::uint32_t word(std::uint64_t offset) {
    const std::uint64_t position = stream_.position + offset;
    if (position / 4 != block_) {
      block_ = position / 4;
      words_ = philox(stream_.key0, stream_.key1, block_);
    }
    const int at = static_cast<int>(position % 4);
    const std::uint32_t low = at & 1 ? words_.at[1] : words_.at[0], high = at & 1 ? words_.at[3] : words_.at[2];
    return at & 2 ? high : low;
  }

  /** Tanh of a Gaussian (Haarnoja et al. 2018, 1801.01290, appendix C). */
  REVERIE_DEVICE float squash(int row, int j, float mean, float noise, float& density) const {
    const float logStd = clamp(answers_(0, policy_.actionDim + j, row), -10.0f, 2.0f);
    const float before = mean + Exact::exp(logStd) * noise;
    density += -0.5f * noise * noise - logStd;
    density += 2.0f * (before + softplus<Exact>(-2.0f * before)) - TWO_LOG_TWO - HALF_LOG_TWO_PI;
    return Exact::tanh(before);
  }

  /** A Gaussian of its own spread, cut to [-1, 1]; the density is that before the cut. */
  REVERIE_DEVICE float add(int j, float mean, float noise, float& density) const {
    const float spread = Exact::exp(policy_.logStd[j]);
    density += -0.5f * noise * noise - policy_.logStd[j] - HALF_LOG_TWO_PI;
    return clamp(mean + spread * noise, -1.0f, 1.0f);
  }

  /** Gumbel-max sampling; the first of equal maxima wins. */
  REVERIE_DEVICE float choose(int row, std::uint32_t rank, float* action) {
    const std::uint64_t first = static_cast<std::uint64_t>(rank) * static_cast<unsigned>(policy_.choices);
    float peak = answers_(0, 0, row), best = 0.0f, sum = 0.0f;
    for (int j = 1; j < policy_.choices; j++) peak = larger(peak, answers_(0, j, row));
    int chosen = 0;
    for (int j = 0; j < policy_.choices; j++) {
      const float logit = answers_(0, j, row);
      sum += Exact::exp(logit - peak);
      const float score = policy_.isDeterministic ? logit : logit + gumbelOf(word(first + static_cast<unsigned>(j)));
      if (j > 0 && !(score > best)) continue;
      best = score;
      chosen = j;
    }
    action[0] = static_cast<float>(chosen + policy_.start);
    return answers_(0, chosen, row) - peak - Exact::log(sum);
  }

  static REVERIE_DEVICE float gumbelOf(std::uint32_t word) {
    // The ends of (0, 1), whose double logarithm would be infinite, are left out as src/rl/network-policy.ts does.
    const float uniform = 1e-7f + uniformOf(word) * (1.0f - 2e-7f);
    return -Exact::log(-Exact::log(uniform));
  }

  const PolicyArgs& policy_;
  RandomStream stream_;
  const Answers& answers_;
  std::uint64_t block_ = ~std::uint64_t{0};
  Words words_{};
};

}  // namespace reverie
