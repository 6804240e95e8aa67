// Columns of many rows on the host, which are filled once and at once: memory is not cleared before, and comes in large pages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace reverie {

/** Leaves numbers that nobody gave a value as they are found. */
template <class T>
struct ColumnAllocator {
  using value_type = T;
  static constexpr std::size_t LARGE_PAGE = std::size_t{2} << 20;

  ColumnAllocator() = default;
  template <class U>
  ColumnAllocator(const ColumnAllocator<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < LARGE_PAGE) return std::allocator<T>().allocate(count);
    void* memory = std::aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
    // Advice alone: without large pages it works as well, only more slowly.
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < LARGE_PAGE) {
      std::allocator<T>().deallocate(memory, count);
    } else {
      std::free(memory);
    }
  }

  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }

  friend bool operator==(const ColumnAllocator&, const ColumnAllocator&) { return true; }
  friend bool operator!=(const ColumnAllocator&, const ColumnAllocator&) { return false; }
};

template <class T>
using Column = std::vector<T, ColumnAllocator<T>>;

}  // namespace reverie
