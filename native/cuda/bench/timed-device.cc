// Marks around launches.
#include "timed-device.h"

#include <algorithm>
#include <utility>

namespace reverie::bench {

void TimedDevice::start() {
  marked_.clear();
  isMarking_ = true;
}

void TimedDevice::launch(const Launch& launch, Stream stream) {
  if (!isMarking_) return inner_.launch(launch, stream);
  const auto begin = inner_.mark(stream);
  inner_.launch(launch, stream);
  marked_.push_back({begin, inner_.mark(stream)});
}

DeviceTime TimedDevice::stop() {
  isMarking_ = false;
  DeviceTime time;
  time.launches = static_cast<int>(marked_.size());
  if (marked_.empty()) return time;
  const std::uint64_t first = marked_.front().begin;
  std::vector<std::pair<double, double>> intervals;
  for (const auto& [begin, end] : marked_) {
    intervals.emplace_back(inner_.millisecondsBetween(first, begin), inner_.millisecondsBetween(first, end));
  }
  // Launches of several streams may overlap.
  std::sort(intervals.begin(), intervals.end());
  for (const auto& [begin, end] : intervals) {
    time.busyMs += std::max(0.0, end - std::max(begin, time.spanMs));
    time.spanMs = std::max(time.spanMs, end);
  }
  return time;
}

}  // namespace reverie::bench
