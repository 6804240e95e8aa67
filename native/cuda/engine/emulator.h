// A GPU on the host: runs the kernel sources as they are, every thread a fiber that gives way where a GPU's threads wait for
// each other. For checking logic and indexing, not for speed. Asynchronous copies happen as late as they may, and the order of
// threads can be turned round or shuffled, so that a missing wait or barrier shows in the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device.h"

namespace reverie::emulator {

using Body = void (*)(const void* args);

/** Makes a kernel known by its name; one a kernel, static. */
class Registration {
 public:
  Registration(const char* name, std::size_t argBytes, Body body, unsigned maxThreads);
};

/** Bytes of the struct that a kernel takes; 0 for a name that no kernel has. */
std::size_t argumentBytes(const std::string& kernel);

enum class Order { forward, backward, shuffled };

struct Options {
  int multiprocessors = 3;
  std::size_t memoryBytes = std::size_t{1} << 30;
  std::size_t sharedBytesPerBlock = 227 * 1024;
  /** In which threads take their turns between two waits; results must not depend on it. */
  Order order = Order::forward;
};

std::unique_ptr<Device> makeEmulatedDevice(const Options& options = {});

// What kernels ask for while they run (lane-host.h).

struct Place {
  int thread, threads, block, blocks;
  char* shared;
};
const Place& place();

/** Gives way until all threads of the block (of the warp; of all blocks) have come here. A thread that has ended counts no more. */
void waitForBlock();
void waitForWarp();
void waitForGrid();

/**
 * All 32 lanes of the warp bring `in` and take `out`; the last to come runs `work(ins, outs)` over pointers to the 32 lanes' own
 * memory. A warp with lanes missing is a mistake of the kernel: throws.
 */
void together(const void* in, void* out, void (*work)(const void* const* ins, void* const* outs));

void startCopy(void* shared, const void* global);
void endCopyGroup();
void finishCopies(int pending);

}  // namespace reverie::emulator
