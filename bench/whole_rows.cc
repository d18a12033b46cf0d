// The cost of whole rows compared with written fields (Rows), for each store: processor time of this thread, and of Redis. Measures a
// change of one field of a row with four, written and taken; a new row; and a standing row that a new consumer takes. Both ways alternate,
// and the best of three rounds counts. Redis is a dedicated server on a Unix socket; the durable store's file is in the given folder.
//   bench_whole_rows [rows] [folder]     default: 100,000, .
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/memory_store.h"
#ifdef RONDO_BENCH_DURABLE
#include "rondo/store/durable_store.h"
#endif
#ifdef RONDO_BENCH_ZMQ
#include "rondo/store/zmq_server.h"
#endif
#ifdef RONDO_BENCH_REDIS
#include "rondo/store/redis_store.h"
#include "store/redis/testing/server.h"
#endif

namespace {

using namespace rondo;

double cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_whole_rows: %s\n", what);
  std::exit(1);
}

struct Cost {
  double ours = 1e18;
  double elsewhere = 1e18;
};

/// One measured store.
struct Subject {
  std::string name;
  std::function<Status(Change)> write;
  std::function<std::unique_ptr<Subscription>(const SubscribeOptions&)> subscribe;
  std::function<double()> cpu_elsewhere = [] { return 0.0; };
};

class Bench {
 public:
  explicit Bench(std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      keys_.push_back(std::to_string(10 + i / 65536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) + ".0/24");
    }
  }
  Scheduler& scheduler() { return scheduler_; }

  void run(const Subject& subject) {
    Cost fresh[2];
    Cost changed[2];
    Cost standing;
    for (int round = 0; round < 3; ++round) {
      for (const Rows rows : {Rows::Whole, Rows::Written}) {
        const auto way = static_cast<std::size_t>(rows);
        auto consumer = subject.subscribe({.rows = rows, .standing_rows = false});
        remove_all(subject, *consumer);
        const Change row = Change::set("", {{"nexthop", "10.0.0.1"}, {"ifname", "Ethernet0"}, {"weight", "1"}, {"protocol", "bgp"}});
        measure(subject, *consumer, fresh[way], row.record());
        const Change one = Change::set("", {{"weight", std::to_string(round + 2)}});
        measure(subject, *consumer, changed[way], one.record());
      }
      auto consumer = subject.subscribe({});
      const double ours = cpu_us();
      const double elsewhere = subject.cpu_elsewhere();
      take(*consumer, keys_.size());
      note(standing, ours, elsewhere, subject);
    }
    line(subject, "new row, whole", fresh[0]);
    line(subject, "new row, written", fresh[1]);
    line(subject, "one field of four, whole", changed[0]);
    line(subject, "one field of four, written", changed[1]);
    line(subject, "standing row", standing);
  }

 private:
  void note(Cost& cost, double ours, double elsewhere, const Subject& subject) const {
    const auto count = static_cast<double>(keys_.size());
    cost.ours = std::min(cost.ours, (cpu_us() - ours) / count);
    cost.elsewhere = std::min(cost.elsewhere, (subject.cpu_elsewhere() - elsewhere) / count);
  }
  static void line(const Subject& subject, const char* what, const Cost& cost) {
    std::printf("%-8s %-28s %8.0f ns of ours %8.2f us elsewhere\n", subject.name.c_str(), what, cost.ours * 1e3, cost.elsewhere);
    std::fflush(stdout);
  }
  void take(Subscription& consumer, std::size_t keys) {
    std::vector<Change> taken;
    const Instant end = clock_.now() + 120s;
    std::size_t sets = 0;
    while (sets < keys) {
      taken.clear();
      if (consumer.take(128, taken) == 0) {
        require(clock_.now() < end, "the changes do not come");
        if (scheduler_.run_until_idle(64) == 0) scheduler_.wait(clock_.now() + 10ms);
      }
      sets += taken.size();
    }
  }
  void write_all(const Subject& subject, const std::function<Change(const std::string&)>& change) {
    for (const std::string& key : keys_) {
      while (!subject.write(change(key)).ok()) scheduler_.run_until_idle(64);
    }
  }
  void remove_all(const Subject& subject, Subscription& consumer) {
    write_all(subject, [](const std::string& key) { return Change::remove(key); });
    take(consumer, keys_.size());
  }
  /// Writes first, then takes: only the taking differs, so for a store in this process only the taking is measured.
  void measure(const Subject& subject, Subscription& consumer, Cost& cost, const Record& fields) {
    const double elsewhere = subject.cpu_elsewhere();
    std::vector<Field> list;
    for (const Field field : fields.fields()) list.push_back(field);
    write_all(subject, [&list](const std::string& key) { return Change::set(key, list); });
    const double ours = cpu_us();
    take(consumer, keys_.size());
    note(cost, ours, elsewhere, subject);
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::vector<std::string> keys_;
};

Subject of_store(std::string name, Store& store) {
  require(store.declare({.name = "T"}).ok(), "declare");
  return {.name = std::move(name),
          .write = [&store](Change change) { return store.write("T", std::move(change)); },
          .subscribe = [&store](const SubscribeOptions& options) { return std::move(*store.subscribe("T", options)); }};
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  [[maybe_unused]] const std::string folder = argc > 2 ? argv[2] : ".";
  require(rows > 0, "usage: bench_whole_rows [rows] [folder]");
  Bench bench(rows);
  {
    const auto store = make_memory_store(bench.scheduler());
    bench.run(of_store("memory", *store));
  }
#ifdef RONDO_BENCH_DURABLE
  {
    const std::string path = folder + "/whole_rows_bench";
    auto store = DurableStore::open(bench.scheduler(), {.path = path});
    require(store.has_value(), "the durable store does not open");
    bench.run(of_store("durable", **store));
    store->reset();
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().filename().string().starts_with("whole_rows_bench")) std::filesystem::remove(file.path());
    }
  }
#endif
#ifdef RONDO_BENCH_ZMQ
  {
    ZmqServerOptions options;
    options.endpoint = "tcp://127.0.0.1:0";
    options.tables = {{.database = "DB", .table = "T", .keys_max = rows}};
    auto server = ZmqServer::open(bench.scheduler(), std::move(options));
    require(server.has_value(), "the direct server does not open");
    bench.run({.name = "direct",
               .write = [&server](Change change) { return (*server)->write("DB", "T", std::move(change)); },
               .subscribe = [&server](const SubscribeOptions& how) { return std::move(*(*server)->subscribe("DB", "T", how)); }});
  }
#endif
#ifdef RONDO_BENCH_REDIS
  if (!redis_kit::server_program().empty()) {
    redis_kit::RedisServer server;
    RedisStoreOptions options;
    options.address = server.address();
    RedisStore store(bench.scheduler(), options);
    Subject subject = of_store("redis", store);
    subject.cpu_elsewhere = [&server] { return static_cast<double>(server.cpu_microseconds()); };
    bench.run(subject);
  }
#endif
  return 0;
}
