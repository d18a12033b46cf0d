// rondo-sim: lives of programs in simulated worlds, one for each seed: what `make sim`, `make sim-nightly` and the test tier `swarm` run.
// Prints what was done; at the first violation, the seed, the turn, what was violated and the last events. Exit status: 0 nothing was
// violated, 1 something was, 2 wrong arguments.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "life.h"

namespace rondo::swarm {
namespace {

struct Arguments {
  std::string_view program;  // Empty: all.
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::uint64_t turns = 3000;
  std::string_view watched;  // Print events of keys that contain it.
  bool says_hash = false;
};

/// Prints what happens to some keys.
class Watcher final : public sim::Checker {
 public:
  explicit Watcher(std::string_view key) : key_(key) {}
  std::string_view name() const noexcept override { return "watcher"; }
  Status see(const sim::World& world, const sim::Event& event) override {
    const bool is_general = event.change == nullptr && event.facts.empty();
    const bool is_key = event.change != nullptr && event.change->key().find(key_) != std::string_view::npos;
    const bool is_fact = event.change == nullptr && !is_general && event.facts.front().key.find(key_) != std::string_view::npos;
    if (is_general || is_key || is_fact) std::fputs(world.last_event().c_str(), stdout);
    return {};
  }

 private:
  std::string_view key_;
};

constexpr const char* kHelp =
    "Usage: rondo-sim [--program NAME] [--seed N] [--seeds COUNT] [--turns N] [--watch TEXT] [--hash]\n"
    "  --program NAME  tables or agent; both without it\n"
    "  --seed N        the first seed (1)\n"
    "  --seeds COUNT   so many, one after the other (1)\n"
    "  --turns N       of each life, about (3000)\n"
    "  --watch TEXT    print every event of keys that contain TEXT\n"
    "  --hash          print the number that stands for all that happened, for each seed\n";

bool read_number(const char* text, std::uint64_t& number) {
  char* end = nullptr;
  number = std::strtoull(text, &end, 10);
  return end != text && *end == '\0';
}

bool parse(int count, char** words, Arguments& arguments) {
  const std::map<std::string_view, std::uint64_t*> numbers{
      {"--seed", &arguments.seed}, {"--seeds", &arguments.seeds}, {"--turns", &arguments.turns}};
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--hash") {
      arguments.says_hash = true;
      continue;
    }
    const char* const value = i + 1 < count ? words[++i] : nullptr;
    const auto number = numbers.find(word);
    if (value == nullptr || (word != "--program" && word != "--watch" && number == numbers.end())) return false;
    if (word == "--program") arguments.program = value;
    if (word == "--watch") arguments.watched = value;
    if (number != numbers.end() && !read_number(value, *number->second)) return false;
  }
  return arguments.program.empty() || make_life(arguments.program, 1) != nullptr;
}

/// One program over all seeds. False at the first violation.
bool run(const std::string& program, const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  std::uint64_t turns = 0;
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.seeds; ++seed) {
    const std::unique_ptr<Life> life = make_life(program, seed);
    if (!arguments.watched.empty()) life->world().add(std::make_unique<Watcher>(arguments.watched));
    live(*life, arguments.turns);
    const sim::World& world = life->world();
    turns += world.turns();
    crashes += world.crashes();
    if (arguments.says_hash) std::printf("%s seed %" PRIu64 ": %016" PRIx64 "\n", program.c_str(), seed, world.hash());
    if (!world.violation()) continue;
    std::printf("%s: %s\nrepeat with: rondo-sim --program %s --seed %" PRIu64 " --turns %" PRIu64 "\n", program.c_str(),
                world.report().c_str(), program.c_str(), seed, arguments.turns);
    return false;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  std::printf("%s: %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " turns, %" PRIu64
              " crashes, no violation; %.1f s, %.0f turns/s, %.0f a second of CPU time\n",
              program.c_str(), arguments.seeds, arguments.seed, turns, crashes, took.count(), static_cast<double>(turns) / took.count(),
              static_cast<double>(turns) / cpu);
  return true;
}

}  // namespace
}  // namespace rondo::swarm

int main(int count, char** words) {
  using namespace rondo::swarm;
  Arguments arguments;
  if (!parse(count, words, arguments)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  for (const std::string_view program : programs()) {
    if (!arguments.program.empty() && arguments.program != program) continue;
    if (!run(std::string{program}, arguments)) return 1;
  }
  return 0;
}
