// What recording a line costs the scheduler's thread (promise of orch/journal.h: under 150 ns for one field), and what the writer takes to
// a real file. The first figure writes to /dev/null, so that it is the hot path's own; run: bench_journal --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "rondo/orch/journal.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;

class Directory {
 public:
  explicit Directory(bool real) {
    std::string pattern = (fs::temp_directory_path() / "rondo-bench-journal-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    if (real) return;
    for (const char* name : {"swss.rec", "retry.rec"}) fs::create_symlink("/dev/null", path_ / name);
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Change route(int fields) {
  std::vector<Field> all{{"nexthop_group", "1"}, {"weight", "10"}, {"protocol", "bgp"}, {"vrf", "default"}};
  all.resize(static_cast<std::size_t>(fields));
  return Change::set("192.168.178.31/32", all);
}

/// 'real': the records go to a file of the temporary directory instead of /dev/null.
void record(benchmark::State& state, bool real) {
  const Directory directory(real);
  const SystemClock clock;
  auto journal = Journal::open({.directory = directory.path()}, clock);
  if (!journal) return state.SkipWithError(journal.error().to_string().c_str());
  const Change change = route(static_cast<int>(state.range(0)));
  std::int64_t line = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    if (line++ % 128 == 0) (*journal)->set_time(clock.wall_now());  // Once a turn.
    (*journal)->consumed("ROUTE_TABLE", change);
    if (line % 400'000 == 0) {  // About half of the buffer: the hot path, not the drop path, is measured.
      state.PauseTiming();
      static_cast<void>((*journal)->flush());
      state.ResumeTiming();
    }
  }
  static_cast<void>((*journal)->flush());
  state.SetItemsProcessed(state.iterations());
  state.counters["dropped"] = static_cast<double>((*journal)->stats().dropped);
}

void line_to_null(benchmark::State& state) { record(state, false); }
void line_to_file(benchmark::State& state) { record(state, true); }

void line_when_off(benchmark::State& state) {
  Journal journal;
  const Change change = route(1);
  for (auto unused : state) {
    static_cast<void>(unused);
    journal.consumed("ROUTE_TABLE", change);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(line_to_null)->Arg(1)->Arg(4);
BENCHMARK(line_to_file)->Arg(1)->Iterations(1'000'000);
BENCHMARK(line_when_off);

}  // namespace
}  // namespace rondo

BENCHMARK_MAIN();
