// Compares Rondo with the loops that a C++ program would otherwise use: sd-event, GLib, libevent and Boost.Asio. Each is built if its
// package is installed (deps/apt.txt, [peers]) and used as its documentation advises (peers/). All run the same works in one run,
// alternating. Only ratios within one run matter, on an otherwise idle machine.
//   bench_peer_loops [--rounds 5] [--seconds 1] [--only TEXT] [dispatch] [local] [handover] [flood] [starvation]
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
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

[[noreturn]] void usage(const std::string& what) {
  std::fprintf(stderr,
               "bench_peer_loops: %s\nusage: bench_peer_loops [--rounds N] [--seconds S] [--only PART-OF-A-ROW'S-NAME] [WORK...], works:",
               what.c_str());
  for (const Work& work : kWorks) std::fprintf(stderr, " %s", work.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

int number(const char* option, const char* text, int most) {
  char* end = nullptr;
  const long value = text != nullptr ? std::strtol(text, &end, 10) : 0;
  if (value >= 1 && value <= most && *end == '\0') return static_cast<int>(value);
  usage(std::string{option} + " needs a number from 1 to " + std::to_string(most) + ", not '" + (text != nullptr ? text : "") + "'");
}

/// The bit of the result for a name in kWorks; 0 for an unknown name.
unsigned bit_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kWorks); ++i) {
    if (name == kWorks[i].name) return 1U << i;
  }
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  Settings settings;
  unsigned wanted = 0;
  for (char** argument = arguments + 1; *argument != nullptr; ++argument) {
    const std::string_view word = *argument;
    const char* const value = argument[1];
    if (word == "--rounds") {
      settings.rounds = number("--rounds", value, 1000);
    } else if (word == "--seconds") {
      settings.part = std::chrono::seconds{number("--seconds", value, 3600)};
    } else if (word == "--only") {
      if (value == nullptr) usage("--only needs a part of the name of a row");
      settings.only = value;
    } else {
      const unsigned bit = bit_of(word);
      if (bit == 0) usage("there is no work '" + std::string{word} + "'");
      wanted |= bit;
      continue;
    }
    ++argument;
  }
  for (const std::string& missing : missing_peers()) std::printf("%s\n", missing.c_str());
  raise_descriptor_limit();
  stay_on(0);
  for (const Work& work : kWorks) {
    if (wanted == 0 || (wanted & bit_of(work.name)) != 0) work.run(settings);
  }
  return 0;
}
