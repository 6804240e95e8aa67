// The parts of the test; each answers how many of its checks failed.
#pragma once

#include <memory>
#include <string>

#include "../engine/device.h"

namespace reverie::test {

int checkNumbers();
int checkDevice();
int checkRows();
int checkRollouts();
int checkNative();

/** File of compiled kernels, where a GPU is to be checked in place of the emulator. */
extern std::string kernelsFile;

/** What `checkDevice` runs on. */
std::unique_ptr<Device> makeDevice();

}  // namespace reverie::test
