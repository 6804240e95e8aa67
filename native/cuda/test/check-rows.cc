// Rows of a step do not know of tiles, pieces and the order of threads; on the emulator, which can be made to differ.
#include "cases.h"
#include "parts.h"

namespace reverie::test {
namespace {

constexpr Precision PRECISIONS[] = {Precision::fp32, Precision::tf32};
const ModelShape SHAPE{5, 2, 0, true, true, 3, {24, 24}};

struct Asked {
  EnsembleSpec spec = randomSpec(SHAPE, 5);
  Batch batch;
  std::vector<RandomStream> streams;
  StepRequest request;

  Asked(std::int64_t rows, StepOptions options, bool hasStreamPerRow = false) : batch(randomBatch(SHAPE, rows, 7)) {
    for (std::int64_t i = 0; i < (hasStreamPerRow ? rows : 1); i++)
      streams.push_back({static_cast<std::uint32_t>(i), 3, static_cast<std::uint64_t>(i)});
    request = {rows, batch.obs.data(), batch.action.data(), streams.data(), hasStreamPerRow, options};
  }
};

void checkOrders(Checks& checks) {
  for (const Precision precision : PRECISIONS) {
    for (const bool withDisagreement : {false, true}) {
      const Asked asked(101, {true, false, withDisagreement});
      const auto stepped = [&](emulator::Order order) {
        emulator::Options options;
        options.order = order;
        const auto device = emulator::makeEmulatedDevice(options);
        return stepOn(*device, asked.spec, precision, asked.request);
      };
      const Answered forward = stepped(emulator::Order::forward);
      checks.that(isSame(forward, stepped(emulator::Order::backward)), "threads in backward order");
      checks.that(isSame(forward, stepped(emulator::Order::shuffled)), "threads in random order");
    }
  }
}

/** Tiles of any height and devices of any width give the same bytes. */
void checkTiles(Checks& checks) {
  const Asked asked(300, {true, false, false});
  const auto device = emulator::makeEmulatedDevice();
  const Answered tall = stepOn(*device, asked.spec, Precision::tf32, asked.request, TileHeight{8});
  checks.that(isSame(tall, stepOn(*device, asked.spec, Precision::tf32, asked.request, TileHeight{2})), "tiles of 32 rows");
  checks.that(isSame(tall, stepOn(*device, asked.spec, Precision::tf32, asked.request, TileHeight{4})), "tiles of 64 rows");
  emulator::Options wide;
  wide.multiprocessors = 11;
  const auto other = emulator::makeEmulatedDevice(wide);
  checks.that(isSame(tall, stepOn(*other, asked.spec, Precision::tf32, asked.request, TileHeight{4})),
              "eleven multiprocessors");
}

/** Generations with less shared memory a block get smaller tiles and stages, and the same bytes. */
void checkShared(Checks& checks) {
  const ModelShape shape{6, 2, 0, true, false, 2, {200, 200}};
  const EnsembleSpec spec = randomSpec(shape, 3);
  const Batch batch = randomBatch(shape, 40, 4);
  const RandomStream stream{1, 2, 3};
  const StepRequest request{40, batch.obs.data(), batch.action.data(), &stream, false, {true, false, false}};
  for (const Precision precision : PRECISIONS) {
    const auto device = emulator::makeEmulatedDevice();
    const Answered whole = stepOn(*device, spec, precision, request);
    for (const std::size_t kilobytes : {163, 99}) {
      emulator::Options options;
      options.sharedBytesPerBlock = kilobytes * 1024;
      const auto smaller = emulator::makeEmulatedDevice(options);
      checks.that(isSame(whole, stepOn(*smaller, spec, precision, request)),
                  std::to_string(kilobytes) + " KB of shared memory");
    }
    emulator::Options options;
    options.sharedBytesPerBlock = 12 * 1024;
    const auto least = emulator::makeEmulatedDevice(options);
    checks.throws<DeviceError>([&] { stepOn(*least, spec, precision, request); }, "too little shared memory");
  }
}

/** Less memory, more pieces: the words of a row stay those of the whole batch. */
void checkPieces(Checks& checks) {
  for (const bool hasStreamPerRow : {false, true}) {
    const Asked asked(4000, {true, false, false}, hasStreamPerRow);
    const auto device = emulator::makeEmulatedDevice();
    const Answered whole = stepOn(*device, asked.spec, Precision::fp32, asked.request);
    emulator::Options small;
    small.memoryBytes = 600 * 1024;
    const auto tight = emulator::makeEmulatedDevice(small);
    checks.that(isSame(whole, stepOn(*tight, asked.spec, Precision::fp32, asked.request)), "a batch in pieces");
    emulator::Options none;
    none.memoryBytes = 40 * 1024;
    const auto empty = emulator::makeEmulatedDevice(none);
    checks.throws<OutOfMemory>([&] { stepOn(*empty, asked.spec, Precision::fp32, asked.request); }, "out of device memory");
  }
}

void checkRefusals(Checks& checks) {
  const auto device = emulator::makeEmulatedDevice();
  EnsembleSpec spec = randomSpec(SHAPE, 5);
  spec.elites[1].layers[0].b.pop_back();
  checks.throws<std::invalid_argument>([&] { makeEnsemble(*device, spec, Precision::tf32); }, "a layer's weights");
  checks.that(!unsupported(randomSpec(SHAPE, 5)), "a good one is not refused");
}

}  // namespace

int checkRows() {
  Checks checks("rows");
  checkOrders(checks);
  checkTiles(checks);
  checkShared(checks);
  checkPieces(checks);
  checkRefusals(checks);
  return checks.finish();
}

}  // namespace reverie::test
