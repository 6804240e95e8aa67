// The tests of kernels and engine on the host: all parts, or those named. With `--kernels FILE` in front, those that any device must
// pass, on a GPU with the kernels compiled into this file. Ends with 1 where one fails.

#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <vector>

#include "../engine/driver.h"
#include "../engine/emulator.h"
#include "parts.h"

namespace reverie::test {

std::string kernelsFile;

std::unique_ptr<Device> makeDevice() {
  return kernelsFile.empty() ? emulator::makeEmulatedDevice() : openDriverDevice(0, kernelsFile);
}

}  // namespace reverie::test

int main(int count, char** given) {
  using namespace reverie::test;
  const std::map<std::string, std::function<int()>> parts{{"numbers", checkNumbers},
                                                          {"device", checkDevice},
                                                          {"rows", checkRows},
                                                          {"rollouts", checkRollouts},
                                                          {"native", checkNative}};
  std::vector<std::string> names(given + 1, given + count);
  if (names.size() > 1 && names[0] == "--kernels") {
    kernelsFile = names[1];
    names = {"device"};
  }
  if (names.empty()) {
    for (const auto& [name, check] : parts) names.push_back(name);
  }
  int failed = 0;
  for (const std::string& name : names) {
    try {
      failed += parts.at(name)();
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", name.c_str(), error.what());
      failed++;
    }
  }
  return failed == 0 ? 0 : 1;
}
