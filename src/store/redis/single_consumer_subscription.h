// SingleConsumerSubscription: the common part of the subscriptions of Staged and Queue tables. It pops ahead of the consumer, and
// acknowledges in-flight batches when the consumer takes more. After a gap or a restart it recovers the batches in flight. It stays with
// its table, so fetched entries remain for the next consumer. A StagedSubscription also hands in rows that it read itself: standing rows
// before the first pop, and requeued rows.
//
// A notification is a level: "there may be something". It avoids useless pops: after a pop that emptied the table, an immediate
// notification is most likely about what that pop took, so it only requests the count.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/redis/remote_subscription.h"

namespace rondo::redis {

class SingleConsumerSubscription : public RemoteSubscription {
 public:
  using RemoteSubscription::RemoteSubscription;

  std::string channel() const final { return keys().channel; }
  void message(std::string_view) final;
  void tick() final;
  std::size_t take(std::size_t max, std::vector<Change>& out) final;
  bool empty() const final { return waiting_.empty() || !link().may_take(); }
  std::size_t depth() const final { return waiting_entries_ + target().waiting; }
  bool has_fetched(std::string_view key) const final;
  void next_arrivals(std::size_t max, std::vector<Subscription::Arrival>& out) const final;
  /// Standing rows do not count, because nothing is staged for them.
  std::size_t fetched() const final { return waiting_entries_ - waiting_read_; }
  Status trouble() const final { return trouble_.ok() ? trouble_of_types() : trouble_; }

 protected:
  /// One popped change; a Delete and the Set behind it are one entry.
  struct Entry {
    std::string key;
    bool deleted = false;
    bool unread = false;    // The row must be read.
    bool left_out = false;  // The entry is not delivered.
    bool sets_row = false;  // Queue: what happens to the row when the entry is handed out.
    bool removes_row = false;
    std::size_t left = 0;  // Queue: the entries behind it in the batch in flight.
    Change change;         // An empty record: the entry is only a Delete.
  };
  struct Batch {
    std::uint64_t number = 0;  // 0: the batch was read and not popped, and needs no acknowledgement.
    std::vector<Entry> entries;
    std::size_t unread = 0;
    bool cut = false;  // The pop ended before it had all keys that it asked for.
  };

  /// A pop ends with the entry that exceeds this number of bytes, so that no pop holds the server for long.
  static constexpr std::size_t kPopBytes = 256 * 1024;
  /// A pop also ends after this many seconds. Writing what was read takes about as long again, and no command may hold the server for more
  /// than 2 ms.
  static constexpr std::string_view kPopSeconds = "0.0007";

  void online() final;
  void offline() final;
  void closed() override { trouble_ = {}; }

  /// Writes the request for a pop of at most 'max' into commands.out(), with the numbers of batches that were acknowledged.
  virtual void write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) = 0;
  /// Writes the request for the batches in these fields of the in-flight hash.
  virtual void write_recover(std::span<const std::string> fields) = 0;
  virtual void write_count() = 0;
  virtual const Shape& popped_shape() const = 0;
  virtual const Shape& recovered_shape() const = 0;
  /// Reads the entries from the answer's second part.
  virtual void read_popped(const Reply& content, Batch& batch) = 0;
  /// Reads batches in flight, in any order.
  virtual std::vector<Batch> read_recovered(const Reply& content) = 0;
  /// Writes the request to keep only the last 'left' entries of the batch in flight. False: batches of this table are acknowledged whole.
  virtual bool write_keep(std::uint64_t number, std::size_t left) {
    static_cast<void>(number);
    static_cast<void>(left);
    return false;
  }
  /// The batch is complete: it may be applied, and is handed out next.
  virtual void complete(Batch& batch) { static_cast<void>(batch); }
  /// While this returns true, no pops are sent. It sends the requests that must precede them.
  virtual bool goes_before_pops() { return false; }
  /// Sends requests that may run beside pops.
  virtual void go_beside_pops() {}
  /// Outstanding requests will not be answered.
  virtual void broke_off() {}
  /// Called for a recovered entry whose row was read and exists.
  virtual void row_recovered(Entry& entry) { static_cast<void>(entry); }
  std::size_t pop_size() const noexcept { return pop_size_; }
  /// Discards what was fetched and not taken: recovery finds it in flight.
  void forget_fetched();
  /// Discards the rows that were read and not taken.
  void forget_read();
  /// Adds entries that were read, behind those popped before.
  void hand_in(std::vector<Entry> entries);
  /// True if so little is fetched and not taken that more may be requested.
  bool has_room() const { return fetched_ahead() < 2 * pop_size_; }
  /// Calls 'visit' with the key of each entry that was fetched and not taken.
  void visit_fetched(const std::function<void(std::string_view key)>& visit) const;
  /// was_empty(): the table was found empty since wait_for_empty(true), so everything staged by then was fetched. was_emptied_and_taken():
  /// the consumer has taken all of that, too.
  bool was_empty() const noexcept { return empty_at_.has_value(); }
  bool was_emptied_and_taken() const noexcept { return empty_at_ && entries_taken_ >= *empty_at_; }
  void wait_for_empty(bool wanted) { empty_at_ = wanted ? std::nullopt : std::optional<std::uint64_t>{0}; }
  /// Sends the requests that are possible now.
  void send_requests();
  /// Requests the number of waiting keys.
  void send_count();
  /// tick() restarts with a recovery. If the server serves no client now, the connection closes.
  void failed(const Reply& reply, std::string_view what);
  /// Sets trouble() until the connection is lost.
  void stopped(Status why) { trouble_ = std::move(why); }

