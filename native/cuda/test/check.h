// Checks of the tests: counts what fails and says it.
#pragma once

#include <cstdio>
#include <string>

namespace reverie::test {

class Checks {
 public:
  explicit Checks(std::string topic) : topic_(std::move(topic)) {}

  bool that(bool holds, const std::string& what) {
    made_++;
    if (!holds) {
      failed_++;
      std::printf("FAILED %s: %s\n", topic_.c_str(), what.c_str());
    }
    return holds;
  }

  /** Also fails where either is not a number. */
  bool near(double got, double wanted, double tolerance, const std::string& what) {
    const double away = got > wanted ? got - wanted : wanted - got;
    return that(away <= tolerance, what + ": " + std::to_string(got) + " is not " + std::to_string(wanted) + " to within " +
                                       std::to_string(tolerance));
  }

  /** Whether `work` throws an Error whose words contain `part`. */
  template <class Error, class Work>
  bool throws(const Work& work, const std::string& part) {
    try {
      work();
    } catch (const Error& error) {
      return that(std::string(error.what()).find(part) != std::string::npos, std::string("says: ") + error.what());
    } catch (const std::exception& error) {
      return that(false, "another error than wanted (" + part + "): " + error.what());
    }
    return that(false, "nothing was thrown: " + part);
  }

  /** Says how many were made and answers how many failed. */
  int finish() const {
    std::printf("%s: %d checks, %d failed\n", topic_.c_str(), made_, failed_);
    return failed_;
  }

 private:
  std::string topic_;
  int made_ = 0;
  int failed_ = 0;
};

}  // namespace reverie::test
