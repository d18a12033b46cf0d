// The cost of tables on Redis: the processor time of Redis and of this process, and the throughput. Compares them with the commands that
// SONiC's swss-common sends (reproduced here), in one run on one dedicated server on a Unix socket.
//   bench_redis_store [routes]     default: 100,000
//   bench_redis_store latency      only the latency of one change from one process to another
//   bench_redis_store failover     only the loss when a master is killed and its replica takes over
//   bench_redis_store large        only how long a pop of large rows blocks the server
//   bench_redis_store view [rows]  only a table's whole new content, default: 1,000,000 rows
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "redis_side.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/redis_store.h"
#include "rondo/store/table_view.h"
#include "store/redis/testing/server.h"

namespace {

using namespace rondo;
using bench::require;
using bench::Side;
using bench::thread_us;
using bench::wall_us;
using redis_kit::RedisServer;

struct Cost {
  double wall = 0;
  double ours = 0;
  double redis = 0;
};

template <class Work>
Cost measure(RedisServer& server, Work work) {
  const auto redis = static_cast<double>(server.cpu_microseconds());
  const double ours = thread_us();
  const double wall = wall_us();
  work();
  return {wall_us() - wall, thread_us() - ours, static_cast<double>(server.cpu_microseconds()) - redis};
}

void line(const char* what, const Cost& cost, std::size_t count, const char* wanted = "") {
  const auto n = static_cast<double>(count);
  std::printf("%-62s %8.2f %8.2f %10.0f   %s\n", what, cost.redis / n, cost.ours / n, n / cost.wall * 1e6, wanted);
  std::fflush(stdout);
}

std::string key_of(std::size_t i) {
  return std::to_string(10 + i / 65536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) + ".0/24";
}

/// Sets the first 'count' of the three fields.
void produce(Side& side, const std::vector<std::string>& keys, const std::string& value, std::size_t count = 3) {
  const Field fields[] = {{"nexthop", value}, {"ifname", "Ethernet0"}, {"weight", "1"}};
  for (const std::string& key : keys) {
    const Change change = Change::set(key, std::span{fields}.first(count));
    while (!side.store.write("ROUTE_TABLE", change).ok()) side.scheduler.run_until_idle(64);
    // If far enough ahead, wait for answers as an event loop does, instead of polling all the time.
    if (side.store.unanswered() > 4096) require(side.run_until([&side] { return side.store.unanswered() < 2048; }), "no answers");
  }
  require(side.run_until([&side] { return side.store.unanswered() == 0; }), "writes are not answered");
}

/// Takes changes until 'count' Sets arrived; returns the longest call in microseconds.
double consume(Side& side, Subscription& subscription, std::size_t count) {
  std::vector<Change> changes;
  std::size_t got = 0;
  double worst = 0;
  require(side.run_until([&] {
    const double start = wall_us();
    while (!subscription.empty()) {
      changes.clear();
      got += subscription.take(128, changes);
    }
    worst = std::max(worst, wall_us() - start);
    return got >= count;
  }),
          "entries are missing");
  return worst;
}

// --- the stock commands

constexpr const char* kStockSet =
    "local added = redis.call('SADD', KEYS[2], ARGV[2])\n"
    "for i = 0, #KEYS - 3 do redis.call('HSET', KEYS[3 + i], ARGV[3 + i * 2], ARGV[4 + i * 2]) end\n"
    "if added > 0 then redis.call('PUBLISH', KEYS[1], ARGV[1]) end";
constexpr const char* kStockPop =
    "local out = {} local keys = redis.call('SPOP', KEYS[1], ARGV[1])\n"
    "for _, key in ipairs(keys) do\n"
    "  if redis.call('SREM', KEYS[3], key) == 1 then redis.call('DEL', KEYS[2] .. key) end\n"
    "  local fields = redis.call('HGETALL', ARGV[2] .. KEYS[2] .. key)\n"
    "  table.insert(out, {key, fields})\n"
    "  for i = 1, #fields, 2 do redis.call('HSET', KEYS[2] .. key, fields[i], fields[i + 1]) end\n"
    "  redis.call('DEL', ARGV[2] .. KEYS[2] .. key)\n"
    "end return out";

void stock_produce(redis_kit::RedisClient& client, const std::string& sha, const std::vector<std::string>& keys, const std::string& value,
                   std::size_t count = 3) {
  const std::string fields[] = {"nexthop", value, "ifname", "Ethernet0", "weight", "1"};
  std::size_t owed = 0;
  for (const std::string& key : keys) {
    redis_kit::RedisClient::Arguments call{"EVALSHA", sha, std::to_string(2 + count), "ROUTE_TABLE_CHANNEL@0", "ROUTE_TABLE_KEY_SET"};
    call.insert(call.end(), count, "_ROUTE_TABLE:" + key);
    call.insert(call.end(), {"G", key});
    call.insert(call.end(), fields, fields + 2 * count);
    client.append(call);
    if (++owed < 128) continue;
    for (; owed > 0; --owed) client.next();
  }
  for (; owed > 0; --owed) client.next();
}

std::size_t stock_consume(redis_kit::RedisClient& client, const std::string& sha, std::size_t count) {
  std::size_t popped = 0;
  while (popped < count) {
    popped += client.list({"EVALSHA", sha, "3", "ROUTE_TABLE_KEY_SET", "ROUTE_TABLE:", "ROUTE_TABLE_DEL_SET", "128", "_"}).size();
  }
  return popped;
}

/// Measures 'consumer' in this thread beside a producer in another one. 'make_producer' is called in that thread, because a store belongs
/// to the thread that made it, and returns the work; the measurement begins when that is ready.
template <class MakeProducer>
Cost together(RedisServer& server, const MakeProducer& make_producer, const std::function<void()>& consumer) {
  std::latch ready{1};
  std::latch go{1};
  std::thread other{[&] {
    const auto produce = make_producer();
    ready.count_down();
    go.wait();
    produce();
  }};
  ready.wait();
  return measure(server, [&] {
    go.count_down();
    consumer();
    other.join();
  });
}

/// Ours and the stock commands by turns, each with new and then with existing rows: what 'fields' of the three name. Redis' CPU time, and
/// its ratio.
void by_turns(RedisServer& server, const std::vector<std::string>& keys, const char* what, std::size_t fields) {
  constexpr int kRounds = 3;
  const auto n = static_cast<double>(keys.size());
  double best[2][4] = {{1e18, 1e18, 1e18, 1e18}, {1e18, 1e18, 1e18, 1e18}};
  const auto note = [&](int who, int step, const Cost& cost) { best[who][step] = std::min(best[who][step], cost.redis / n); };
  for (int round = 0; round < kRounds; ++round) {
    server.command({"FLUSHALL"});
    {
      Side producer{server.address()};
      Side consumer{server.address()};
      for (const int step : {0, 2}) {
        note(0, step, measure(server, [&] { produce(producer, keys, step == 0 ? "10.0.0.1" : "10.0.0.2", step == 0 ? 3 : fields); }));
        const auto subscription = consumer.store.subscribe("ROUTE_TABLE", {.standing_rows = false}).value();
        note(0, step + 1, measure(server, [&] { consume(consumer, *subscription, keys.size()); }));
      }
    }
    server.command({"FLUSHALL"});
    redis_kit::RedisClient stock{server.address()};
    const std::string set = stock.command({"SCRIPT", "LOAD", kStockSet});
    const std::string pop = stock.command({"SCRIPT", "LOAD", kStockPop});
    for (const int step : {0, 2}) {
      note(1, step, measure(server, [&] { stock_produce(stock, set, keys, step == 0 ? "10.0.0.1" : "10.0.0.2", step == 0 ? 3 : fields); }));
      note(1, step + 1, measure(server, [&] { stock_consume(stock, pop, keys.size()); }));
    }
  }
  std::printf("%s: Redis us a row, ours / stock, whole rows of three fields\n", what);
  const char* const steps[] = {"set, new keys", "pop, new rows", "set, known keys", "pop, existing rows"};
  for (int step = 0; step < 4; ++step) {
    std::printf("  %-22s %6.2f / %5.2f   %.2f\n", steps[step], best[0][step], best[1][step], best[0][step] / best[1][step]);
  }
  const double ours = best[0][2] + best[0][3];
  const double theirs = best[1][2] + best[1][3];
  std::printf("  %-22s %6.2f / %5.2f   %.2f (wanted 1)\n", "set and pop, existing", ours, theirs, ours / theirs);
  std::fflush(stdout);
}

void staged(RedisServer& server, const std::vector<std::string>& keys) {
  std::printf("%-62s %8s %8s %10s\n", "Staged, 3 fields", "Redis us", "our us", "a second");
  const std::size_t n = keys.size();
  Side producer{server.address()};
  Side consumer{server.address()};
  for (const char* value : {"10.0.0.1", "10.0.0.2"}) {
    const bool first = value[7] == '1';
    line(first ? "set, new keys" : "set, known keys", measure(server, [&] { produce(producer, keys, value); }), n, "wanted 3.5 / 1");
    auto subscription = consumer.store.subscribe("ROUTE_TABLE", {.standing_rows = false}).value();
    double worst = 0;
    const Cost cost = measure(server, [&] { worst = consume(consumer, *subscription, n); });
    line(first ? "pop, new rows" : "pop, existing rows", cost, n, first ? "wanted 7 / 1" : "wanted 9 / 1");
  }
  auto subscription = consumer.store.subscribe("ROUTE_TABLE", {.standing_rows = false}).value();
  std::vector<std::string> ten(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(n, 10'000)));
  const RedisStoreStats before = consumer.store.stats();
  for (int round = 0; round < 10; ++round) produce(producer, ten, "10.0.1." + std::to_string(round));
  consume(consumer, *subscription, ten.size());
  consumer.scheduler.run_until_idle();
  std::printf("ten updates of each of %zu keys: %llu entries popped, %llu empty pops (wanted 0)\n", ten.size(),
              static_cast<unsigned long long>(consumer.store.stats().popped - before.popped),
              static_cast<unsigned long long>(consumer.store.stats().empty_pops - before.empty_pops));
  server.command({"FLUSHALL"});
  const Cost ours = together(
      server, [&] { return [&keys, side = std::make_shared<Side>(server.address())] { produce(*side, keys, "10.0.0.3"); }; },
      [&] { consume(consumer, *subscription, n); });
  line("set to taken, two threads", ours, n, "wanted 100,000 a second or 1.8 times the stock commands");

  server.command({"FLUSHALL"});
  redis_kit::RedisClient stock{server.address()};
  const std::string set = stock.command({"SCRIPT", "LOAD", kStockSet});
  const std::string pop = stock.command({"SCRIPT", "LOAD", kStockPop});
  line("the stock commands: set, pipelines of 128", measure(server, [&] { stock_produce(stock, set, keys, "10.0.0.1"); }), n);
  line("the stock commands: pop of 128, new rows", measure(server, [&] { stock_consume(stock, pop, n); }), n);
  server.command({"FLUSHALL"});
  redis_kit::RedisClient other{server.address()};
  const Cost theirs = together(
      server, [&] { return [&] { stock_produce(stock, set, keys, "10.0.0.3"); }; }, [&] { stock_consume(other, pop, n); });
  line("the stock commands: set to popped, two threads", theirs, n);
  std::printf("ours against the stock commands, end to end: %.2f times as fast\n", theirs.wall / ours.wall);
  server.command({"FLUSHALL"});
}

void channel(RedisServer& server, std::size_t n) {
  const TableSpec events{.name = "EVENTS", .kind = TableKind::Channel};
  Side consumer{server.address()};
  require(consumer.store.declare(events).ok(), "declare");
  auto subscription = consumer.store.subscribe("EVENTS").value();
  require(consumer.run_until([&] { return server.command({"PUBSUB", "NUMSUB", "EVENTS"}).find("1") != std::string::npos; }), "no listener");
  const std::vector<Field> fields{{"state", "up"}};
  const Cost cost = together(
      server,
      [&] {
        const auto producer = std::make_shared<Side>(server.address());
        require(producer->store.declare(events).ok(), "declare");
        return [&fields, n, producer] {
          for (std::size_t i = 0; i < n; ++i) {
            const Change event = Change::event("port_state_change", "Ethernet0", fields);
            while (!producer->store.write("EVENTS", event).ok()) producer->scheduler.run_until_idle(64);
            if (producer->store.unanswered() > 4096) producer->scheduler.run_until_idle(64);
          }
          require(producer->run_until([&] { return producer->store.unanswered() == 0; }), "events are not answered");
        };
      },
      [&] { consume(consumer, *subscription, n); });
  line("Channel: sent to taken, two threads", cost, n, "wanted 300,000 a second");
}

void watched(RedisServer& server, const std::vector<std::string>& keys) {
  Side consumer{server.address(), TableKind::Watched};
  auto subscription = consumer.store.subscribe("ROUTE_TABLE").value();
  require(consumer.run_until([&] { return consumer.store.stats().resyncs > 0; }), "no first read");
  consumer.run_until([turns = 0]() mutable { return ++turns > 5; });
  const Cost cost = together(
      server,
      [&] {
        return [&keys, writer = std::make_shared<redis_kit::RedisClient>(server.address())] {
          std::size_t owed = 0;
          for (const std::string& key : keys) {
            writer->append({"HSET", "ROUTE_TABLE:" + key, "nexthop", "10.0.0.1", "ifname", "Ethernet0"});
            if (++owed < 128) continue;
            for (; owed > 0; --owed) writer->next();
          }
          for (; owed > 0; --owed) writer->next();
        };
      },
      [&] { consume(consumer, *subscription, keys.size()); });
  line("Watched: written to reported, two threads", cost, keys.size(), "wanted 200,000 a second");
  double worst = 0;
  consumer.scheduler.for_each_source(
      [&worst](const Source& source) { worst = std::max(worst, static_cast<double>(source.stats().longest_turn.count()) / 1e3); });
  std::printf("worst turn meanwhile: %.0f us (wanted 5,000)\n", worst);
  server.command({"FLUSHALL"});
}

/// The other process: writes to 'report' when each change arrived. Ends with the pipe.
[[noreturn]] void listen_and_report(const RedisAddress& address, int report) {
  Side consumer{address};
  auto subscription = consumer.store.subscribe("ROUTE_TABLE").value();
  std::vector<Change> changes;
  for (;;) {
    consumer.scheduler.run_until_idle();
    changes.clear();
    if (subscription->take(128, changes) == 0) {
      consumer.scheduler.wait(consumer.clock.now() + 10ms);
      continue;
    }
    const double at = wall_us();
    if (::write(report, &at, sizeof at) != sizeof at) ::_exit(0);
  }
}

/// The time from set in this process to its handler in another one.
void latency(RedisServer& server) {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  const pid_t listener = ::fork();
  require(listener >= 0, "fork");
  if (listener == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    listen_and_report(server.address(), ends[1]);
  }
  ::close(ends[1]);
  Side producer{server.address()};
  redis_kit::RedisClient bare{server.address()};
  std::vector<double> bare_us;
  std::vector<double> ours_us;
  for (std::size_t i = 0; i < 2000; ++i) {
    double start = wall_us();
    bare.command({"PING"});
    bare_us.push_back(wall_us() - start);
    start = wall_us();
    require(producer.store.write("ROUTE_TABLE", Change::set("k", {{"n", std::to_string(i)}})).ok(), "write");
    require(producer.run_until([&] { return producer.store.unanswered() == 0; }), "no answer");
    double taken_at = 0;
    require(::read(ends[0], &taken_at, sizeof taken_at) == sizeof taken_at, "nothing was told");
    ours_us.push_back(taken_at - start);
  }
  ::kill(listener, SIGKILL);
  ::waitpid(listener, nullptr, 0);
  ::close(ends[0]);
  std::ranges::sort(bare_us);
  std::ranges::sort(ours_us);
  const double bound = 2 * bare_us[1980] + 250;
  std::printf(
      "set in one process to handler in another, on an idle Redis: p50 %.0f us, p99 %.0f us; a bare round trip p50 %.0f us, p99 %.0f us "
      "(wanted p99 %.0f us)\n",
      ours_us[1000], ours_us[1980], bare_us[1000], bare_us[1980], bound);
}

// --- what one command may take

struct Longest {
  double ms = 0;
  std::string what;
};

/// The server's longest command since the last call, from its slow log.
Longest longest_command(RedisServer& server) {
  Longest longest;
  for (const std::string& entry : server.list({"SLOWLOG", "GET", "1000"})) {
    int at = 0, when = 0, took = 0;
    char what[24] = "";
    if (std::sscanf(entry.c_str(), "[%d, %d, %d, [%23[^],]", &at, &when, &took, what) >= 3 && took / 1e3 > longest.ms) {
      longest = {took / 1e3, what};
    }
  }
  server.command({"SLOWLOG", "RESET"});
  return longest;
}

/// Uses existing rows, so that a pop reads and writes them: the longest pop, compared with the commands that it needs at least.
void large_rows() {
  for (const std::size_t size : {1024U, 16U * 1024, 128U * 1024, 1024U * 1024, 5U * 1024 * 1024}) {
    RedisServer server;
    server.command({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
    server.command({"CONFIG", "SET", "slowlog-max-len", "100000"});
    const std::size_t rows = std::min<std::size_t>(20'000, 64 * 1024 * 1024 / size);
    const std::string value(size, 'x');
    double bare = 0;
    for (int i = 0; i < 3; ++i) {
      server.command({"DEL", "bare", "copy"});
      server.command({"HSET", "bare", "v", value});
      server.command({"SLOWLOG", "RESET"});
      server.command({"HGETALL", "bare"});
      const double read = longest_command(server).ms;
      server.command({"HSET", "copy", "v", value});
      bare = std::max(bare, read + longest_command(server).ms);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const std::string key = std::to_string(i);
      server.command({"HSET", "ROUTE_TABLE:" + key, "v", "old"});
      server.command({"SADD", "ROUTE_TABLE_KEY_SET", key});
      server.command({"HSET", "_ROUTE_TABLE:" + key, "v", value});
    }
    server.command({"SLOWLOG", "RESET"});
    Side side{server.address()};
    auto subscription = side.store.subscribe("ROUTE_TABLE").value();
    consume(side, *subscription, rows);
    std::printf("rows of %7zu bytes: longest command of their consumer %6.2f ms, HGETALL and HSET of one such row %6.2f ms\n", size,
                longest_command(server).ms, bare);
    std::fflush(stdout);
  }
}

// --- a table's whole new content

void view(std::size_t rows) {
  mallopt(M_MXFAST, 0);  // As rondod does with glibc, which otherwise joins the blocks of a whole view in one turn, when the last is freed.
  RedisServer server;
  server.command({"CONFIG", "SET", "slowlog-log-slower-than", "2000"});
  server.command({"CONFIG", "SET", "slowlog-max-len", "1000"});
  Side side{server.address()};
  for (const char* what : {"into an empty table", "the same again", "one row in ten another"}) {
    TableView view{side.scheduler, side.store, "ROUTE_TABLE"};
    for (std::size_t i = 0; i < rows; ++i) {
      const char* const hop = what[0] == 'o' && i % 10 == 0 ? "10.0.0.2" : "10.0.0.1";
      require(view.set(key_of(i), {{"nexthop", hop}, {"ifname", "Ethernet0"}, {"weight", "1"}}).ok(), "set");
    }
    const double start = wall_us();
    std::optional<Result<ViewTotals>> end;
    const SchedulerStats before = side.scheduler.stats();
    require(view.apply([&end](const Result<ViewTotals>& told) { end = told; }).ok(), "apply");
    const Instant deadline = side.clock.now() + 600s;
    while (!end) {
      require(side.clock.now() < deadline, "the view is not applied");
      side.scheduler.wait(side.clock.now() + 100ms);
      side.scheduler.run_until_idle(64);
    }
    require(end->has_value(), "the view failed");
    const ViewTotals& totals = **end;
    const Longest longest = longest_command(server);
    std::printf(
        "view of %zu rows, %s: %.1f s; %zu same, %zu set; longest command of Redis %.1f ms %s (0: none above 2), turns above 5 ms: %llu\n",
        rows, what, (wall_us() - start) / 1e6, totals.same, totals.set, longest.ms, longest.what.c_str(),
        static_cast<unsigned long long>(side.scheduler.stats().long_turns - before.long_turns));
    std::fflush(stdout);
  }
}

/// Counts confirmed rows that the replica lacks when the master is killed during writes. Each write waits for 'replicas' replicas.
void failover(unsigned replicas, int round) {
  RedisServer master({.tcp = true});
  const RedisAddress at = master.tcp_address();
  RedisServer replica({.arguments = {"--replicaof", "127.0.0.1", std::to_string(at.port)}});
  redis_kit::wait_until("the replica is there", [&] {
    return replica.command({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
  });
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler{clock, *reactor, *make_policy(StrictPriority{})};
  RedisStoreOptions options = Side::options(master.address());
  options.replicas = replicas;
  RedisStore store{scheduler, options};
  require(store.declare({.name = "W", .kind = TableKind::Watched}).ok(), "declare");
  std::uint64_t told = 0;
  std::uint64_t written = 0;
  const Instant start = clock.now();
  const Instant end = start + 1500ms;
  while (clock.now() < end) {
    while (store.unanswered() < 4096) {
      const Status taken = store.write("W", Change::set(std::to_string(written), {{"nexthop", "10.0.0.1"}, {"ifname", "Ethernet0"}}),
                                       [&told](const Status& done) { told += std::uint64_t{done.ok()}; });
      if (!taken.ok()) break;
      ++written;
    }
    scheduler.wait(clock.now() + 10ms);
    scheduler.run_until_idle(64);
  }
  const double rate = static_cast<double>(told) / std::chrono::duration<double>(clock.now() - start).count();
  master.kill9();
  while (scheduler.run_until_idle(64) > 0 && store.health().ok()) continue;
  const std::uint64_t told_in_all = told;
  replica.command({"REPLICAOF", "NO", "ONE"});
  replica.command({"DEL", "RONDO_EPOCH"});
  const std::uint64_t there = std::strtoull(replica.command({"DBSIZE"}).c_str(), nullptr, 10);
  const std::uint64_t lost = told_in_all > there ? told_in_all - there : 0;
  std::printf("master killed, replicas = %u, run %d: %llu writes told at %.0f a second, %llu of them are not on the replica (%.1f ms)\n",
              replicas, round, static_cast<unsigned long long>(told_in_all), rate, static_cast<unsigned long long>(lost),
              1e3 * static_cast<double>(lost) / rate);
  std::fflush(stdout);
}

void failovers() {
  for (const unsigned replicas : {0U, 1U}) {
    for (int round = 1; round <= 5; ++round) failover(replicas, round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view{argv[1]} == "latency") {
    RedisServer server;
    latency(server);
    return 0;
  }
  if (argc > 1 && std::string_view{argv[1]} == "failover") {
    failovers();
    return 0;
  }
  if (argc > 1 && std::string_view{argv[1]} == "large") {
    large_rows();
    return 0;
  }
  if (argc > 1 && std::string_view{argv[1]} == "view") {
    view(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1'000'000);
    return 0;
  }
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  require(count > 0, "the number of routes must be positive");
  require(!redis_kit::server_program().empty(), "no redis-server: install Debian's package redis-tools");
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(key_of(i));
  RedisServer server;
  staged(server, keys);
  by_turns(server, keys, "all fields set", 3);
  by_turns(server, keys, "one field of three set", 1);
  server.command({"FLUSHALL"});
  channel(server, count);
  watched(server, keys);
  latency(server);
  return 0;
}
