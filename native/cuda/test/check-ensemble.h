// The parts of the ensemble's test; each answers how many checks failed.
#pragma once

#include "ensemble-models.h"

namespace reverie::test {

int checkEnsembleNumbers();
int checkEnsembleStep();
int checkEnsembleRows();
int checkEnsembleRollout();
int checkEnsembleLiving();

}  // namespace reverie::test
