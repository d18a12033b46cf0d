// Writer: the writes that were accepted and not yet answered, in order. Those of Staged tables go out as SONiC's ProducerStateTable does
// it, in plain transactions of up to 128 keys (one SADD, one HSET a key, one notification), which cost Redis a third of its script. What
// was under way when the connection broke is sent again where that is the same as sending it once (Staged, Watched), each key once with
// what its writes come to: a consumer elsewhere may have had them all, and must not be told of an older one behind the newest. For the rest
// the outcome is unknown and is told so.
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
  /// Calls 'told' once, when everything that was added until now has its answer (at once if it has), or with the reason when the connection
  /// is lost before.
  void when_answered(std::function<void(const Status& lost)> told);
  std::size_t unanswered() const noexcept { return unanswered_; }
  std::size_t unanswered_bytes() const noexcept { return bytes_; }

  /// Sends what may be sent now.
  void send();
  void lost();
  /// Asks how much waits in a Staged or Queue table, if nobody has asked yet: nothing else would tell a process that only writes, and is
  /// refused, that a consumer elsewhere has made room.
  void ask_waiting(Target& target);
  /// Now and then: what was refused a moment ago is sent again.
  void tick();
  /// Why writes wait although the connection is there; ok while they do not.
  const Status& trouble() const noexcept { return trouble_; }

 private:
  static constexpr std::uint32_t kWhole = 0;  // The part of a batch that stands for all of it.
  struct Ended {
    std::uint64_t number = 0;
    WriteDone done;
    Status status;
  };
  struct Write {
    Target* target = nullptr;
    Change change;
    WriteDone done;
    std::unique_ptr<std::vector<Ended>> carried{};  // Older writes of the key that this one stands for; mostly none.
    std::uint64_t number = 0;                       // In the order of acceptance.
    std::uint32_t part = 0;                         // Of its batch: what failed for another table, or another write, is not its failure.
    bool deleted = false;                           // A Set that carries a Delete before it.
    bool again = false;                             // Sent before, on a connection that broke.
  };
  struct Batch {
    /// How a write of it ended.
    const Status& outcome(const Write& write) const { return outcomes[write.part].ok() ? outcomes[kWhole] : outcomes[write.part]; }
    std::vector<Write> writes;
    std::size_t awaited = 0;  // Answers still to come.
    std::vector<Status> outcomes = std::vector<Status>(1);
  };
  /// The staged writes of one table within a batch, merged by key.
  struct Group {
    struct Key {
      std::string_view key;
      bool deleted = false;
      Record record;
    };
    /// The place of 'record''s key in 'keys', made if it is new. O(1): at most half of the slots are used.
    Key& at(const Record& record);
    Target* target = nullptr;
    std::uint32_t part = 0;
    std::vector<Key> keys;
    std::array<std::uint8_t, 256> slots{};  // One more than the place; 0: free.
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
  void tell(WriteDone done, Status status);

  Connection& commands_;
  store::Completions& completions_;
  RedisStoreStats& stats_;
  const RedisStoreOptions& options_;
  std::deque<Write> pending_;
  std::deque<std::shared_ptr<Batch>> under_way_;
  std::deque<Waiting> waiting_;
  Status trouble_;                    // Not ok: nothing is sent until the next tick that finds everything answered.
  std::vector<const Target*> asked_;  // What waits there.
  std::vector<Ended> ended_;          // Of those sent again; told in their order when all of them are answered.
  std::size_t again_ = 0;             // Those that are not.
  std::size_t unanswered_ = 0;        // Accepted and not told.
  std::size_t bytes_ = 0;
  std::uint64_t finished_ = 0;  // Writes that have their answer.
};

}  // namespace rondo::redis
