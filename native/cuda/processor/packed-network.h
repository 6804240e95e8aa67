// Networks as the kernels read them, and how rows go through all their layers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../engine/ensemble.h"
#include "width.h"

namespace reverie::processor {

/** Floats that begin at a line of the cache; zeros at first. */
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t count);
  float* data() { return start_; }
  const float* data() const { return start_; }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<float[]> memory_;
  float* start_ = nullptr;
  std::size_t size_ = 0;
};

/** One network, packed once for a width. */
class PackedNetwork {
 public:
  PackedNetwork(const std::vector<Layer>& layers, Activation activation, const Width& width);

  /** Floats of the widest layer's outputs, padded: rows of both buffers of `run` lie so far apart. */
  int stride() const { return stride_; }
  std::size_t bytes() const { return memory_.size() * sizeof(float); }

  /**
   * Takes rows [rows, stride] of `first` through all layers; answers where the last one's outputs are: in `first` or `second`,
   * [rows, stride].
   */
  const float* run(float* first, float* second, int rows) const;

 private:
  const Width* width_;
  AlignedFloats memory_;
  std::vector<PackedLayer> layers_;
  int stride_ = 0;
};

/** `count` rounded up to whole vectors, with one more: what is read beyond the last column lies there. */
int paddedTo(int count, const Width& width);

}  // namespace reverie::processor
