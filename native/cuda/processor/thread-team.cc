#include "thread-team.h"

#include <exception>

namespace reverie::processor {

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    isEnding_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void ThreadTeam::run(std::size_t parts, const std::function<void(std::size_t)>& part) {
  std::unique_lock<std::mutex> turn(turn_, std::defer_lock);
  if (size_ < 2 || parts < 2 || !turn.try_lock()) {
    for (std::size_t i = 0; i < parts; i++) part(i);
    return;
  }
  begin();
  std::unique_lock<std::mutex> lock(mutex_);
  part_ = &part;
  next_ = 0;
  parts_ = parts;
  failure_ = nullptr;
  wanted_.notify_all();
  takeParts(lock);
  done_.wait(lock, [this] { return underWay_ == 0; });
  part_ = nullptr;
  if (failure_) std::rethrow_exception(failure_);
}

void ThreadTeam::begin() {
  while (others_.size() + 1 < static_cast<std::size_t>(size_)) others_.emplace_back([this] { serve(); });
}

void ThreadTeam::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return isEnding_ || (part_ != nullptr && next_ < parts_); });
    if (isEnding_) return;
    takeParts(lock);
  }
}

void ThreadTeam::takeParts(std::unique_lock<std::mutex>& lock) {
  while (next_ < parts_) {
    const std::size_t own = next_++;
    underWay_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*part_)(own);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--underWay_ == 0 && next_ >= parts_) done_.notify_all();
  }
}

}  // namespace reverie::processor
