// A program that links rondo::replay.
#include <cstdio>
#include <string>

#include "rondo/replay/replay.h"

int main() {
  const auto opened = rondo::replay::Replay::open({"no such file"});
  if (opened) return 1;
  std::printf("%s\n", std::string{opened.error().message()}.c_str());
}
