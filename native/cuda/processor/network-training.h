// A network of fully connected layers that learns: a block of rows forwards, and their gradients backwards. Parameters and their
// gradients are read and added to where they lie.
#pragma once

#include <vector>

#include "packed-network.h"

namespace reverie::processor {

/** A layer within an array of parameters: w [in, out] and b [out] begin at these elements. */
struct TrainedLayer {
  int in, out;
  std::size_t w, b;
};

struct TrainedNetwork {
  std::vector<TrainedLayer> layers;
  /** What follows all layers but the last. */
  Activation activation;
  /** Whether hidden units are normalised before the activation. */
  bool isNormalised;
  /**
   * Residual blocks (SimBa, Lee et al. 2025, 2410.09754), as src/nn/parameters.ts has them: layers of even number add to a stream, which
   * is normalised for the next; those of odd number are what a block is inside.
   */
  bool isResidual;
};

/**
 * `copies` networks like `like`, of these widths, input first, side by side from element `at` on (w0 [copies, in, out], b0 [copies, 1, out], …);
 * `at` is moved behind them.
 */
std::vector<TrainedNetwork> networksAt(std::size_t& at, const std::vector<int>& sizes, const TrainedNetwork& like, std::size_t copies);

/** What is kept of a block of rows on its way through one network; arrays are [features, ROW_BLOCK]. */
class NetworkRows {
 public:
  NetworkRows(const TrainedNetwork& network, const Width& width);

  /** From now on the rows of another network of the same shape. */
  void turnTo(const TrainedNetwork& network) { network_ = &network; }

  /**
   * The outputs for `rows` rows of `input`, kept with `input` until the next call.
   * @param factors of each hidden layer, what its sums are multiplied by [features, ROW_BLOCK], kept as the input is; null for none
   */
  const float* forward(const float* parameters, const float* input, int rows, const std::vector<AlignedFloats>* factors = nullptr);

  /** Where the gradients of the outputs are expected; overwritten by `backward`. */
  float* outputGradient() { return gradients_[(network_->layers.size() - 1) % 2].data(); }

  /** Of the rows that went forward last: adds to `gradient`, or begins it where not `goesOn`. */
  void parameterGradients(const float* parameters, float* gradient, bool goesOn) {
    backward(parameters, gradient, goesOn, nullptr, 0, false);
  }

  /** Of the rows that went forward last: gradients of the inputs from the `first` on to `to`, added to what it holds where `goesOn`. */
  void inputGradients(const float* parameters, int first, float* to, bool goesOn) {
    backward(parameters, nullptr, false, to, first, goesOn);
  }

 private:
  void backward(const float* parameters, float* gradient, bool gradientGoesOn, float* inputGradient, int firstInput,
                bool inputGoesOn);
  void addParameters(const TrainedLayer& layer, const float* input, const float* g, float* gradient, bool goesOn);
  HiddenUnits units(std::size_t layer);
  bool isStream(std::size_t layer) const { return network_->isResidual && layer % 2 == 0; }
  const float* inputOf(std::size_t layer) const;

  const TrainedNetwork* network_;
  const TrainingKernels& kernels_;
  const float* input_ = nullptr;
  const std::vector<AlignedFloats>* factors_ = nullptr;
  int rows_ = 0;
  struct Layer {
    AlignedFloats before, after, precision;
  };
  std::vector<Layer> kept_;
  /** Of the outputs of layers, even and odd ones; and those of one layer with rows and features exchanged. */
  AlignedFloats gradients_[2], turned_;
  /** Of residual blocks: their stream so far, or its gradients. */
  AlignedFloats stream_;
};

}  // namespace reverie::processor
