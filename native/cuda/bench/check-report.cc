// Errors as numbers, and a line for each check.
#include <cmath>
#include <cstdio>

#include "check.h"

namespace reverie::bench {

void Deviation::add(double got, double expected) {
  count++;
  if (!std::isfinite(got)) isFinite = false;
  const double error = std::abs(got - expected);
  squares += error * error;
  wanted += expected * expected;
  if (error > largest) largest = error;
}

double Deviation::relative() const { return wanted > 0 ? std::sqrt(squares / wanted) : std::sqrt(squares); }

double Deviation::largestRelative() const {
  return wanted > 0 ? largest / std::sqrt(wanted / static_cast<double>(count)) : largest;
}

void CheckReport::line(const std::string& what, const std::string& verdict, const std::string& detail, JsonObject json) {
  std::printf("%-8s %-58s %s\n", verdict.c_str(), what.c_str(), detail.c_str());
  std::fflush(stdout);
  lines_ += (lines_.empty() ? "" : ",\n  ") + json.put("check", what).put("verdict", verdict).text();
}

void CheckReport::put(const std::string& what, const Deviation& deviation, double tolerance) {
  const bool isRight = deviation.isFinite && deviation.count > 0 && deviation.relative() <= tolerance &&
                       deviation.largestRelative() <= 8 * tolerance;
  if (!isRight) failures_++;
  char detail[160];
  std::snprintf(detail, sizeof detail, "error %.2e (at most %.1e), largest %.2e (%.1e), %ld numbers", deviation.relative(),
                tolerance, deviation.largestRelative(), 8 * tolerance, deviation.count);
  JsonObject json;
  json.put("error", deviation.relative()).put("largest", deviation.largestRelative()).put("tolerance", tolerance);
  json.put("numbers", static_cast<double>(deviation.count));
  line(what, isRight ? "ok" : "WRONG", detail, json);
}

void CheckReport::put(const std::string& what, bool isRight, const std::string& detail) {
  if (!isRight) failures_++;
  line(what, isRight ? "ok" : "WRONG", detail, JsonObject().put("detail", detail));
}

std::string CheckReport::json() const { return "[\n  " + lines_ + "\n]\n"; }

double toleranceOf(Precision precision) {
  return precision == Precision::fp32 ? 2e-5 : 1.5e-3;
}

}  // namespace reverie::bench
