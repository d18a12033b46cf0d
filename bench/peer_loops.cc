// Rondo beside the loops that a C++ program would otherwise use: sd-event, GLib, libevent and Boost.Asio, each built if its package is
// there (deps/apt.txt, [peers]) and used as its documentation advises (peers/). All do the same works in one run, in turns. Ratios within
// one run matter, on a machine that does nothing else.
//   bench_peer_loops [--rounds 5] [--seconds 1] [--only TEXT] [dispatch] [local] [handover] [flood] [starvation]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "peers/measure.h"
#include "peers/works.h"

namespace {

using namespace rondo::bench;

struct Work {
  const char* name;
  void (*run)(const Settings&);
};
constexpr Work kWorks[] = {
    {"dispatch", &dispatch}, {"local", &local_messages}, {"handover", &hand_over}, {"flood", &flood}, {"starvation", &starvation}};

[[noreturn]] void usage(const char* what) {
  std::fprintf(
      stderr,
      "bench_peer_loops: %s\nusage: bench_peer_loops [--rounds N] [--seconds S] [--only PART-OF-A-ROW'S-NAME] [WORK...], works:", what);
  for (const Work& work : kWorks) std::fprintf(stderr, " %s", work.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

int number(const char* text, int most) {
  char* end = nullptr;
  const long value = text != nullptr ? std::strtol(text, &end, 10) : 0;
  if (value < 1 || value > most || *end != '\0') usage("a number from 1 on is missing, or it is too large");
  return static_cast<int>(value);
}

}  // namespace

int main(int, char** arguments) {
  Settings settings;
  unsigned chosen = 0;
  for (char** argument = arguments + 1; *argument != nullptr; ++argument) {
    const std::string_view word = *argument;
    if (word == "--rounds") {
      settings.rounds = number(*++argument, 1000);
    } else if (word == "--seconds") {
      settings.part = std::chrono::seconds{number(*++argument, 3600)};
    } else if (word == "--only") {
      if (*++argument == nullptr) usage("--only needs a part of a name");
      settings.only = *argument;
    } else {
      unsigned bit = 1;
      const Work* found = nullptr;
      for (const Work& work : kWorks) {
        if (word == work.name) {
          found = &work;
          chosen |= bit;
        }
        bit <<= 1;
      }
      if (found == nullptr) usage("no such work");
    }
  }
  for (const std::string& missing : missing_peers()) std::printf("%s\n", missing.c_str());
  raise_descriptor_limit();
  stay_on(0);
  unsigned bit = 1;
  for (const Work& work : kWorks) {
    if (chosen == 0 || (chosen & bit) != 0) work.run(settings);
    bit <<= 1;
  }
  return 0;
}
