// rondo-sim: lives of programs in simulated worlds, one per seed; `make sim`, `make sim-nightly` and the test tier `swarm` run it. Prints
// the totals; at the first violation, the seed, the turn, the violation and the last events. Exit status: 0 no violation, 1 a violation, 2
// wrong arguments.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "life.h"

namespace rondo::swarm {
namespace {

struct Arguments {
  std::string_view program;  // Empty: all programs.
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::uint64_t turns = 3000;
  std::uint64_t jobs = 1;
  std::string_view watched;  // Print events of keys that contain it.
  bool says_hash = false;
  bool wants_help = false;
};

/// Prints the events of some keys.
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

constexpr std::uint64_t kJobsMax = 256;

constexpr const char* kHelp =
    "Usage: rondo-sim [--program NAME] [--seed N] [--seeds COUNT] [--turns N] [--jobs N] [--watch TEXT] [--hash]\n"
    "  --program NAME  tables, agent, meddled, vrfs, vlans, lags, fpm, schedulers or jobs; all without it\n"
    "  --seed N        the first seed (1)\n"
    "  --seeds COUNT   so many, one after the other (1)\n"
    "  --turns N       of each life, about (3000)\n"
    "  --jobs N        so many processes, each with its share of the seeds (1)\n"
    "  --watch TEXT    print every event of keys that contain TEXT\n"
    "  --hash          print the number that stands for all that happened, for each seed\n";

/// Accepts only digits: strtoull would accept -1 as the largest number.
bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool refuse(const std::string& why) {
  std::fprintf(stderr, "rondo-sim: %s\n", why.c_str());
  return false;
}

bool parse(int count, char** words, Arguments& arguments) {
  const std::map<std::string_view, std::uint64_t*> numbers{
      {"--seed", &arguments.seed}, {"--seeds", &arguments.seeds}, {"--turns", &arguments.turns}, {"--jobs", &arguments.jobs}};
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--help" || word == "-h") {
      arguments.wants_help = true;
      return true;
    }
    if (word == "--hash") {
      arguments.says_hash = true;
      continue;
    }
    const char* const value = i + 1 < count ? words[++i] : nullptr;
    const auto number = numbers.find(word);
    if (word != "--program" && word != "--watch" && number == numbers.end()) {
      return refuse("unknown option '" + std::string{word} + "'");
    }
    if (value == nullptr) return refuse(std::string{word} + " needs a value");
    if (word == "--program") arguments.program = value;
    if (word == "--watch") arguments.watched = value;
    if (number != numbers.end() && !read_number(value, *number->second)) {
      return refuse(std::string{word} + " '" + value + "' is no whole number from 0 to 18446744073709551615");
    }
  }
  if (arguments.jobs < 1 || arguments.jobs > kJobsMax) return refuse("--jobs is 1 to " + std::to_string(kJobsMax));
  if (arguments.seeds < 1) return refuse("--seeds is 1 or more: no seed proves nothing");
  if (arguments.turns < 1) return refuse("--turns is 1 or more: no turn proves nothing");
  // The jobs step through the seeds, and exceed the last by at most the number of jobs.
  if (arguments.seed > UINT64_MAX - kJobsMax || arguments.seeds > UINT64_MAX - kJobsMax - arguments.seed) {
    return refuse("--seed and --seeds together are beyond the largest number");
  }
  if (!arguments.program.empty() && make_life(arguments.program, 1) == nullptr) {
    return refuse("unknown program '" + std::string{arguments.program} + "'");
  }
  return true;
}

/// The totals of the lives.
struct Totals {
  std::uint64_t turns = 0;
  std::uint64_t crashes = 0;
  double cpu_seconds = 0;
};

/// Runs the lives of one job: every 'jobs'th seed. Returns false at the first violation.
bool run_job(const std::string& program, const Arguments& arguments, std::uint64_t job, Totals& totals) {
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = arguments.seed + job; seed < arguments.seed + arguments.seeds; seed += arguments.jobs) {
    const std::unique_ptr<Life> life = make_life(program, seed);
    if (!arguments.watched.empty()) life->world().add(std::make_unique<Watcher>(arguments.watched));
    live(*life, arguments.turns);
    const sim::World& world = life->world();
    totals.turns += world.turns();
    totals.crashes += world.crashes();
    if (arguments.says_hash) std::printf("%s seed %" PRIu64 ": %016" PRIx64 "\n", program.c_str(), seed, world.hash());
    if (!world.violation()) continue;
    std::printf("%s: %s\nrepeat with: rondo-sim --program %s --seed %" PRIu64 " --turns %" PRIu64 "\n", program.c_str(),
                world.report().c_str(), program.c_str(), seed, arguments.turns);
    return false;
  }
  totals.cpu_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return true;
}

/// Runs each job in its own process; the totals return in shared memory. Returns false if a job found a violation or failed.
bool run_jobs(const std::string& program, const Arguments& arguments, std::span<Totals> totals) {
  if (arguments.jobs == 1) return run_job(program, arguments, 0, totals[0]);
  std::fflush(stdout);  // Otherwise each process prints it once more.
  bool is_sound = true;
  std::uint64_t started = 0;
  for (; started < arguments.jobs && is_sound; ++started) {
    const pid_t child = fork();
    if (child == 0) {
      const bool sound = run_job(program, arguments, started, totals[started]);
      std::fflush(stdout);
      _exit(sound ? 0 : 1);
    }
    is_sound = child > 0;
  }
  for (int status = 0; wait(&status) > 0;) is_sound = is_sound && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return is_sound;
}

/// One program over all seeds.
bool run(const std::string& program, const Arguments& arguments) {
  void* const memory = mmap(nullptr, sizeof(Totals) * kJobsMax, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const std::span<Totals> totals{new (memory) Totals[kJobsMax], kJobsMax};
  const auto start = std::chrono::steady_clock::now();
  const bool is_sound = run_jobs(program, arguments, totals);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  Totals sum;
  for (const Totals& one : totals) {
    sum.turns += one.turns;
    sum.crashes += one.crashes;
    sum.cpu_seconds += one.cpu_seconds;
  }
  munmap(memory, sizeof(Totals) * kJobsMax);
  if (!is_sound) return false;
  std::printf("%s: %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " turns, %" PRIu64
              " crashes, no violation; %.1f s, %.0f turns/s, %.0f a second of CPU time\n",
              program.c_str(), arguments.seeds, arguments.seed, sum.turns, sum.crashes, took.count(),
              static_cast<double>(sum.turns) / took.count(), static_cast<double>(sum.turns) / sum.cpu_seconds);
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
  if (arguments.wants_help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  for (const std::string_view program : programs()) {
    if (!arguments.program.empty() && arguments.program != program) continue;
    if (!run(std::string{program}, arguments)) return 1;
  }
  return 0;
}
