// The harness as one side of a comparison: answers requests line by line until its input ends.
#pragma once

#include "work.h"

namespace reverie::bench {

/** `kernels` runs the product's kernels, `ceilings` those of bench/kernels; they may be one device. */
int serve(Device& kernels, Device& ceilings, const Shape& shape);

}  // namespace reverie::bench
