// Brings the records of a window from the device.
#include "record-collector.h"

#include <algorithm>

namespace reverie {
namespace {

constexpr unsigned THREADS = 256;

Address addressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace

RecordCollector::RecordCollector(Device& device, std::vector<std::unique_ptr<Lane>>& lanes, const RolloutSizes& sizes,
                                 const RecordArgs& records, std::size_t pieceRows)
    : device_(device),
      lanes_(lanes),
      sizes_(sizes),
      records_(records),
      pieceRows_(std::max<std::size_t>(pieceRows, records.window)),
      mostBlocks_(static_cast<std::size_t>(device.limits().multiprocessors) * 8) {
  offsetsAt_ = placeRecords(sizes, pieceRows_).end;
  for (const auto& lane : lanes_) lane->grow(offsetsAt_ + pieceRows_ * 4, offsetsAt_ + pieceRows_ * 4);
}

WindowRows RecordCollector::collect(Stream writer) {
  WindowRows rows;
  rows.lengths.resize(sizes_.delivered);
  device_.download(rows.lengths.data(), addressOf(records_.lengths), sizes_.delivered * 4, writer);
  device_.synchronize(writer);
  std::size_t all = 0;
  for (const std::uint32_t length : rows.lengths) all += length & ~DROPPED_BIT;
  rows.resize(all, sizes_);
  Piece pieces[2];
  int turn = 0;
  for (std::size_t branch = 0, row = 0; branch < sizes_.delivered; turn ^= 1) {
    Lane& lane = *lanes_[static_cast<std::size_t>(turn)];
    finish(lane, pieces[turn], rows);
    pieces[turn] = pieceFrom(branch, row, rows.lengths);
    start(lane, pieces[turn], rows.lengths);
    branch += pieces[turn].branches;
    row += pieces[turn].rows;
  }
  for (int i = 0; i < 2; i++, turn ^= 1) finish(*lanes_[static_cast<std::size_t>(turn)], pieces[turn], rows);
  return rows;
}

RecordCollector::Piece RecordCollector::pieceFrom(std::size_t branch, std::size_t row,
                                                  const std::vector<std::uint32_t>& lengths) const {
  Piece piece{branch, 0, row, 0};
  while (branch + piece.branches < sizes_.delivered && piece.branches < pieceRows_) {
    const std::size_t length = lengths[branch + piece.branches] & ~DROPPED_BIT;
    if (piece.rows + length > pieceRows_) break;
    piece.rows += length;
    piece.branches++;
  }
  return piece;
}

void RecordCollector::start(Lane& lane, const Piece& piece, const std::vector<std::uint32_t>& lengths) {
  if (piece.rows == 0) return;
  auto* offsets = reinterpret_cast<std::uint32_t*>(lane.pinned.at(offsetsAt_));
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < piece.branches; i++) {
    offsets[i] = at;
    at += lengths[piece.firstBranch + i] & ~DROPPED_BIT;
  }
  const Address base = lane.device_side.address();
  device_.upload(base + offsetsAt_, offsets, piece.branches * 4, lane.stream());
  const RecordPlaces places = placeRecords(sizes_, piece.rows);
  PackArgs args{};
  args.from = records_;
  args.to = recordsAt(reinterpret_cast<char*>(base), places, sizes_);
  args.obsDim = static_cast<int>(sizes_.obsDim);
  args.actionDim = static_cast<int>(sizes_.actionDim);
  args.first = static_cast<std::uint32_t>(piece.firstBranch);
  args.count = static_cast<std::uint32_t>(piece.branches);
  args.offsets = reinterpret_cast<const std::uint32_t*>(base + offsetsAt_);
  const auto blocks = static_cast<unsigned>(std::min(mostBlocks_, (piece.branches * 32 + THREADS - 1) / THREADS));
  device_.launch(launchOf("ensemblePackRecords", blocks, THREADS, 0, args), lane.stream());
  device_.download(lane.pinned.at(0), base, places.end, lane.stream());
}

void RecordCollector::finish(Lane& lane, const Piece& piece, WindowRows& rows) {
  if (piece.rows == 0) return;
  device_.synchronize(lane.stream());
  rows.put(piece.firstRow, piece.rows, lane.pinned.at(0), placeRecords(sizes_, piece.rows), sizes_);
}

}  // namespace reverie
