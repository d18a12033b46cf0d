#include "sim/sim_store.h"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/assert.h"
#include "rondo/store/memory_store.h"
#include "sim/sim_fetchers.h"
#include "sim/sim_wire.h"
#include "store/completions.h"
#include "store/subscription_handle.h"
#include "store/table_rules.h"

namespace rondo::sim {

struct SimStore::Impl {
  Impl(Scheduler& scheduler, const SimStoreOptions& given)
      : options(given),
        completions(scheduler, "sim-store", Priority::p7),
        server(given.server ? given.server(scheduler) : make_memory_store(scheduler)),
        wire(scheduler, given.seed, given.latency_low, given.latency_high) {
    wire.on_fault(given.on_fault);
  }

  const TableSpec* find(std::string_view table) const {
    const auto found = specs.find(table);
    return found == specs.end() ? nullptr : &found->second;
  }
  std::shared_ptr<SimFetcher> end_of(const TableSpec& spec);
  void post(Status status, WriteDone done) {
    --unanswered;
    completions.post(std::move(done), std::move(status));
  }
  /// A query: 'deliver' passes the server's answer to 'done' after the way there and back.
  template <class Done>
  void ask(std::string_view table, const Done& done, std::function<void()> deliver) {
    if (find(table) == nullptr) return completions.post(done, failure(store::no_such_table(table)));
    auto lost = [this, done] { completions.post(done, failure(StatusCode::Unavailable, "the connection to the store is lost")); };
    wire.send({.perform = {}, .deliver = std::move(deliver), .lost = std::move(lost)});
  }

  /// A write under way, there and back. Its place is reused after its end.
  struct Write {
    std::string_view table;
    Change change;
    Status outcome;
    WriteDone done;
  };
  Write& open(std::string_view table, Change change, WriteDone done) {
    if (free_writes.empty()) free_writes.push_back(&writes.emplace_back());
    Write& write = *free_writes.back();
    free_writes.pop_back();
    write.table = table;
    write.change = std::move(change);
    write.done = std::move(done);
    return write;
  }
  void perform(Write& write) {
    const bool refused = wire.random().chance(options.failure_chance);
    if (refused) wire.fault("a write is refused");
    write.outcome = refused ? Status{StatusCode::Unavailable, "table " + quoted(write.table) + ": the store refused the write"}
                            : server->write(write.table, std::move(write.change));
  }
  void end(Write& write, Status how) {
    WriteDone done = std::move(write.done);
    write.change = {};
    free_writes.push_back(&write);
    post(std::move(how), std::move(done));
  }

