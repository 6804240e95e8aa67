// What one thread of a kernel can do, in two forms of the same meaning: on a GPU (nvcc), and on the host, where the emulator
// (engine/emulator.h) runs every thread as a fiber. Kernels use these words alone, so that their sources run in both.
// With REVERIE_WIDEST_ALONE a file has, for each number of blocks that a multiprocessor has to hold, the kernel that takes the most registers
// alone: the widest, and of a step and a rollout, which is made of steps, the rollout. For tests that look at registers.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define REVERIE_DEVICE __device__ __forceinline__
#define REVERIE_UNROLL _Pragma("unroll")
#define REVERIE_PRAGMA(words) _Pragma(#words)
#define REVERIE_UNROLL_BY(count) REVERIE_PRAGMA(unroll count)
/** Defines a kernel: `REVERIE_KERNEL(name, Args, maxThreads, minBlocks) { ... args ... }`. */
#define REVERIE_KERNEL(name, Args, maxThreads, minBlocks) \
  extern "C" __global__ void __launch_bounds__(maxThreads, minBlocks) name(const __grid_constant__ Args args)
#include "lane-gpu.cuh"
#else
#include <cmath>

#include "../engine/emulator.h"
#define REVERIE_DEVICE inline
#define REVERIE_UNROLL
#define REVERIE_UNROLL_BY(count)
#define REVERIE_KERNEL(name, Args, maxThreads, minBlocks)                                                       \
  static void name##_body(const Args& args);                                                                    \
  static const ::reverie::emulator::Registration name##_registration(                                           \
      #name, sizeof(Args), [](const void* args) { name##_body(*static_cast<const Args*>(args)); }, maxThreads); \
  static void name##_body(const Args& args)
#include "lane-host.h"
#endif

namespace reverie {

REVERIE_DEVICE int laneOf() { return thread() & 31; }
REVERIE_DEVICE int warpOf() { return thread() >> 5; }

REVERIE_DEVICE std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

REVERIE_DEVICE float floatOf(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

}  // namespace reverie
