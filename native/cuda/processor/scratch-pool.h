// Memory that work is done in, kept for the next piece of work of its kind.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace reverie::processor {

template <class Scratch>
class ScratchPool {
 public:
  /** Calls `use(scratch)` with what `make()` gave once, used by nobody else meanwhile. */
  template <class Make, class Use>
  void with(Make make, Use use) {
    std::unique_ptr<Scratch> scratch = take();
    if (!scratch) scratch = std::make_unique<Scratch>(make());
    use(*scratch);
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(scratch));
  }

 private:
  std::unique_ptr<Scratch> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return nullptr;
    auto scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace reverie::processor