  SimStoreOptions options;
  store::Completions completions;
  std::unique_ptr<Store> server;
  std::deque<Write> writes;  // Places, with stable addresses.
  std::vector<Write*> free_writes;
  SimWire wire;
  std::map<std::string, TableSpec, std::less<>> specs;
  std::map<std::string, std::shared_ptr<SimSingleConsumerFetcher>, std::less<>>
      single_consumer;                          // For Staged and Queue tables that ever had a consumer.
  std::vector<std::weak_ptr<SimFetcher>> ends;  // For existing subscriptions.
  std::size_t unanswered = 0;
};

std::shared_ptr<SimFetcher> SimStore::Impl::end_of(const TableSpec& spec) {
  if (spec.kind == TableKind::Watched) return std::make_shared<SimWatchedFetcher>(wire, *server, spec.name);
  if (spec.kind == TableKind::Channel) {
    return std::make_shared<SimChannelFetcher>(wire, *server, spec.name, store::queue_capacity(spec));
  }
  std::shared_ptr<SimSingleConsumerFetcher>& end = single_consumer[spec.name];
  const double* const swapped = spec.kind == TableKind::Staged ? &options.keys_swapped : nullptr;
  if (end == nullptr)
    end =
        std::make_shared<SimSingleConsumerFetcher>(wire, *server, spec.name, SimSingleConsumerFetcher::Options{options.prefetch, swapped});
  return end;
}

SimStore::SimStore(Scheduler& scheduler, SimStoreOptions options) : impl_(std::make_unique<Impl>(scheduler, options)) {
  RONDO_EXPECT(options.prefetch > 0, "SimStoreOptions::prefetch is 0");
  for (const TableSpec& spec : impl_->server->tables()) impl_->specs.emplace(spec.name, spec);
}
SimStore::~SimStore() = default;

void SimStore::set_latency(Duration low, Duration high) { impl_->wire.set_latency(low, high); }
void SimStore::set_failure_chance(double chance) { impl_->options.failure_chance = chance; }
void SimStore::set_keys_swapped(double chance) { impl_->options.keys_swapped = chance; }
void SimStore::set_send_buffer(std::size_t writes) { impl_->options.send_buffer = writes; }
bool SimStore::connected() const noexcept { return impl_->wire.connected(); }
std::size_t SimStore::unanswered() const noexcept { return impl_->unanswered; }
Store& SimStore::server() noexcept { return *impl_->server; }

void SimStore::disconnect() {
  if (!connected()) return;
  impl_->wire.disconnect();
  for (const std::weak_ptr<SimFetcher>& known : impl_->ends) {
    if (const std::shared_ptr<SimFetcher> end = known.lock()) end->lose();
  }
}

void SimStore::reconnect() {
  if (connected()) return;
  impl_->wire.reconnect();
  for (const std::weak_ptr<SimFetcher>& known : impl_->ends) {
    if (const std::shared_ptr<SimFetcher> end = known.lock()) end->regain();
  }
}

Status SimStore::declare(const TableSpec& spec) {
  if (Status bad = impl_->server->declare(spec); !bad.ok()) return bad;
  impl_->specs.emplace(spec.name, spec);
  return {};
}

std::vector<TableSpec> SimStore::tables() const { return impl_->server->tables(); }

Status SimStore::write(std::string_view table, Change change, WriteDone done) {
  const TableSpec* const spec = impl_->find(table);
  if (spec == nullptr) return store::no_such_table(table);
  if (Status bad = store::check_change(*spec, change); !bad.ok()) return bad;
  if (impl_->unanswered >= impl_->options.send_buffer) {
    impl_->wire.fault("the send buffer is full");
    const std::string room = "table " + quoted(table) + ": " + std::to_string(impl_->unanswered) + " writes wait for their answers";
    if (connected()) return {StatusCode::ResourceExhausted, room};
    return {StatusCode::Unavailable, room + " and the connection to the store is lost"};
  }
  ++impl_->unanswered;
  Impl* const parts = impl_.get();
  Impl::Write* const write = &parts->open(spec->name, std::move(change), std::move(done));
  // Two pointers: a std::function holds those without an allocation.
  parts->wire.send({.perform = [parts, write] { parts->perform(*write); },
                    .deliver = [parts, write] { parts->end(*write, std::move(write->outcome)); },
                    .lost =
                        [parts, write] {
                          parts->wire.fault("the end of a write is unknown");
                          parts->end(*write, {StatusCode::DeadlineExceeded,
                                              "the connection was lost before the answer: whether it was written is unknown"});
                        },
                    .kept = true});
  return {};
}

Result<std::unique_ptr<Subscription>> SimStore::subscribe(std::string_view table, const SubscribeOptions& options) {
  const TableSpec* const spec = impl_->find(table);
  if (spec == nullptr) return failure(store::no_such_table(table));
  const std::shared_ptr<SimFetcher> end = impl_->end_of(*spec);
  if (end->is_open()) return failure(store::has_consumer(*spec));
  if (Status refused = end->open(options); !refused.ok()) return failure(std::move(refused));
  std::erase_if(impl_->ends, [&end](const std::weak_ptr<SimFetcher>& known) { return known.expired() || known.lock() == end; });
  impl_->ends.push_back(end);
  return store::subscription_of(end, [](SimFetcher& closing) { closing.close(); });
}

void SimStore::get(std::string_view table, std::string_view key, GetDone done) {
  impl_->ask(table, done,
             [parts = impl_.get(), name = std::string{table}, wanted = std::string{key}, done] { parts->server->get(name, wanted, done); });
}

void SimStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  impl_->ask(table, done, [parts = impl_.get(), name = std::string{table}, from = std::string{cursor}, max, done] {
    parts->server->scan(name, from, max, done);
  });
}

void SimStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  impl_->ask(table, done, [parts = impl_.get(), name = std::string{table}, from = std::string{cursor}, max, done] {
    parts->server->scan_written(name, from, max, done);
  });
}

Result<Store::Size> SimStore::size(std::string_view table) const {
  Result<Size> size = impl_->server->size(table);
  const auto end = impl_->single_consumer.find(table);
  if (size && end != impl_->single_consumer.end()) size->staged += end->second->waiting_keys();
  return size;
}

Status SimStore::health() const {
  if (connected()) return {};
  return {StatusCode::Unavailable, "the connection to the store is lost"};
}

}  // namespace rondo::sim
