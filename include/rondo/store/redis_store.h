// The Redis store: tables shared by several processes and machines, in the wire format of SONiC's swss-common. SONiC's producers and
// consumers can use one database together with ours (docs/guide/mixing-with-sonic.md). Nothing blocks: writes are gathered and pipelined,
// pops are fetched ahead, and a lost connection is re-established. Popped changes stay in flight in Redis until the consumer takes the next
// ones (ADR 0008), so a lost answer or a killed process loses nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/sched/priority.h"
#include "rondo/store/redis_address.h"
#include "rondo/store/redis_limits.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// The shortest RedisStoreOptions::lease; the store renews a lease at most once a second.
inline constexpr Duration kShortestRedisLease = 3s;

/// Decides which store may consume the Staged and Queue tables of a database: see RedisStoreOptions::lease.
struct RedisLease {
  /// Off: this store does not request a lease. Asking: the answer is not known yet. Held: this store consumes. Standby: another store
  /// consumes. Lost: this store held it, and another store has or had it since; this store stops consuming. Refused: the server's user has
  /// no permission to take it, and this store consumes without a lease.
  enum class State : std::uint8_t { Off, Asking, Held, Standby, Lost, Refused };
  State state = State::Off;
  bool wanted = false;         // Some consumers of this store need it.
  std::uint64_t token = 0;     // Number of this store's last lease; grows with each new holder. 0: never held.
  std::string holder = {};     // The holder wrote it: untrusted text.
  std::string described = {};  // The same for display, without control characters: "pid 4711 on host leaf1".
  std::string refused = {};    // The reason if the state is Refused.
  std::string damage = {};     // The stored token that this store replaced because it was invalid: untrusted text. The count restarted.
};
/// "off", "asking", "held", "standby", "lost" or "refused". Static storage.
inline std::string_view to_string(RedisLease::State state) noexcept {
  constexpr std::array<std::string_view, 6> kNames{"off", "asking", "held", "standby", "lost", "refused"};
  const auto index = static_cast<std::size_t>(state);
  return index < kNames.size() ? kNames[index] : "unknown";
}

struct RedisStoreOptions {
  RedisAddress address;
  /// The separator between table and key: ':' or '|' (SONiC's database_config.json has it).
  char separator = ':';
  std::string name = "redis";      // Name of the connections, for display.
  Priority priority = Priority{};  // Priority of the connections' turns and of completions.
  Duration connect_timeout = 5s;
  /// If the server does not answer for this long, the connection is closed and made again.
  Duration answer_timeout = 5s;
  Duration backoff_low = 20ms;
  Duration backoff_high = 2s;
  /// The most writes without an answer; further ones are refused.
  std::size_t writes_max = limits::kRedisWrites;
  /// The most bytes of these writes; further ones are refused.
  std::size_t write_bytes_max = limits::kRedisWriteBytes;
  /// Keys of one pop, 1 to limits::kRedisPopKeys. A pop of 128 keys occupies the server for about a millisecond.
  std::size_t pop_batch = 128;
  /// The most keys that the server may return while one table is read completely (standing rows, Watched tables). Beyond it the read stops,
  /// and health() reports it, until the next connection. A scan() that finds this many keys without rows ends with ResourceExhausted.
  std::size_t scan_keys_max = limits::kTableRows;
  /// Staged tables: send a notification for each key instead of one for each transaction of up to 128 keys. For a stock consumer that pops
  /// fewer than 128 keys a wake-up: it pops once for each notification, so one for each transaction would leave keys behind. Costs Redis
  /// and every subscriber one message a key. Our consumers do not need it.
  bool notify_each_key = false;
  /// Number of replicas that must have a write before it counts as done (WAIT); replicas_timeout limits that wait. In an asynchronous
  /// fail-over, writes that no replica had are lost. A write that reached fewer replicas ends with DeadlineExceeded and may be lost.
  unsigned replicas = 0;
  Duration replicas_timeout = 1s;
  /// If the store has not been usable within about a second of its start, log that once to standard error, with address and reason. A
  /// program that watches health() may do without.
  bool log_unreachable = true;
  std::uint64_t seed = 1;  // Seed of the jitter.
  /// This store consumes Staged and Queue tables only while it holds the lease of the database: two processes that consume them would split
  /// the rows. The lease ends when its holder has not renewed it for this long, at least kShortestRedisLease. Any number of stores may
  /// request it: one holds it, the others wait. A holder that was suspended for longer pops, acknowledges and delivers nothing when it
  /// resumes. Stock consumers ignore the lease and are not kept out. Reading, writing, and Watched and Channel tables need no lease. Costs
  /// one small script per third of the lease, and nothing for a pop. 0: no lease, for several programs that consume different tables of one
  /// database.
  Duration lease = 10s;
  /// Identity of the holder: stores with the same identity share the lease. Empty: all stores of this process are one holder.
  std::string lease_holder{};
  /// Called in a turn when the state of the lease, or its holder, changes. Must not destroy the store. An exception is logged.
  std::function<void(const RedisLease& lease)> on_lease{};
  /// Called before the lease is taken; false postpones that, and so does an exception, which health() reports. For programs with several
  /// stores, which take their leases in a fixed order.
  std::function<bool()> may_take_lease{};
  /// Called in a turn when the server has changed (a fail-over, a restart). Data that the previous server had not saved or replicated is
  /// lost, even for confirmed writes. A producer should write its rows again; the store sends them after the writes that it repeats itself.
  /// 'epoch' as in RedisStoreStats. Must not destroy the store. An exception is logged.
  std::function<void(std::uint64_t epoch)> on_failover{};
};

