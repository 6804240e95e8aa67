// Everything the harness times, held against doubles (and against the same kernels on the host) before a figure is believed.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "work.h"

namespace reverie::bench {

/** How far results may be from what they must be: the norm of the error over the norm of what was expected, and one element. */
struct Deviation {
  double squares = 0, wanted = 0, largest = 0;
  long count = 0;
  bool isFinite = true;

  void add(double got, double expected);
  double relative() const;
  /** The largest error over the root mean square of what was expected. */
  double largestRelative() const;
};

class CheckReport {
 public:
  /** Prints one line; `tolerance` bounds `relative()`, and eight times it the largest single error. */
  void put(const std::string& what, const Deviation& deviation, double tolerance);
  void put(const std::string& what, bool isRight, const std::string& detail);
  /** Runs one check; what it throws is a line of its own, so that the checks after it run too. */
  template <class Check>
  void run(const std::string& what, Check check) {
    try {
      check();
    } catch (const std::exception& error) {
      put(what, false, error.what());
    }
  }
  /** A JSON array of all lines, as --json leaves it. */
  std::string json() const;
  int failures() const { return failures_; }

 private:
  void line(const std::string& what, const std::string& verdict, const std::string& detail, JsonObject json);

  std::string lines_;
  int failures_ = 0;
};

enum class CheckSize { fewRows, full };

/** Tolerance of `Deviation::relative` of a precision. */
double toleranceOf(Precision precision);

void checkSteps(Device& device, const Shape& shape, CheckSize size, CheckReport& report);
void checkRollouts(Device& device, const Shape& shape, CheckSize size, CheckReport& report);
/** Small rollouts of every kind on `device` and on the host: ends, doubt, known rewards, discrete actions. */
void checkAgainstHost(Device& device, CheckReport& report);

}  // namespace reverie::bench
