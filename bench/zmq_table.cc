// The entries a second that a direct table carries from set() in one thread to take() in another, over real sockets, compared with the
// targets; and the latency from one set() to its take() on an idle link. Route-like entries of three fields.
// singly    each set() is a separate call in a turn of a source of the writer; frames collect 64 KiB
// vectors   1000 at a time, flushed, like a producer that has a batch
// stock     hand-made frames of one entry on a plain PUSH socket, as SONiC's producer sends them
// With the consumer stopped, 100,000 entries of 10,000 keys: their memory, for both ends together.
//   bench_zmq_table [entries] [rounds] [endpoint]
#include <malloc.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/metrics.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/zmq_client.h"
#include "rondo/store/zmq_limits.h"
#include "rondo/store/zmq_server.h"
#include "store/zmq/frame.h"

namespace {

using namespace rondo;

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

std::vector<std::string> make_keys(std::size_t count) {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(std::to_string(1 + (i >> 16)) + "." + std::to_string((i >> 8) & 255) + "." + std::to_string(i & 255) + ".0/24");
  }
  return keys;
}

/// A thread with a scheduler: the reading end of a table.
class Reader {
 public:
  explicit Reader(const std::string& endpoint) {
    Result<std::unique_ptr<ZmqServer>> server = ZmqServer::open(
        scheduler_, {.endpoint = endpoint, .tables = {{.database = "APPL_DB", .table = "ROUTE_TABLE"}}, .priority = Priority::p0});
    if (!server) require(server.error());
    server_ = std::move(*server);
    subscription_ = std::move(*server_->subscribe("APPL_DB", "ROUTE_TABLE"));
    taker_ = std::make_unique<Taker>(*this);
    scheduler_.add(*taker_);
    subscription_->on_ready([this] { taker_->wake(); });
    thread_ = std::thread([this] { scheduler_.run(); });
  }
  ~Reader() {
    scheduler_.stop();
    thread_.join();
    taker_.reset();
    subscription_.reset();
  }
  void wait_for(std::uint64_t taken) const {
    while (taken_.load(std::memory_order_acquire) < taken) std::this_thread::yield();
  }
  /// Blocks the calling thread in the kernel, so that the others can use the processor.
  void wait_idle(std::uint64_t taken) const {
    for (std::uint64_t seen = taken_.load(); seen < taken; seen = taken_.load()) ::usleep(200);
  }
  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }
  void pause(bool paused) { paused_.store(paused); }
  void go_on() { taker_->wake_from_any_thread(); }
  const std::string& endpoint() const { return server_->endpoint(); }

 private:
  class Taker final : public Source {
   public:
    explicit Taker(Reader& reader) : Source("taker", Priority::p1), reader_(reader) {}
    Turn run(const Budget& budget) override {
      if (reader_.paused_.load()) return {};
      changes_.clear();
      const std::size_t taken = reader_.subscription_->take(budget.items, changes_);
      for (const Change& change : changes_) fields_ += change.fields().size();
      reader_.taken_.fetch_add(taken, std::memory_order_release);
      return {.items = static_cast<std::uint32_t>(taken), .backlog = reader_.subscription_->empty() ? Backlog::Empty : Backlog::More};
    }

   private:
    Reader& reader_;
    std::vector<Change> changes_;
    std::uint64_t fields_ = 0;
  };

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = *make_epoll_reactor();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::unique_ptr<ZmqServer> server_;
  std::unique_ptr<Subscription> subscription_;
  std::unique_ptr<Taker> taker_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<bool> paused_{false};
  std::thread thread_;
};

/// The writing end, on the calling thread.
class Writer {
 public:
  Writer(const std::string& endpoint, std::size_t frame_bytes) {
    Result<std::unique_ptr<ZmqClient>> client =
        ZmqClient::open(scheduler_, {.endpoint = endpoint, .frame_bytes = frame_bytes, .linger = 10s});
    if (!client) require(client.error());
    client_ = std::move(*client);
    table_ = std::make_unique<ZmqTable>(*client_->table("APPL_DB", "ROUTE_TABLE"));
    while (!client_->is_connected()) step();
  }
  void step() {
    if (!scheduler_.turn()) scheduler_.wait(clock_.now() + 1ms);
  }
  Status set(const std::string& key) { return table_->set(key, {{"nexthop", "10.0.0.1"}, {"ifname", "Ethernet0"}, {"protocol", "bgp"}}); }
  /// A source that sets 'each' keys a turn. When 10,000 keys wait in the client, it stops until they are sent.
  void send_all(const std::vector<std::string>& keys, std::size_t each) {
    std::size_t at = 0;
    struct Feeder final : Source {
      Feeder(std::function<bool()> feed_it) : Source("feeder", Priority::p0), feed(std::move(feed_it)) {}
      Turn run(const Budget&) override { return {.items = 1, .backlog = feed() ? Backlog::More : Backlog::Empty}; }
      std::function<bool()> feed;
    };
    Feeder feeder([&] {
      const std::size_t end = std::min(keys.size(), at + each);
      for (; at < end; ++at) require(set(keys[at]));
      return false;
    });
    scheduler_.add(feeder);
    while (at < keys.size()) {
      if (client_->is_flushed()) feeder.wake();
      step();
    }
    while (!client_->is_flushed()) step();
  }
  ZmqClient& client() { return *client_; }