/// Figures since the store was made.
struct RedisStoreStats {
  std::uint64_t writes = 0;        // Accepted.
  std::uint64_t transactions = 0;  // Transactions sent for these writes.
  std::uint64_t pops = 0;
  std::uint64_t empty_pops = 0;  // Pops that found nothing.
  std::uint64_t popped = 0;      // Keys and entries.
  std::uint64_t recovered = 0;   // Keys and entries that were in flight at a gap and were delivered again.
  std::uint64_t reads = 0;       // Rows fetched for Watched tables.
  std::uint64_t resyncs = 0;     // Complete reads of Watched tables.
  std::uint64_t malformed = 0;   // Events, queue entries and in-flight batches that could not be parsed; dropped.
  std::string last_damage = {};  // The newest such in-flight batch: its hash and field.
  std::uint64_t bad_events =
      0;  // The part of 'malformed' that were events of Channels. Any client may publish them, and nothing of ours is lost.
  std::string last_bad_event = {};  // The newest: its channel and the reason.
  std::uint64_t connects = 0;       // Times the store became usable.
  std::uint64_t epoch = 0;          // Grows with each server that takes over the tables; the same for all stores. 0: not known, or refused.
  std::uint64_t failovers = 0;      // Times the server or the epoch changed.
  std::string last_failover;        // What is known of the last of them, as text for operators.
  std::uint64_t fenced = 0;         // Own old connections that the server closed on request; it dropped their unprocessed commands.
  // Connections made without permission for that (CLIENT ID, INFO, CLIENT KILL): commands of the old connection may still be executed.
  std::uint64_t unfenced = 0;
};

class RedisStore final : public Store {
 public:
  /// Connects in turns of 'scheduler', which must outlive the store. Never fails; health() reports the state.
  RedisStore(Scheduler& scheduler, RedisStoreOptions options);
  /// Does not block, and sends nothing more. Accepted writes without an answer may be lost, and no WriteDone is called for them. To wait
  /// for them, give turns until unanswered() is 0.
  ~RedisStore() override;

  // Store. Differences of Redis: a Staged table is popped in no particular order among the waiting keys. Rows are not counted; rows_max
  // limits the waiting keys, not the rows. When the connection breaks, writes of Staged and Watched tables in flight are sent again; those
  // of a Channel or Queue end with DeadlineExceeded. While a server refuses writes because replicas are missing (min-replicas-to-write),
  // writes of Staged and Watched tables and pops wait, and health() reports the reason. Writes of a Queue that it refused end with
  // Unavailable.
  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;
  bool outlives_process(std::string_view) const override { return true; }
  /// The lease, what was dropped, and servers that came back without their data.
  StoreReport report() const override;
  std::size_t unfinished() const override;
  /// Stops all deliveries to consumers and returns the lease. The next holder then need not wait for the lease to expire.
  bool release() override;
  /// Does not wait. DataLoss if writes have no answer.
  Status finish() override;

  const RedisStoreStats& stats() const noexcept;
  /// Accepted writes whose result is not known yet.
  std::size_t unanswered() const noexcept;
  const RedisLease& lease() const noexcept;
  /// Sets the passwords of the next connections, to the server and to Sentinels. Open connections stay.
  void set_passwords(const std::string& password, const std::string& sentinel_password);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
