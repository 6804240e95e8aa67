// The ensemble's test: random words, steps and rollouts.
#include "check-ensemble.h"

int checkEnsemble() {
  using namespace reverie::test;
  return checkEnsembleNumbers() + checkEnsembleStep() + checkEnsembleRows() + checkEnsembleRollout() + checkEnsembleLiving();
}
