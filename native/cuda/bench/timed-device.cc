// Marks around launches.
#include "timed-device.h"

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
  for (const auto& [begin, end] : marked_) time.busyMs += inner_.millisecondsBetween(begin, end);
  time.spanMs = inner_.millisecondsBetween(marked_.front().begin, marked_.back().end);
  return time;
}

}  // namespace reverie::bench
