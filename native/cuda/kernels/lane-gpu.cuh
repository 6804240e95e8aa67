// The words of lane.cuh on a GPU of compute capability 8.0 or newer: the PTX instructions behind them.
#pragma once

namespace reverie {

REVERIE_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
REVERIE_DEVICE int threads() { return static_cast<int>(blockDim.x); }
REVERIE_DEVICE int block() { return static_cast<int>(blockIdx.x); }
REVERIE_DEVICE int blocks() { return static_cast<int>(gridDim.x); }

/** The block's dynamic shared memory, 128-byte aligned. */
REVERIE_DEVICE char* sharedMemory() {
  extern __shared__ __align__(128) char memory[];
  return memory;
}

REVERIE_DEVICE void syncBlock() { __syncthreads(); }
REVERIE_DEVICE void syncWarp() { __syncwarp(); }

/** Waits for all blocks of a cooperative launch. `barrier` is zeroed before the launch and belongs to it alone. */
REVERIE_DEVICE void syncGrid(unsigned* barrier) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned arrived = atomicAdd(barrier, 1u);
    const unsigned goal = (arrived / gridDim.x + 1u) * gridDim.x;
    unsigned seen;
    do {
      // The fence below makes it an acquire; an acquire in the loop would empty L1 at every turn.
      asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(barrier) : "memory");
    } while (static_cast<int>(seen - goal) < 0);
    __threadfence();
  }
  __syncthreads();
}

template <class T>
REVERIE_DEVICE T shuffle(T value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}

template <class T>
REVERIE_DEVICE T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

REVERIE_DEVICE unsigned ballot(bool predicate) { return __ballot_sync(0xffffffffu, predicate); }
REVERIE_DEVICE int countBits(unsigned bits) { return __popc(bits); }

template <class T>
REVERIE_DEVICE T addAtomic(T* to, T value) {
  return atomicAdd(to, value);
}

REVERIE_DEVICE std::uint32_t mulHigh(std::uint32_t a, std::uint32_t b) { return __umulhi(a, b); }

/** c += a b: a 16 x 8, b 8 x 8, tf32, accumulated in float (PTX mma.m16n8k8). */
REVERIE_DEVICE void mmaTf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** tf32 of a float, nearest, ties away, as bits of a float. */
REVERIE_DEVICE std::uint32_t tf32Bits(float value) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

/** 16 bytes from global to shared memory, both 16-byte aligned, there after the copyWait of its group. */
REVERIE_DEVICE void copyAsync(void* shared, const void* global) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}

/** Ends a group of this thread's copies. */
REVERIE_DEVICE void copyCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/** Waits until at most the `pending` youngest groups of this thread are under way. Others' copies need a syncBlock after it. */
template <int pending>
REVERIE_DEVICE void copyWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/** 16 bytes of shared memory, in the order of the program: a compiler that moves such loads ahead runs out of registers. */
REVERIE_DEVICE uint4 loadShared(const void* shared) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address) : "memory");
  return v;
}

/** e^x by two instructions, relative error about 2^-21. */
REVERIE_DEVICE float expFast(float x) { return __expf(x); }
REVERIE_DEVICE float reciprocalFast(float x) { return __fdividef(1.0f, x); }
/** Square root and natural logarithm by one special-function instruction each, relative error about 2^-22. */
REVERIE_DEVICE float squareRootFast(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
REVERIE_DEVICE float logarithmFast(float x) { return __logf(x); }
REVERIE_DEVICE float squareRoot(float x) { return sqrtf(x); }
/** Accurate to a few units in the last place. */
REVERIE_DEVICE float exponential(float x) { return expf(x); }
REVERIE_DEVICE float logarithm(float x) { return logf(x); }
REVERIE_DEVICE float hyperbolicTangent(float x) { return tanhf(x); }
REVERIE_DEVICE float arcTangent(float y, float x) { return atan2f(y, x); }

}  // namespace reverie
