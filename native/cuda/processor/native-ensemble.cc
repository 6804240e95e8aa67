// Steps of the ensemble on the processor: rows grouped by elite, cut into parts, shared among threads.
#include "native-ensemble.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "../kernels/random.cuh"

namespace reverie::processor {
namespace {

/** Multiply-adds of a part: some hundred microseconds, far above what it costs to hand it out. */
constexpr double PART_PRODUCTS = 6e6;
/**
 * Multiply-adds of two to three milliseconds, as long as a tile of ONNX Runtime holds its caller.
 * Another core would read all anew.
 */
constexpr double BRIEF_PRODUCTS = 1.4e8;
constexpr double BRIEF_ROWS = 4096;

const EnsembleSpec& checked(const EnsembleSpec& spec) {
  if (const auto problem = unsupported(spec)) throw std::invalid_argument("this ensemble cannot run on a device: " + *problem);
  return spec;
}

struct Part {
  /** -1: all of them. */
  int elite;
  std::uint32_t first, end;
};

/** Cuts rows [first, end) into parts of `rows` at most. */
void cut(std::vector<Part>& parts, int elite, std::uint32_t first, std::uint32_t end, std::uint32_t rows) {
  for (; first < end; first += rows) parts.push_back({elite, first, std::min(end, first + rows)});
}

}  // namespace

NativeEnsemble::NativeEnsemble(const EnsembleSpec& spec, const Width& width, int threads)
    : shape_(checked(spec)), blocks_(spec, width), team_(threads) {
  for (Member& member : shape_.elites) member.layers.clear();
}

double NativeEnsemble::briefRows() const { return std::clamp(BRIEF_PRODUCTS / blocks_.products(), 1.0, BRIEF_ROWS); }

void NativeEnsemble::step(const StepRequest& request, const StepAnswer& answer) { runStep({&request, &answer}); }

void NativeEnsemble::runStep(const StepWork& work) {
  const StepRequest& request = *work.request;
  if (request.rows >= std::int64_t{1} << 32) throw std::invalid_argument("a step takes fewer than 2^32 rows");
  const auto rows = static_cast<std::uint32_t>(request.rows);
  const Groups groups = request.options.isTs1 ? group(request) : Groups{};
  const double products = blocks_.products() * (work.asksAll() ? static_cast<double>(shape_.elites.size()) : 1.0);
  const auto wanted = static_cast<std::uint32_t>(std::clamp(PART_PRODUCTS / products / BLOCK_ROWS, 1.0, 1024.0));
  std::vector<Part> parts;
  if (work.asksAll()) {
    cut(parts, -1, 0, rows, wanted * BLOCK_ROWS);
  } else {
    for (std::size_t e = 0; e < shape_.elites.size(); e++) {
      cut(parts, static_cast<int>(e), groups.starts[e], groups.starts[e + 1], wanted * BLOCK_ROWS);
    }
  }
  const bool isSorted = !work.asksAll();
  const std::uint32_t* elites = isSorted || !request.options.isTs1 ? nullptr : groups.elites.data();
  const auto runPart = [&](const Part& part, Scratch& scratch) {
    for (std::uint32_t at = part.first; at < part.end; at += BLOCK_ROWS) {
      const int count = static_cast<int>(std::min<std::uint32_t>(BLOCK_ROWS, part.end - at));
      if (!isSorted) std::iota(scratch.ranks.begin(), scratch.ranks.end(), at);
      blocks_.run(work, scratch, part.elite, isSorted ? groups.order.data() + at : scratch.ranks.data(), count, elites);
    }
  };
  team_.run(parts.size(), [&](std::size_t i) {
    scratches_.with([&] { return blocks_.makeScratch(); }, [&](Scratch& scratch) { runPart(parts[i], scratch); });
  });
}

NativeEnsemble::Groups NativeEnsemble::group(const StepRequest& request) const {
  const auto rows = static_cast<std::size_t>(request.rows), elites = shape_.elites.size();
  const StepWords words(request, shape_.outputDim());
  Groups groups{std::vector<std::uint32_t>(rows), std::vector<std::uint32_t>(rows), std::vector<std::uint32_t>(elites + 1)};
  std::uint64_t held = ~std::uint64_t{0};
  Words block{};
  for (std::size_t row = 0; row < rows; row++) {
    const RandomStream& stream = words.streamOf(row);
    const std::uint64_t position = stream.position + words.elite(row);
    // Neighbours of one stream lie in one block of words.
    if (request.hasStreamPerRow || position / 4 != held) block = philox(stream.key0, stream.key1, held = position / 4);
    groups.elites[row] = integerOf(block.at[position % 4], static_cast<std::uint32_t>(elites));
    groups.starts[groups.elites[row] + 1]++;
  }
  std::partial_sum(groups.starts.begin(), groups.starts.end(), groups.starts.begin());
  std::vector<std::uint32_t> next(groups.starts.begin(), groups.starts.end() - 1);
  for (std::size_t row = 0; row < rows; row++) groups.order[next[groups.elites[row]]++] = static_cast<std::uint32_t>(row);
  return groups;
}

}  // namespace reverie::processor
