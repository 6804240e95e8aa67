// The ensemble on the processor, by vector code of our own: the same Ensemble as on a GPU, with the same random words.
// A row's bytes depend on nothing but the row and its words: not on the width of vectors, on threads, or on the batch.
#pragma once

#include "row-blocks.h"
#include "scratch-pool.h"
#include "thread-team.h"

namespace reverie::processor {

class NativeEnsemble : public Ensemble {
 public:
  /** Packs the weights. Throws std::invalid_argument for what `unsupported` names. */
  NativeEnsemble(const EnsembleSpec& spec, const Width& width, int threads);

  /** May be called from several threads at a time. */
  void step(const StepRequest& request, const StepAnswer& answer) override;
  void rollout(const RolloutRequest& request, RolloutAnswer& answer) override;
  std::size_t bytes() const override { return blocks_.bytes(); }

  /** Rows, times the elites that see each, that a caller may wait for: a few milliseconds at most. */
  double briefRows() const;

 private:
  friend class NativeRollout;

  void runStep(const StepWork& work);
  /** Rows sorted by elite: those of elite e are order[starts[e] .. starts[e + 1]), ascending. */
  struct Groups {
    std::vector<std::uint32_t> elites, order, starts;
  };
  Groups group(const StepRequest& request) const;

  EnsembleSpec shape_;
  RowBlocks blocks_;
  ThreadTeam team_;
  ScratchPool<Scratch> scratches_;
};

}  // namespace reverie::processor
