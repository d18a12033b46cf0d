// The durable store compared with the bare disk: changes a second at each level, and the time of a restart. The bare loop appends the same
// bytes to a file and calls fdatasync after each group. SQLite writes everything twice (its log, then the database), so the difference is
// the cost of the format. Real clock, real file, in the given folder.
//   bench_durable_store [folder] [rows]
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/durable_store.h"

namespace {

using namespace rondo;

struct RouteRows {
  std::vector<std::string> keys;
  Change change(std::size_t i, std::size_t round) const {
    const std::string nexthop = "10.0." + std::to_string(round) + "." + std::to_string(i % 250);
    return Change::set(keys[i], {{"nexthop", nexthop}, {"ifname", "Ethernet" + std::to_string(i % 64)}});
  }
};

RouteRows make_rows(std::size_t count) {
  RouteRows rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.keys.push_back(std::to_string(1 + i / 65536 % 223) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) +
                        ".0/24");
  }
  Random random{1};
  for (std::size_t i = count; i > 1; --i) std::swap(rows.keys[i - 1], rows.keys[random.below(i)]);
  return rows;
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

struct Bench {
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
  std::unique_ptr<DurableStore> store;
  std::unique_ptr<Subscription> consumer;

  void open(const std::string& path, Durability durability) {
    auto opened = DurableStore::open(scheduler, {.path = path, .durability = durability});
    if (!opened || !(*opened)->declare({.name = "ROUTE_TABLE"}).ok()) {
      std::fprintf(stderr, "%s\n", opened ? "declare failed" : opened.error().to_string().c_str());
      std::exit(1);
    }
    store = std::move(*opened);
    consumer = std::move(*store->subscribe("ROUTE_TABLE"));
  }
  void take_all() {
    std::vector<Change> taken;
    while (consumer->take(128, taken) > 0) taken.clear();
  }
};

/// Writes all 'rows' twice in groups of 'batch', with one group under way while the next is made; returns changes a second.
void run(const std::string& path, Durability durability, std::size_t batch, const RouteRows& rows) {
  Bench bench;
  bench.open(path, durability);
  const std::size_t total = 2 * rows.keys.size();
  std::size_t told = 0;
  const Instant start = bench.clock.now();
  for (std::size_t i = 0; i < total;) {
    for (const std::size_t end = std::min(total, i + batch); i < end; ++i) {
      const Status status = bench.store->write("ROUTE_TABLE", rows.change(i % rows.keys.size(), i / rows.keys.size()),
                                               [&told](const Status& done) { told += std::size_t{done.ok()}; });
      if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.to_string().c_str());
        std::exit(1);
      }
    }
    bench.take_all();
    bench.scheduler.run_until_idle();
    if (durability != Durability::EveryBatch) continue;
    while (i - told > batch) {
      bench.scheduler.wait(bench.clock.now() + 1s);
      bench.scheduler.run_until_idle();
    }
  }
  const Duration accepted = bench.clock.now() - start;
  const Status finished = bench.store->finish();
  const Duration all = bench.clock.now() - start;
  const DurableStoreStats& stats = bench.store->stats();
  const double bytes = static_cast<double>(stats.bytes);
  std::printf(
      "  %-11s groups of %5zu  %9.0f changes/s (%9.0f until on the disk)  %6llu commits, longest %6.1f ms, %5.0f MB, longest turn %.1f "
      "ms%s\n",
      std::string{to_string(durability)}.c_str(), batch, static_cast<double>(total) / seconds(accepted),
      static_cast<double>(total) / seconds(all), static_cast<unsigned long long>(stats.commits), 1e3 * seconds(stats.longest_commit),
      bytes / 1e6, 1e3 * seconds(bench.scheduler.stats().longest_turn), finished.ok() ? "" : finished.to_string().c_str());
}

void bare(const std::string& path, std::size_t batch, std::size_t total) {
  constexpr std::size_t kBytes = 70;  // The size of a row in the log.
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
  const std::string group(batch * kBytes, 'x');
  const SystemClock clock;
  const Instant start = clock.now();
  for (std::size_t i = 0; i < total; i += batch) {
    if (::write(file, group.data(), group.size()) < 0 || ::fdatasync(file) != 0) std::perror("bare");
  }
  std::printf("  bare append and fdatasync, groups of %5zu: %9.0f changes/s\n", batch,
              static_cast<double>(total) / seconds(clock.now() - start));
  ::close(file);
}

void come_back(const std::string& path) {
  Bench bench;
  const Instant start = bench.clock.now();
  bench.open(path, Durability::Interval);
  const Duration opened = bench.clock.now() - start;
  std::printf("  come back: %llu rows of a file of %.0f MB in %.2f s\n", static_cast<unsigned long long>(bench.store->stats().restored),
              static_cast<double>(std::filesystem::file_size(path)) / 1e6, seconds(opened));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'200'000;
  const std::string path = folder + "/bench-durable-" + std::to_string(::getpid());
  const RouteRows rows = make_rows(count);
  std::printf("%zu rows in random order, each written twice\n", count);
  const auto clean = [&path] {
    for (const char* const suffix : {"", "-wal", "-lock"}) std::filesystem::remove(path + suffix);
  };
  for (const Durability durability : {Durability::None, Durability::Interval}) {
    clean();
    run(path, durability, 128, rows);
  }
  come_back(path);
  for (const std::size_t batch : {std::size_t{1000}, std::size_t{100}}) {
    clean();
    run(path, Durability::EveryBatch, batch, rows);
    clean();
    bare(path, batch, 2 * count / (batch == 100 ? 10 : 1));
  }
  clean();
}
