// Measures how fast a routing table is made, encoded and sent over the admin socket, and the longest turn of the server meanwhile.
//   bench_feed [IPv4 routes] [IPv6 routes]          default 1,000,000 and 200,000; best of five runs is printed
// The daemon's end only counts rows, so the last figure is the upper bound of `rondo feed`, not the speed of a daemon.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "admin/bulk_codec.h"
#include "admin/bulk_writer.h"
#include "admin/server.h"
#include "feed/feed.h"
#include "feed/synthetic.h"
#include "rondo/admin/client.h"
#include "rondo/admin/limits.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace {

using namespace rondo;

/// Encodes rows into frames and drops the frames.
class EncodingSink final : public BulkSink {
 public:
  Status begin(std::string_view table) override {
    table_ = table;
    return encoder_.start(table);
  }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    if (encoder_.would_exceed(key, fields, BulkWriterOptions{}.frame_bytes)) {
      bytes += encoder_.finish().size();
      if (Status started = encoder_.start(table_); !started.ok()) return started;
    }
    return encoder_.add(op, key, fields, limits::kAdminFrameBytes);
  }
  Status end() override {
    bytes += encoder_.finish().size();
    return {};
  }
  std::uint64_t bytes = 0;

 private:
  BulkEncoder encoder_;
  std::string table_;
};

class CountingSink final : public BulkSink {
 public:
  Status begin(std::string_view) override { return {}; }
  Status row(BulkOp, std::string_view key, std::span<const BulkField>) override {
    bytes_ += key.size();
    return {};
  }
  Status end() override { return {}; }

 private:
  std::uint64_t bytes_ = 0;
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void print_rate(const char* what, std::uint64_t rows, Duration best) {
  std::printf("%-34s %10.0f rows/s  %6.0f ns a row\n", what, static_cast<double>(rows) / seconds(best),
              1e9 * seconds(best) / static_cast<double>(rows));
}

/// Sends one table over a real socket: the server's loop runs here, the writer on a thread. Returns the time it took, and stores the
/// longest turn.
Duration over_socket(const std::vector<feed::Route>& routes, const feed::NextHopPlan& plan, Duration& longest_turn) {
  char directory[] = "/tmp/rondo-bench-XXXXXX";
  if (::mkdtemp(directory) == nullptr) std::abort();
  const SystemClock clock;
  const auto reactor = make_epoll_reactor().value();
  Scheduler scheduler(clock, *reactor, make_policy(StrictPriority{}).value());
  const CommandRegistry commands;
  Duration took{0};
  {
    const auto server = AdminServer::open(scheduler, commands, AdminServerSetup({.path = std::string{directory} + "/s"}), [] {
                          return std::make_unique<CountingSink>();
                        }).value();
    std::thread writer_thread([&] {
      const auto client = AdminClient::connect(server->path()).value();
      const Instant start = clock.now();
      BulkWriter writer(*client);
      const bool fed = feed::feed_routes(routes, plan, writer).ok() && writer.finish().has_value();
      took = clock.now() - start;
      if (!fed) std::abort();
      scheduler.stop();
    });
    scheduler.run();
    writer_thread.join();
    longest_turn = std::max(longest_turn, scheduler.stats().longest_turn);
  }
  ::rmdir(directory);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t v4 = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::uint64_t v6 = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200'000;
  const feed::NextHopPlan plan = feed::NextHopPlan::make().value();
  const SystemClock clock;
  Duration generate{Duration::max()};
  Duration encode{Duration::max()};
  Duration socket{Duration::max()};
  Duration longest_turn{0};
  std::uint64_t bytes = 0;
  for (int run = 0; run < 5; ++run) {
    const Instant start = clock.now();
    auto routes = feed::synthetic_routes({.ipv4 = v4, .ipv6 = v6, .seed = 1}, plan).value();
    feed::shuffle_routes(routes, 1);
    const Instant generated = clock.now();
    EncodingSink sink;
    if (!feed::feed_routes(routes, plan, sink).ok()) return 1;
    const Instant encoded = clock.now();
    generate = std::min(generate, generated - start);
    encode = std::min(encode, encoded - generated);
    bytes = sink.bytes;
    socket = std::min(socket, over_socket(routes, plan, longest_turn));
  }
  const std::uint64_t rows = v4 + v6;
  print_rate("generate and shuffle", rows, generate);
  print_rate("text and encode", rows, encode);
  print_rate("generate, shuffle, text, encode", rows, generate + encode);
  print_rate("text, encode, socket, decode", rows, socket);
  std::printf("%.1f bytes a row on the wire; longest turn of the server, of all runs: %.0f us\n",
              static_cast<double>(bytes) / static_cast<double>(rows), 1e6 * seconds(longest_turn));
  return 0;
}
