// What the kernels of the ensemble are told, as plain structs that host and kernels share. All pointers are addresses of the
// device. A row has a rank, its place among the rows of the step, which decides its random words, and a place in memory.
#pragma once

#include <cstdint>

#include "kinds.h"
#include "known.h"
#include "random-stream.h"

namespace reverie {

constexpr int MAX_LAYERS = 17;
constexpr int MAX_ELITES = 64;
constexpr int MAX_WARPS = 8;
/** Stages of the ring through which weights stream into shared memory. */
constexpr int RING_STAGES = 4;
/** Rows of a block of the plain kernel, and the columns it works on at a time. */
constexpr int PLAIN_ROWS = 64;
constexpr int PLAIN_COLUMNS = 64;
constexpr int PLAIN_DEPTH = 16;
constexpr int PLAIN_THREADS = 256;

/**
 * One layer as packed. Fused: `chunks` chunks of 16 columns, each `steps` fragments of 512 bytes and 16 biases; plain: w
 * [steps * PLAIN_DEPTH, columns] and b [columns].
 */
struct LayerShape {
  /** Bytes from the start of its network. */
  std::uint32_t offset;
  std::int32_t steps;
  std::int32_t chunks;
  /** Whole chunks in one stage of the ring. */
  std::int32_t chunksPerStage;
};

/** Whole chunks of one layer that fill a stage of the ring, from the start of their network. */
struct alignas(8) StageArgs {
  std::uint32_t offset, bytes;
};

/** Networks of one shape, one after another. */
struct NetworkArgs {
  const char* weights;
  std::uint64_t bytes;
  /** What the ring reads for one network, in order (fused only). */
  const StageArgs* stages;
  std::int32_t stageCount;
  std::int32_t layers;
  Activation activation;
  /** Columns of the last layer that mean something. */
  std::int32_t outputs;
  LayerShape layer[MAX_LAYERS];
};

/** The ensemble: normaliser, bounds and heads. Arrays of an elite lie one after another, [elites, outputDim]. */
struct DynamicsArgs {
  NetworkArgs network;
  std::int32_t elites, obsDim, actionDim, actionChoices, actionStart, inputDim, outputDim;
  bool learnsReward, learnsTermination, isTs1, isDeterministic, withDisagreement;
  /** Every elite sees every row: for their mean, or for disagreement. */
  bool asksAll;
  const float* inputMean;
  /** 1 / scale. */
  const float* inputRate;
  const float* targetMean;
  const float* targetScale;
  const float* low;
  const float* high;
  /** exp of the least and of the greatest log-variance, and the latter itself. */
  const float* varianceMin;
  const float* varianceMax;
  const float* logVarMax;
};

/** Bytes into a block's shared memory. */
struct SharedLayout {
  std::uint32_t warpRows, ring, stageBytes, activations, activationBytes;
};

/** Memory of a block beyond its shared memory. */
struct ScratchArgs {
  char* memory;
  std::uint64_t bytesPerBlock;
  /** Bytes into a block's part: where the rows of each elite begin; all answers of a tile; activations of the plain kernel. */
  std::uint64_t table, answers, activations;
};

/**
 * Rows sorted by elite, segment by segment: those of elite e in segment s are order[s segmentRows + starts[s (elites + 1) + e]
 * ..), as ranks, ascending.
 */
struct GroupArgs {
  std::uint32_t* order;
  std::uint32_t* starts;
  std::uint32_t segments;
};

/** Answers of a step; null where not wanted. */
struct StepOutputs {
  float* nextObs;
  float* reward;
  std::uint8_t* terminated;
  float* disagreement;
};

/** `rows` rows, the first of rank `firstRank` in a batch of `batchRows`. */
struct StepArgs {
  DynamicsArgs dynamics;
  SharedLayout shared;
  ScratchArgs scratch;
  GroupArgs groups;
  std::uint32_t rows;
  std::uint64_t firstRank, batchRows;
  RandomStream stream;
  /** One a row, or null. */
  const RandomStream* streams;
  const float* obs;
  const float* action;
  StepOutputs out;
};

/** Sorts the rows of one step by elite; one segment a block. */
struct GroupStepArgs {
  GroupArgs groups;
  std::uint32_t rows, elites;
  std::uint64_t firstRank;
  RandomStream stream;
  const RandomStream* streams;
};

struct PolicyArgs {
  NetworkArgs network;
  PolicyHead head;
  std::int32_t obsDim, actionDim, choices, start;
  bool isDeterministic;
  /** Sum of the logarithms of `scale`. */
  float logScale;
  const float* logStd;
  const float* scale;
  const float* bias;
  const float* low;
  const float* high;
};

/** Rows kept of every deliverEvery-th branch: [delivered branch, step, columns]. Null where nothing is kept. */
struct RecordArgs {
  std::uint32_t deliverEvery, steps;
  float* obs;
  float* action;
  float* nextObs;
  float* reward;
  float* logProb;
  float* disagreement;
  std::uint8_t* verdict;
  std::uint8_t* terminated;
  /** Rows kept of each delivered branch; DROPPED_BIT is set where the row after them was dropped. */
  std::uint32_t* lengths;
};

constexpr std::uint32_t DROPPED_BIT = 0x80000000u;

/** Sums of a block over its rows. */
struct RolloutSums {
  double reward, rewardSquares;
  std::uint64_t terminated, outOfHorizon, doubted, nonFinite;
};

/** All steps of a rollout. */
struct RolloutArgs {
  DynamicsArgs dynamics;
  PolicyArgs policy;
  SharedLayout shared;
  ScratchArgs scratch;
  GroupArgs groups;
  RecordArgs record;
  std::uint32_t branches;
  std::int32_t horizon;
  /** Observations by branch, of even and odd steps, and actions. */
  float* obs[2];
  float* action;
  /** Branches that live, by rank, at even and odd steps, and what became of them at the step before. */
  std::uint32_t* living[2];
  std::uint8_t* verdict;
  /** [horizon + 1, blocks]: rows that live on into a step, counted by the part of the step before that they were in. */
  std::uint32_t* alive;
  const RandomStream* actStreams;
  const RandomStream* modelStreams;
  float disagreementLimit;
  bool hasLimit, dropsDoubted;
  KnownFunction reward, ends;
  RolloutSums* sums;
  unsigned* barrier;
};

/** Lays the kept rows of branches first .. first + count one after another. */
struct PackArgs {
  RecordArgs from;
  RecordArgs to;
  std::int32_t obsDim, actionDim;
  std::uint32_t first, count;
  /** Row in `to` at which each of the branches begins. */
  const std::uint32_t* offsets;
};

}  // namespace reverie
