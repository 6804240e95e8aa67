// The tests of kernels and engine on the host: all of them, or those named. Ends with 1 where one fails.

#include <cstdio>
#include <cstring>
#include <exception>

int checkEnsemble();
int checkNative();

namespace {

struct Part {
  const char* name;
  int (*check)();
};

constexpr Part PARTS[] = {{"ensemble", checkEnsemble}, {"native", checkNative}};

bool isWanted(const Part& part, int count, char** names) {
  for (int i = 1; i < count; i++) {
    if (std::strcmp(names[i], part.name) == 0) return true;
  }
  return count == 1;
}

}  // namespace

int main(int count, char** names) {
  int failed = 0;
  for (const Part& part : PARTS) {
    if (!isWanted(part, count, names)) continue;
    try {
      failed += part.check();
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", part.name, error.what());
      failed++;
    }
  }
  return failed == 0 ? 0 : 1;
}
