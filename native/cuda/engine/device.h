// A machine that runs kernels: a GPU through the CUDA driver (driver.h), or the host, which runs the same kernel sources
// (emulator.h). Whoever plans and launches work knows this interface alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace reverie {

/** What the machine refused, in its own words. `code` is the driver's number, 0 where the driver was not asked. */
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, int code = 0) : std::runtime_error(what), code(code) {}
  const int code;
};

/** An allocation would exceed what is free; the caller may split its batch. */
class OutOfMemory : public DeviceError {
 public:
  explicit OutOfMemory(std::size_t bytes)
      : DeviceError("out of device memory: " + std::to_string(bytes) + " bytes wanted", 2), bytes(bytes) {}
  const std::size_t bytes;
};

struct DeviceLimits {
  std::string name;
  bool isEmulated = false;
  int computeMajor = 0;
  int computeMinor = 0;
  /** As the driver numbers it: 13010 is CUDA 13.1; 0 where there is none. */
  int driverVersion = 0;
  int multiprocessors = 0;
  /** Shared memory one block may have, opted in, in bytes. */
  std::size_t sharedBytesPerBlock = 0;
  std::size_t memoryBytes = 0;
  std::size_t freeBytes = 0;
};

/** Device memory: an address of the device, meaningless to the host unless the device is emulated. */
using Address = std::uint64_t;

/** Work of one stream is done in order; 0 is a stream that every device has. */
using Stream = std::uint64_t;

/** One launch. Every kernel takes one struct by value: `args`, of `argBytes` bytes. */
struct Launch {
  const char* kernel;
  unsigned blocks;
  unsigned threads;
  std::size_t sharedBytes;
  const void* args;
  std::size_t argBytes;
  /** All blocks must be resident at once, as they wait for each other (syncGrid). */
  bool isCooperative;
};

template <class Args>
Launch launchOf(const char* kernel, unsigned blocks, unsigned threads, std::size_t sharedBytes, const Args& args,
                bool isCooperative = false) {
  return Launch{kernel, blocks, threads, sharedBytes, &args, sizeof(Args), isCooperative};
}

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceLimits limits() = 0;

  /** At least 256-byte aligned. Throws OutOfMemory. */
  virtual Address allocate(std::size_t bytes) = 0;
  virtual void release(Address address) = 0;
  /** Host memory that the device copies from and to without a detour. Throws OutOfMemory. */
  virtual void* allocatePinned(std::size_t bytes) = 0;
  virtual void releasePinned(void* memory) = 0;

  virtual Stream makeStream() = 0;
  virtual void releaseStream(Stream stream) = 0;
  /** Waits until everything given to the stream is done; throws what went wrong in it. */
  virtual void synchronize(Stream stream) = 0;

  /** Asynchronous where `from` (`to`) is pinned memory, which must then stay as it is until `synchronize`. */
  virtual void upload(Address to, const void* from, std::size_t bytes, Stream stream = 0) = 0;
  virtual void download(void* to, Address from, std::size_t bytes, Stream stream = 0) = 0;
  virtual void fillZero(Address to, std::size_t bytes, Stream stream = 0) = 0;

  virtual void launch(const Launch& launch, Stream stream = 0) = 0;
  /** Blocks of this kernel that one multiprocessor holds at once: bounds a cooperative launch. */
  virtual int residentBlocks(const char* kernel, unsigned threads, std::size_t sharedBytes) = 0;

  /** Milliseconds of device time between two marks of a stream (emulated: wall time). */
  virtual std::uint64_t mark(Stream stream) = 0;
  virtual float millisecondsBetween(std::uint64_t first, std::uint64_t second) = 0;
};

/** Device memory that is given back with its owner. */
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes) : device_(&device), bytes_(bytes), address_(device.allocate(bytes)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (device_ != nullptr) device_->release(address_);
  }

  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(address_);
  }

  /** Room for `bytes` at least; what was there is lost. Gives back first, so that growing never needs both. */
  void grow(Device& device, std::size_t bytes) {
    if (bytes_ >= bytes && device_ == &device) return;
    *this = Buffer();
    *this = Buffer(device, bytes);
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(address_, other.address_);
  }

  Device* device_ = nullptr;
  std::size_t bytes_ = 0;
  Address address_ = 0;
};

}  // namespace reverie