 private:
  void send_pop();
  void popped(const Reply& reply, std::uint64_t number, std::size_t asked);
  void acknowledge();
  void acknowledge_part();
  void send_recover();
  void ask_in_flight();
  void recovered(const Reply& reply);
  void take_recovered();
  void note_damage(const Reply& fields);
  void read_rows(Batch& batch, bool recovered = false);
  void leave_out_gone(std::deque<Batch>::iterator read);
  void hand_over();
  void learn_pop_size(const Batch& batch);
  std::size_t fetched_ahead() const;
  void note_waiting(const Reply& count);

  struct Waiting {
    Change change;
    bool with_next = false;
    bool ends_batch = false;
    bool was_read = false;
    std::size_t left = 0;  // Entry::left.
    Instant came{};        // When its batch was complete here. No time: a row that was read.
  };
  /// A batch that the consumer has taken in part.
  struct Part {
    std::uint64_t number = 0;  // 0: none.
    std::size_t left = 0;
    bool operator==(const Part&) const = default;
  };
  std::deque<Waiting> waiting_;
  std::size_t waiting_entries_ = 0;
  std::size_t waiting_read_ = 0;  // The entries of waiting_ in batches without a number.
  std::uint64_t entries_taken_ = 0;
  std::optional<std::uint64_t> empty_at_ = 0;
  std::vector<std::string> in_flight_;     // During the recovery: the fields of the in-flight hash that were not read yet.
  std::vector<Batch> recovered_;           // During the recovery: the batches in those that were read.
  std::deque<Batch> coming_;               // Popped and not yet complete; oldest first.
  std::deque<std::uint64_t> handing_out_;  // Numbers of the batches in waiting_.
  std::vector<std::uint64_t> taken_;       // Complete batches that the consumer has taken; they count as acknowledged when it takes again.
  std::vector<std::uint64_t> done_;        // To be acknowledged with the next pop.
  Part taken_part_;                        // Counts as acknowledged when the consumer takes again.
  Part done_part_;                         // To be acknowledged.
  std::vector<std::uint64_t> acknowledged_;  // Sent with pops whose answer is outstanding.
  std::uint64_t next_number_ = 1;
  std::size_t pop_size_ = 0;
  unsigned pops_ = 0;  // Outstanding pops.
  bool online_ = false;
  bool recovering_ = false;
  bool ready_ = false;  // Recovery is done: pops may be sent.
  bool dirty_ = false;  // The table may have new entries.
  bool counting_ = false;
  bool keeping_ = false;  // The acknowledgement of a part is outstanding.
  bool stuck_ = false;    // The last pop failed; tick() retries.
  Status trouble_;        // Why the server refuses pops; they are retried.
  Instant emptied_;       // When a pop last emptied the table.
};

}  // namespace rondo::redis
