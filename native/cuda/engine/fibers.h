// Runs one launch of a kernel on the host: every thread a fiber with a stack of its own, taking turns at the places where
// threads of a GPU wait for each other.
#pragma once

#include <cstddef>

#include "emulator.h"

namespace reverie::emulator {

struct Grid {
  unsigned blocks;
  unsigned threads;
  std::size_t sharedBytes;
  /** All blocks live at once; else one after another. */
  bool isCooperative;
};

/** Blocks until all threads have ended. Throws what a thread threw, and DeviceError where threads wait for ever. */
void runGrid(const Grid& grid, Body body, const void* args, Order order);

}  // namespace reverie::emulator
