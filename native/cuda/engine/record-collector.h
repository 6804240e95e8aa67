// Brings the records of a rollout from the device: packed branch after branch, in pieces through two lanes.
#pragma once

#include "rollout-memory.h"

namespace reverie {

class RecordCollector {
 public:
  /** `records`: as the kernels wrote them, with room for `steps` rows a delivered branch. Throws OutOfMemory. */
  RecordCollector(Device& device, std::vector<std::unique_ptr<Lane>>& lanes, const RolloutSizes& sizes,
                  const RecordArgs& records, std::size_t pieceRows);

  /** Waits for the stream, in which the records were written, and fills the answer's columns. */
  void collect(Stream writer, RolloutAnswer& answer);

 private:
  struct Piece {
    std::size_t firstBranch = 0, branches = 0, firstRow = 0, rows = 0;
  };

  Piece pieceFrom(std::size_t branch, std::size_t row, const std::vector<std::uint32_t>& lengths) const;
  void start(Lane& lane, const Piece& piece, const std::vector<std::uint32_t>& lengths);
  void finish(Lane& lane, const Piece& piece, RolloutAnswer& answer) const;

  Device& device_;
  std::vector<std::unique_ptr<Lane>>& lanes_;
  RolloutSizes sizes_;
  RecordArgs records_;
  std::size_t pieceRows_, mostBlocks_, offsetsAt_;
};

}  // namespace reverie
