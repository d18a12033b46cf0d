// SimStore: a store behind a simulated connection that is slow, fails and breaks as configured. The tables are those of the embedded store.
// Each request and each answer takes a seeded time on the scheduler's clock. A run can be repeated by its seed.
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
  Duration latency_low = 1ms;  // One way; drawn uniformly from this range.
  Duration latency_high = 5ms;
  double failure_chance = 0.0;        // Chance that the server refuses a write (Unavailable).
  std::size_t send_buffer = 100'000;  // Writes accepted and not yet answered; further ones are refused.
  std::size_t prefetch = 256;         // Changes that a Staged or Queue consumer has fetched and not yet taken.
  double keys_swapped = 0.0;          // Chance that a fetched key of a Staged table changes places with the next one.
  /// Called with a short description when one of these faults takes effect.
  std::function<void(std::string_view what)> on_fault = {};
  /// Makes the tables at the server; empty: the embedded store.
  std::function<std::unique_ptr<Store>(Scheduler&)> server = {};
};

/// How the connection affects the guarantees of Store:
/// - Writes arrive in the order in which they were accepted. When the connection breaks, writes that have not arrived are sent after it
///   returns. Writes with an answer on its way end with DeadlineExceeded. get() and scan() return Unavailable during the break.
/// - During the break subscriptions deliver only what they had fetched. Afterwards Staged and Queue continue, Watched compares and reports
///   the difference, and Channel reports a gap.
/// - A pop takes effect when its answer arrives, so a broken connection loses no change. Changes that a consumer fetched and did not take
///   are kept for the next consumer.
class SimStore final : public Store {
 public:
  /// 'scheduler' must outlive the store; the store uses its clock and timers.
  explicit SimStore(Scheduler& scheduler, SimStoreOptions options = {});
  ~SimStore() override;

  // Controls; may be called at any time.
  void set_latency(Duration low, Duration high);
  void set_failure_chance(double chance);
  void set_keys_swapped(double chance);
  void set_send_buffer(std::size_t writes);
  void disconnect();
  void reconnect();
  bool connected() const noexcept;
  /// Accepted writes whose result is not known yet.
  std::size_t unanswered() const noexcept;
  /// The tables of the server, without delay and whatever the state of the connection: for actions of another client. Only this store may
  /// consume a Staged or Queue table.
  Store& server() noexcept;

  // Store.
  Status declare(const TableSpec& spec) override;  // Takes effect at both ends immediately.
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;  // The server's current size; fetched changes count as staged.
  Status health() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::sim
