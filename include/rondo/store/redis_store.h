// The Redis store: tables that several processes and machines share, in the wire format of SONiC's swss-common, so that its producers and
// consumers and ours can be mixed on one database (docs/guide/mixing-with-sonic.md). Nothing waits: writes are gathered and pipelined, pops
// are fetched ahead, and a lost connection comes back by itself. What is popped stays in flight in Redis until the consumer comes for the
// next (ADR 0008), so a lost answer or a killed process loses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/sched/priority.h"
#include "rondo/store/redis_address.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// The shortest RedisStoreOptions::lease: it is renewed once a second at best.
inline constexpr Duration kShortestRedisLease = 3s;

/// Which store may consume the Staged and Queue tables of a database: see RedisStoreOptions::lease.
struct RedisLease {
  /// Off: this store asks for none. Asking: not known yet. Held: this store consumes. Standby: another one does. Lost: this store held it,
  /// and another one has, or had, it since; this store consumes no more. Refused: the server's user may not take it, and this store
  /// consumes without.
  enum class State : std::uint8_t { Off, Asking, Held, Standby, Lost, Refused };
  State state = State::Off;
  bool wanted = false;         // There are consumers that need it.
  std::uint64_t token = 0;     // Of this store's last lease; grows with each new holder. 0: never held.
  std::string holder = {};     // As the holder wrote it: text from outside.
  std::string described = {};  // The same for people, without control characters: "pid 4711 on host leaf1".
  std::string refused = {};    // Why, where the state is Refused.
  std::string damage = {};     // What stood in place of the last token, where it was none: text from outside. The count began anew.
};
/// "off", "asking", "held", "standby", "lost" or "refused". Static storage.
std::string_view to_string(RedisLease::State state) noexcept;

struct RedisStoreOptions {
  RedisAddress address;
  /// Between table and key: ':' or '|' (SONiC's database_config.json says which).
  char separator = ':';
  std::string name = "redis";      // Of the connections, for people.
  Priority priority = Priority{};  // Of the connections' turns and of completions.
  Duration connect_timeout = 5s;
  /// A server that owes an answer and is silent for so long is given up and connected anew.
  Duration answer_timeout = 5s;
  Duration backoff_low = 20ms;
  Duration backoff_high = 2s;
  /// Writes accepted and not yet answered; the next is refused.
  std::size_t writes_max = limits::kRedisWrites;
  /// Their bytes, likewise.
  std::size_t write_bytes_max = limits::kRedisWriteBytes;
  /// Keys of one pop, 1 to limits::kRedisPopKeys. A pop of 128 holds the server for about a millisecond.
  std::size_t pop_batch = 128;
  /// Keys that the server may name while one table is read whole (standing rows, Watched tables); beyond it the reading stops, and health()
  /// says so, until the connection comes back. A scan() that meets none but keys without rows for so long ends with ResourceExhausted.
  std::size_t scan_keys_max = limits::kTableRows;
  /// Staged tables: a notification for each key instead of one for each transaction of up to 128 keys. For a stock consumer that pops fewer
  /// than 128 keys a wake-up: it pops once for each notification, and one for a transaction leaves it short. Costs Redis and every
  /// subscriber a message a key. Our consumers need none of it.
  bool notify_each_key = false;
  /// Replicas that must have a write before it counts as done (WAIT), and how long that may take. With an asynchronous fail-over what no
  /// replica had is lost; a write that found fewer ends with DeadlineExceeded and may be lost.
  unsigned replicas = 0;
  Duration replicas_timeout = 1s;
  std::uint64_t seed = 1;  // Of the jitter.
  /// 0, or at least kShortestRedisLease: this store consumes Staged and Queue tables only while it holds the lease of the database, which
  /// ends after so long without a sign of its holder. Any number of stores may ask: one holds it, the others wait. A holder that slept for
  /// longer pops, acknowledges and hands out nothing when it wakes up. Stock consumers know nothing of it and are not kept away. Reading,
  /// writing and Watched and Channel tables need no lease. Costs a small script for each third of it, and none for a pop.
  Duration lease{};
  /// Who holds it: stores of one holder share the lease. Empty: this store alone.
  std::string lease_holder{};
  /// Called in a turn when the state of the lease, or its holder, changes. Must not destroy the store.
  std::function<void(const RedisLease& lease)> on_lease{};
  /// Asked before the lease is taken; false: later. For programs with several stores, which take their leases in one order.
  std::function<bool()> may_take_lease{};
  /// Called in a turn when the server is another one than before (a fail-over, a restart): what the last one had not saved or replicated is
  /// lost, also of what was written and answered. A producer writes its rows again; writes from here on come behind those that are sent
  /// again by themselves. 'epoch' as in RedisStoreStats. Must not destroy the store.
  std::function<void(std::uint64_t epoch)> on_failover{};
};

/// Figures since the store was made.
struct RedisStoreStats {
  std::uint64_t writes = 0;        // Accepted.
  std::uint64_t transactions = 0;  // Sent for them.
  std::uint64_t pops = 0;
  std::uint64_t empty_pops = 0;  // Pops that found nothing.
  std::uint64_t popped = 0;      // Keys and entries.
  std::uint64_t recovered = 0;   // Keys and entries found in flight after a gap and handed out again.
  std::uint64_t reads = 0;       // Rows fetched for Watched tables.
  std::uint64_t resyncs = 0;     // Full reads of Watched tables.
  std::uint64_t malformed = 0;   // Events, queue entries and batches in flight that could not be read; dropped.
  std::string last_damage = {};  // The newest such batch in flight: names its hash and field.
  std::uint64_t connects = 0;    // Times the store became usable.
  std::uint64_t epoch = 0;       // Grows with each server that takes the tables over; the same for all stores. 0: not known, or refused.
  std::uint64_t failovers = 0;   // Times the server, or the epoch, was another one than before.
  std::uint64_t fenced = 0;      // Connections given up that the server still had: what it had not carried out of them was dropped.
  std::uint64_t unfenced = 0;    // Connections made without the right to do so (CLIENT ID, INFO, CLIENT KILL): it may come late.
};

class RedisStore final : public Store {
 public:
  /// Connects in turns of 'scheduler', which must outlive the store. Never fails: see health().
  RedisStore(Scheduler& scheduler, RedisStoreOptions options);
  /// Never waits, and sends nothing any more: writes that were accepted and have no answer yet may be lost, and no WriteDone tells. Whoever
  /// wants them written gives turns until unanswered() is 0 first.
  ~RedisStore() override;

  // Store. Differences that Redis makes: a Staged table is popped in no particular order among the keys that wait; rows are not counted;
  // rows_max limits what waits and not the rows. Writes of Staged and Watched tables that were under way when the connection broke are sent
  // again, those of a Channel or Queue end with DeadlineExceeded. While a server refuses writes for want of replicas
  // (min-replicas-to-write) those of Staged and Watched tables wait, and so do pops, and health() says why; those of a Queue that it has
  // refused end with Unavailable.
  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;

  const RedisStoreStats& stats() const noexcept;
  /// Accepted writes whose end is not known yet.
  std::size_t unanswered() const noexcept;
  const RedisLease& lease() const noexcept;
  /// Consumers get nothing any more, and the lease is given back; true when that is done, so ask again in later turns. For an orderly end:
  /// the next holder need not wait until the lease ends.
  bool release_lease();
  /// The passwords of the next connections, to the server and to Sentinels. Open connections stay.
  void set_passwords(const std::string& password, const std::string& sentinel_password);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
