// Memory through which batches pass: pinned on the host, its mirror on the device, and a stream that copies between them.
#pragma once

#include <cstring>
#include <utility>

#include "device.h"

namespace reverie {

/** Pinned memory that is given back with its owner. */
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(Device& device, std::size_t bytes) : device_(&device), bytes_(bytes), memory_(device.allocatePinned(bytes)) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() {
    if (device_ != nullptr) device_->releasePinned(memory_);
  }

  char* at(std::size_t offset) const { return static_cast<char*>(memory_) + offset; }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(PinnedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
  }

  Device* device_ = nullptr;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
};

/** A stream with memory of its own on both sides, which grows as it is asked to. */
class Lane {
 public:
  explicit Lane(Device& device) : device_(device), stream_(device.makeStream()) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { device_.releaseStream(stream_); }

  /** Gives back first, so that growing never needs both. Throws OutOfMemory. */
  void grow(std::size_t deviceBytes, std::size_t pinnedBytes) {
    device_side.grow(device_, deviceBytes);
    if (pinned.bytes() < pinnedBytes) {
      pinned = PinnedBuffer();
      pinned = PinnedBuffer(device_, pinnedBytes);
    }
  }

  Stream stream() const { return stream_; }

  Buffer device_side;
  PinnedBuffer pinned;

 private:
  Device& device_;
  Stream stream_;
};

/** Hands out aligned parts of one piece of memory; the same calls give the same offsets. */
class Parts {
 public:
  std::size_t take(std::size_t bytes) {
    const std::size_t at = end_;
    end_ += (bytes + 255) / 256 * 256;
    return at;
  }
  std::size_t end() const { return end_; }

 private:
  std::size_t end_ = 0;
};

}  // namespace reverie
