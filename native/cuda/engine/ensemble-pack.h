// Networks as the kernels read them: columns and inputs padded, weights in the order in which lanes take them.
#pragma once

#include <vector>

#include "../kernels/ensemble-args.h"
#include "ensemble.h"

namespace reverie {

/** Columns of a layer's output that the fused kernels compute at once. */
constexpr int CHUNK_COLUMNS = 16;

/** How a kernel wants networks packed. */
struct PackForm {
  /** In tf32; else in fp32. */
  bool isFused;
  /** Fragments to which all layers but the first are padded; 0: each layer to its own. */
  int steps;
};

/** Inputs that one fragment (or one block of the plain kernel) takes. */
int depthOf(const PackForm& form);

struct PackedNetworks {
  std::vector<char> bytes;
  /** Without addresses, stages and chunksPerStage, which depend on the shared memory of a launch. */
  NetworkArgs args;
};

/** `networks`: layers of each, all of one shape. Sizes of a layer as packed depend on the first alone. */
PackedNetworks packNetworks(const std::vector<const std::vector<Layer>*>& networks, Activation activation,
                            const PackForm& form);

/** Bytes of one chunk of a layer in the ring. */
std::uint32_t chunkBytesOf(const LayerShape& layer);

/** Bytes of the largest chunk. */
std::uint32_t largestChunk(const NetworkArgs& args);

/** What fills the ring's stages of `stageBytes`, one after another; sets chunksPerStage and stageCount. */
std::vector<StageArgs> cutIntoStages(NetworkArgs& args, std::uint32_t stageBytes);

}  // namespace reverie
