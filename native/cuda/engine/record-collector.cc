// Brings the records of a rollout from the device.
#include "record-collector.h"

#include <algorithm>
#include <cstring>

namespace reverie {
namespace {

constexpr unsigned THREADS = 256;

Address addressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }
std::uint32_t lengthOf(std::uint32_t length) { return length & ~DROPPED_BIT; }

template <class T>
void copy(Column<T>& to, std::size_t toRow, const char* from, std::size_t rows, std::size_t columns) {
  if (!to.empty() && rows * columns > 0) std::memcpy(to.data() + toRow * columns, from, rows * columns * sizeof(T));
}

void resize(RolloutAnswer& answer, std::size_t rows, const RolloutSizes& sizes) {
  answer.rows = static_cast<std::int64_t>(rows);
  answer.obs.resize(rows * sizes.obsDim);
  answer.action.resize(rows * sizes.actionDim);
  answer.nextObs.resize(rows * sizes.obsDim);
  answer.reward.resize(rows);
  answer.logProb.resize(sizes.hasLogProb ? rows : 0);
  answer.disagreement.resize(sizes.hasDisagreement ? rows : 0);
  for (Column<std::uint8_t>* each : {&answer.verdict, &answer.terminated}) each->resize(rows);
  for (Column<std::uint32_t>* each : {&answer.branch, &answer.step}) each->resize(rows);
}

}  // namespace

RecordCollector::RecordCollector(Device& device, std::vector<std::unique_ptr<Lane>>& lanes, const RolloutSizes& sizes,
                                 const RecordArgs& records, std::size_t pieceRows)
    : device_(device),
      lanes_(lanes),
      sizes_(sizes),
      records_(records),
      pieceRows_(std::max<std::size_t>(pieceRows, records.steps)),
      mostBlocks_(static_cast<std::size_t>(device.limits().multiprocessors) * 8) {
  offsetsAt_ = placeRecords(sizes, pieceRows_).end;
  for (const auto& lane : lanes_) lane->grow(offsetsAt_ + pieceRows_ * 4, offsetsAt_ + pieceRows_ * 4);
}

void RecordCollector::collect(Stream writer, RolloutAnswer& answer) {
  std::vector<std::uint32_t> lengths(sizes_.delivered);
  device_.download(lengths.data(), addressOf(records_.lengths), sizes_.delivered * 4, writer);
  device_.synchronize(writer);
  std::size_t all = 0;
  for (const std::uint32_t length : lengths) all += lengthOf(length);
  resize(answer, all, sizes_);
  Piece pieces[2];
  int turn = 0;
  for (std::size_t branch = 0, row = 0; branch < sizes_.delivered; turn ^= 1) {
    Lane& lane = *lanes_[static_cast<std::size_t>(turn)];
    finish(lane, pieces[turn], answer);
    pieces[turn] = pieceFrom(branch, row, lengths);
    start(lane, pieces[turn], lengths);
    branch += pieces[turn].branches;
    row += pieces[turn].rows;
  }
  for (int i = 0; i < 2; i++, turn ^= 1) finish(*lanes_[static_cast<std::size_t>(turn)], pieces[turn], answer);
  std::size_t row = 0;
  for (std::size_t i = 0; i < lengths.size(); i++) {
    const std::uint32_t length = lengthOf(lengths[i]);
    for (std::uint32_t step = 0; step < length; step++, row++) {
      answer.branch[row] = static_cast<std::uint32_t>(i) * records_.deliverEvery;
      answer.step[row] = step;
    }
    const bool isDropped = (lengths[i] & DROPPED_BIT) != 0;
    if (isDropped && length > 0) answer.verdict[row - 1] = static_cast<std::uint8_t>(Verdict::dropped);
  }
}

RecordCollector::Piece RecordCollector::pieceFrom(std::size_t branch, std::size_t row,
                                                  const std::vector<std::uint32_t>& lengths) const {
  Piece piece{branch, 0, row, 0};
  while (branch + piece.branches < sizes_.delivered && piece.branches < pieceRows_) {
    const std::size_t length = lengthOf(lengths[branch + piece.branches]);
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
    at += lengthOf(lengths[piece.firstBranch + i]);
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

void RecordCollector::finish(Lane& lane, const Piece& piece, RolloutAnswer& answer) const {
  if (piece.rows == 0) return;
  device_.synchronize(lane.stream());
  const char* const from = lane.pinned.at(0);
  const RecordPlaces places = placeRecords(sizes_, piece.rows);
  copy(answer.obs, piece.firstRow, from + places.obs, piece.rows, sizes_.obsDim);
  copy(answer.action, piece.firstRow, from + places.action, piece.rows, sizes_.actionDim);
  copy(answer.nextObs, piece.firstRow, from + places.nextObs, piece.rows, sizes_.obsDim);
  copy(answer.reward, piece.firstRow, from + places.reward, piece.rows, 1);
  copy(answer.logProb, piece.firstRow, from + places.logProb, piece.rows, 1);
  copy(answer.disagreement, piece.firstRow, from + places.disagreement, piece.rows, 1);
  copy(answer.verdict, piece.firstRow, from + places.verdict, piece.rows, 1);
  copy(answer.terminated, piece.firstRow, from + places.terminated, piece.rows, 1);
}

}  // namespace reverie
