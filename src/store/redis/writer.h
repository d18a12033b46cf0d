// Writer: the writes that were accepted and not yet answered, in order. Writes of Staged tables are sent as SONiC's ProducerStateTable does
// it, in plain transactions of up to 128 keys: one SADD, one HSET for each key, one notification. This costs Redis a third of SONiC's
// script.
//
// After a lost connection, outstanding writes of Staged and Watched tables are sent again, because repeating them is harmless. Each key is
// sent once, with the merged result of its writes: a consumer elsewhere may have seen them all, and must not see an older state after the
// newest. For other tables the outcome is unknown and is reported so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/store/redis_store.h"
#include "store/completions.h"
#include "store/redis/connection.h"
#include "store/redis/target.h"

namespace rondo::redis {

class Writer {
 public:
  Writer(Connection& commands, store::Completions& completions, RedisStoreStats& stats, const RedisStoreOptions& options) noexcept
      : commands_(commands), completions_(completions), stats_(stats), options_(options) {}

  void add(Target& target, Change change, WriteDone done);
  /// Calls 'told' once, when everything added until now has its answer (immediately if it has), or with the reason when the connection is
  /// lost before.
  void when_answered(std::function<void(const Status& lost)> told);
  std::size_t unanswered() const noexcept { return unanswered_; }
  std::size_t unanswered_bytes() const noexcept { return bytes_; }

  /// Sends the writes that may be sent now.
  void send();
  void lost();
  /// Requests the number of waiting entries of a Staged or Queue table, unless a request is outstanding. A process that only writes, and is
  /// refused, would not learn otherwise that a consumer elsewhere has made room.
  void ask_waiting(Target& target);
  /// Called periodically: sends refused writes again.
  void tick();
  /// Why writes wait although the connection is up; ok while they do not.
  const Status& trouble() const noexcept { return trouble_; }

 private:
  static constexpr std::uint32_t kWhole = 0;  // The part number that stands for the whole batch.
  struct Ended {
    std::uint64_t number = 0;
    WriteDone done;
    Status status;
  };
  struct Write {
    Target* target = nullptr;
    Change change;
    WriteDone done;
    std::unique_ptr<std::vector<Ended>> carried{};  // Older writes of the key that this one replaces; usually none.
    std::uint64_t number = 0;                       // The number of the accepted write.
    std::uint32_t part = 0;  // The part of the batch. A failure for another table, or for another write, does not affect this one.
    bool deleted = false;    // A Set with a Delete before it.
    bool again = false;      // Sent before, on a connection that was lost.
  };
  struct Batch {
    /// The result of a write in this batch.
    const Status& outcome(const Write& write) const { return outcomes[write.part].ok() ? outcomes[kWhole] : outcomes[write.part]; }
    std::vector<Write> writes;
    std::size_t awaited = 0;  // The number of outstanding answers.
    std::vector<Status> outcomes = std::vector<Status>(1);
  };
  /// The staged writes of one table within a batch, merged by key.
  struct Group {
    struct Key {
      std::string_view key;
      bool deleted = false;
      Record record;
    };
    /// The entry for 'record''s key in 'keys', added if it is new. O(1): at most half of the slots are used.
    Key& at(const Record& record);
    Target* target = nullptr;
    std::uint32_t part = 0;
    std::vector<Key> keys;
    std::array<std::uint8_t, 256> slots{};  // The index in 'keys' plus one; 0: free.
  };

  struct Waiting {
    std::uint64_t finished = 0;
    std::function<void(const Status&)> told;
  };

  std::shared_ptr<Batch> next_batch();
  void send_batch();
  static std::uint32_t add_part(Batch& batch);
  static void merge(Group& group, const Write& write);
  void write_group(const Group& group, const std::shared_ptr<Batch>& batch);
  void write_single(const Write& write, const std::shared_ptr<Batch>& batch);
  void write_wait(const std::shared_ptr<Batch>& batch);
  void expect(std::size_t answers, const std::shared_ptr<Batch>& batch, std::uint32_t part, Target* counted);
  void answered(const std::shared_ptr<Batch>& batch, std::uint32_t part, Status status);
  void send_again();
  void absorb(Write& newer, Write& older);
  void finish(Write& write, const Status& status);
  void notify(WriteDone done, Status status);

  Connection& commands_;
  store::Completions& completions_;
  RedisStoreStats& stats_;
  const RedisStoreOptions& options_;
  std::deque<Write> pending_;
  std::deque<std::shared_ptr<Batch>> under_way_;
  std::deque<Waiting> waiting_;
  Status trouble_;                    // Not ok: nothing is sent until a tick finds everything answered.
  std::vector<const Target*> asked_;  // Tables whose count was requested.
  std::vector<Ended> ended_;          // Finished writes among those sent again; reported in order when all of them are answered.
  std::size_t again_ = 0;             // Writes sent again and not answered.
  std::size_t unanswered_ = 0;        // Writes accepted and not reported.
  std::size_t bytes_ = 0;
  std::uint64_t finished_ = 0;  // Writes that have their answer.
};

}  // namespace rondo::redis
