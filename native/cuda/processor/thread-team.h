// Threads that share the parts of one piece of work, and sleep between two of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reverie::processor {

class ThreadTeam {
 public:
  /** `threads` work at a time, the caller one of them; the others are begun when there is something for them. */
  explicit ThreadTeam(int threads) : size_(threads) {}
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /**
   * Calls `part(i)` for every i below `parts`, in any order, and returns when all are done. A second caller, while the team is
   * busy, does its parts alone. Rethrows the first failure.
   */
  void run(std::size_t parts, const std::function<void(std::size_t)>& part);

 private:
  void begin();
  void serve();
  /** Takes parts until there are none; called and left with the lock held. */
  void takeParts(std::unique_lock<std::mutex>& lock);

  const int size_;
  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable wanted_, done_;
  const std::function<void(std::size_t)>* part_ = nullptr;
  std::size_t next_ = 0, parts_ = 0, underWay_ = 0;
  std::exception_ptr failure_;
  bool isEnding_ = false;
  std::vector<std::thread> others_;
};

}  // namespace reverie::processor
