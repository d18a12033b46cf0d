// The cost of recording on the scheduler thread, by kind of record, and the writer's cost for a real file. journal/journal.h promises under
// 100 ns for a change of one field. The first figures write to /dev/null, so that they measure the hot path alone. Run: bench_journal
// --benchmark_repetitions=5. bench_agent_routes journal measures the journal's cost in a run of routes.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "journal/fault_kit.h"
#include "journal/recorder.h"
#include "rondo/sched/source.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;

class File {
 public:
  File() {
    std::string pattern = (fs::temp_directory_path() / "rondo-bench-journal-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
  }
  ~File() { fs::remove_all(directory_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  fs::path path() const { return directory_ / "day.journal"; }

 private:
  fs::path directory_;
};

Change route(int fields) {
  std::vector<Field> all{{"nexthop_group", "1"}, {"weight", "10"}, {"protocol", "bgp"}, {"vrf", "default"}};
  all.resize(static_cast<std::size_t>(fields));
  return Change::set("192.168.178.31/32", all);
}

/// Calls 'one' repeatedly with a journal and a number. 'real': into a file of the temporary directory instead of /dev/null.
template <class One>
void record(benchmark::State& state, bool real, const One& one) {
  const File file;
  const SystemClock clock;
  auto opened = JournalRecorder::open({.file = file.path().string()}, clock);
  if (!opened) return state.SkipWithError(opened.error().to_string().c_str());
  JournalRecorder& journal = **opened;
  if (!real) journal::replace_file(file.path().string(), "/dev/null");
  const std::uint32_t table = journal.name("ROUTE_TABLE");
  std::uint32_t row = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    one(journal, table, row++);
    if (row % 400'000 == 0) {  // Well within the buffer, so that the hot path is measured and not the path of a loss.
      state.PauseTiming();
      static_cast<void>(journal.flush());
      state.ResumeTiming();
    }
  }
  static_cast<void>(journal.flush());
  state.SetItemsProcessed(state.iterations());
  state.counters["dropped"] = static_cast<double>(journal.stats().dropped);
  state.counters["bytes"] = static_cast<double>(journal.stats().bytes) / static_cast<double>(state.iterations());
}

void change_of_fields(benchmark::State& state) {
  record(state, false,
         [change = route(static_cast<int>(state.range(0)))](JournalRecorder& journal, std::uint32_t table, std::uint32_t row) {
           journal.changed(table, row, change);
         });
}
void change_to_file(benchmark::State& state) {
  record(state, true,
         [change = route(1)](JournalRecorder& journal, std::uint32_t table, std::uint32_t row) { journal.changed(table, row, change); });
}
void parked_on_a_fact(benchmark::State& state) {
  constexpr FactKind kGroup{"nexthop-group"};
  record(state, false,
         [change = route(1), facts = std::vector<Fact>{{kGroup, "102"}}](JournalRecorder& journal, std::uint32_t table, std::uint32_t row) {
           journal.parked(table, row, change, facts);
         });
}
void done(benchmark::State& state) {
  record(state, false, [](JournalRecorder& journal, std::uint32_t table, std::uint32_t row) { journal.done(table, row); });
}
/// A wake, a begin and an end: three records, and both clocks once in 10 ms.
void turn(benchmark::State& state) {
  Instant now;
  record(state, false, [&now](JournalRecorder& journal, std::uint32_t, std::uint32_t) {
    journal.clock_read(now);
    journal.woken(1);
    journal.turn_begins(1, now);
    now = now + 10us;
    journal.turn_ends({.items = 32, .backlog = Backlog::Empty}, now);
  });
}

void change_when_off(benchmark::State& state) {
  JournalRecorder journal;
  const Change change = route(1);
  for (auto unused : state) {
    static_cast<void>(unused);
    journal.changed(0, 1, change);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(change_of_fields)->Arg(1)->Arg(4);
BENCHMARK(change_to_file)->Iterations(1'000'000);
BENCHMARK(parked_on_a_fact);
BENCHMARK(done);
BENCHMARK(turn);
BENCHMARK(change_when_off);

}  // namespace
}  // namespace rondo

BENCHMARK_MAIN();