 private:
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = *make_epoll_reactor();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::unique_ptr<ZmqClient> client_;
  std::unique_ptr<ZmqTable> table_;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double rate(const std::string& endpoint, const std::vector<std::string>& keys, std::size_t each, std::size_t frame_bytes) {
  Reader reader(endpoint);
  Writer writer(reader.endpoint(), frame_bytes);
  const double seconds = seconds_of([&] {
    writer.send_all(keys, each);
    reader.wait_idle(keys.size());
  });
  return static_cast<double>(keys.size()) / seconds;
}

/// Sends frames of one entry on a plain socket.
double stock_rate(const std::string& endpoint, const std::vector<std::string>& keys) {
  Reader reader(endpoint);
  void* const context = ::zmq_ctx_new();
  void* const socket = ::zmq_socket(context, ZMQ_PUSH);
  const int frames = 10'000;
  ::zmq_setsockopt(socket, ZMQ_SNDHWM, &frames, sizeof frames);
  if (::zmq_connect(socket, reader.endpoint().c_str()) != 0) std::exit(1);
  store::FrameWriter frame("APPL_DB", "ROUTE_TABLE");
  const Field fields[] = {{"nexthop", "10.0.0.1"}, {"ifname", "Ethernet0"}, {"protocol", "bgp"}};
  const double seconds = seconds_of([&] {
    for (const std::string& key : keys) {
      frame.set(key, fields);
      const std::string_view bytes = frame.bytes();
      ::zmq_send(socket, bytes.data(), bytes.size(), 0);
      frame.clear();
    }
    reader.wait_idle(keys.size());
  });
  ::zmq_close(socket);
  ::zmq_ctx_term(context);
  return static_cast<double>(keys.size()) / seconds;
}

void latency(const std::string& endpoint, std::size_t count) {
  Reader reader(endpoint);
  Writer writer(reader.endpoint(), limits::kZmqClientFrameBytes);
  Histogram microseconds;
  const std::vector<std::string> keys = make_keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double seconds = seconds_of([&] {
      require(writer.set(keys[i]));
      while (!writer.client().is_flushed()) writer.step();
      reader.wait_for(i + 1);
    });
    microseconds.add(static_cast<std::uint64_t>(seconds * 1e6));
  }
  std::printf("one set() to its take(), idle link: p50 %lu us, p99 %lu us\n", microseconds.quantile(0.5), microseconds.quantile(0.99));
}

void stopped_consumer(const std::string& endpoint) {
  constexpr std::size_t kEntries = 100'000;
  constexpr std::size_t kKeys = 10'000;
  Reader reader(endpoint);
  Writer writer(reader.endpoint(), limits::kZmqClientFrameBytes);
  const std::vector<std::string> keys = make_keys(kKeys);
  reader.pause(true);
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  for (std::size_t i = 0; i < kEntries / kKeys; ++i) writer.send_all(keys, 128);
  const std::size_t after = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  reader.pause(false);
  reader.go_on();
  reader.wait_idle(kKeys);
  std::printf("consumer stopped, 100000 entries of 10000 keys: %.1f MiB more; %lu taken afterwards\n",
              (static_cast<double>(after) - static_cast<double>(before)) / 1048576, reader.taken());
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t entries = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  const std::size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 3;
  const std::string endpoint = argc > 3 ? argv[3] : "tcp://127.0.0.1:*";
  const std::vector<std::string> keys = make_keys(entries);
  double singly = 0;
  double vectors = 0;
  double stock = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    singly = std::max(singly, rate(endpoint, keys, 32, limits::kZmqClientFrameBytes));
    vectors = std::max(vectors, rate(endpoint, keys, 1000, limits::kZmqClientFrameBytes));
    stock = std::max(stock, stock_rate(endpoint, keys));
  }
  std::printf("%zu entries of 3 fields, best of %zu rounds, million/s (wanted)\n", entries, rounds);
  std::printf("singly   %5.2f (1)\nvectors  %5.2f (2)\nstock    %5.2f\n", singly / 1e6, vectors / 1e6, stock / 1e6);
  latency(endpoint, 5000);
  stopped_consumer(endpoint);
  return 0;
}
