// SimStore: a store at the far end of a connection that is slow, fails and breaks when it is told to. The tables are the embedded store's,
// the way to them is simulated: each request and each answer travels for a seeded time on the scheduler's clock. Runs are repeatable by
// seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "rondo/base/time.h"
#include "rondo/store/store.h"

namespace rondo {
class Scheduler;
}

namespace rondo::sim {

struct SimStoreOptions {
  std::uint64_t seed = 1;
  Duration latency_low = 1ms;  // One way; drawn evenly from this range.
  Duration latency_high = 5ms;
  double failure_chance = 0.0;        // That the server refuses a write (Unavailable).
  std::size_t send_buffer = 100'000;  // Writes accepted and not yet answered; the next is refused.
  std::size_t prefetch = 256;         // Changes that a Staged or Queue consumer has fetched and not yet taken.
  double keys_swapped = 0.0;          // Chance that a fetched key of a Staged table changes places with the one behind it.
  /// Hears, in a few words, when one of these faults comes to something.
  std::function<void(std::string_view what)> on_fault = {};
  /// Makes the tables at the far end; empty: the embedded store.
  std::function<std::unique_ptr<Store>(Scheduler&)> server = {};
};

/// What a connection does to the promises of Store:
/// - Writes arrive in the order they were accepted. Those that had not arrived when the connection broke are sent after it is back; of
/// those
///   whose answer was on its way the outcome is DeadlineExceeded. get() and scan() answer Unavailable while it is broken.
/// - While it is broken subscriptions hand out only what they had fetched. Afterwards Staged and Queue go on, Watched compares and reports
/// the
///   difference, Channel reports Gap::Possible.
/// - A pop happens when its answer arrives, so a broken connection loses no change; what was fetched and not taken when a consumer goes
///   is there for the next one.
class SimStore final : public Store {
 public:
  /// 'scheduler' must outlive the store; its clock and timers are the store's.
  explicit SimStore(Scheduler& scheduler, SimStoreOptions options = {});
  ~SimStore() override;

  // Controls, at any time.
  void set_latency(Duration low, Duration high);
  void set_failure_chance(double chance);
  void set_keys_swapped(double chance);
  void set_send_buffer(std::size_t writes);
  void disconnect();
  void reconnect();
  bool connected() const noexcept;
  /// Accepted writes whose end is not known yet.
  std::size_t unanswered() const noexcept;
  /// The tables themselves, at once and whatever the connection does: what another client would do there. Leave the one consumer of a
  /// Staged or Queue table to this store.
  Store& server() noexcept;

  // Store.
  Status declare(const TableSpec& spec) override;  // Known at both ends at once.
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;  // As the server knows it now; what was fetched counts as staged.
  Status health() const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo::sim
