// Steps that the tests take, and what their answers are held to.
#pragma once

#include "../reference/ensemble-reference.h"
#include "check.h"
#include "ensemble-models.h"

namespace reverie::test {

struct StepCase {
  ModelShape shape;
  std::int64_t rows;
  StepOptions options;
  bool hasStreamPerRow = false;
};

/** Small ones of every kind. */
std::vector<StepCase> stepCases();

std::string describe(const StepCase& c, Precision precision);

/** One, or one a row, across a border of 32 bits of the position. */
std::vector<RandomStream> streamsOf(const StepCase& c);

/** Holds a step to the reference; ends may differ where a probability is that near to its draw. */
void compareStep(Checks& checks, const EnsembleSpec& spec, const Answered& got, const reference::StepResult& want,
                 Precision precision, const std::string& what);

}  // namespace reverie::test
