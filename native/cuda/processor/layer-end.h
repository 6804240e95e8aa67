// What follows the sums of a fully connected layer.
#pragma once

namespace reverie::processor {

enum class LayerEnd : int { none, relu, tanh, swish };

}  // namespace reverie::processor
