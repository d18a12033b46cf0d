// PoppedEnd: what the consumer ends of Staged and Queue tables have in common: pops that are fetched ahead of the consumer, in-flight
// batches that are acknowledged when the consumer comes for more, and recovery of what was in flight after a gap or a restart. It stays
// with its table, so that what was fetched is there for the next consumer.
// A Staged end hands in what it read itself, too: standing rows before the first pop, and rows that are given again.
//
// A notification is a level: "there may be something". No pop is sent for nothing: after a pop that emptied the table, a notification that
// comes at once is most likely about what that pop took, and is checked by asking for the count.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/redis/end.h"

namespace rondo::redis {

class PoppedEnd : public End {
 public:
  using End::End;

  std::string channel() const final { return keys().channel; }
  void message(std::string_view) final;
  void tick() final;
  std::size_t take(std::size_t max, std::vector<Change>& out) final;
  bool empty() const final { return waiting_.empty() || !link().may_take(); }
  std::size_t depth() const final { return waiting_entries_ + target().waiting; }
  /// Of the standing rows nothing is staged.
  std::size_t fetched() const final { return waiting_entries_ - waiting_read_; }
  Status trouble() const final { return trouble_; }

 protected:
  /// One popped thing; a Delete and the Set behind it are one entry.
  struct Entry {
    std::string key;
    bool deleted = false;
    bool unread = false;    // Its row must be read.
    bool left_out = false;  // Not to be given.
    bool sets_row = false;  // Of a Queue: what is done to the row when the entry is handed out.
    bool removes_row = false;
    Change change;  // Empty record: none beside the Delete.
  };
  struct Batch {
    std::uint64_t number = 0;  // 0: was read and not popped, and needs no acknowledgement.
    std::vector<Entry> entries;
    std::size_t unread = 0;
  };

  /// A pop ends with the entry that goes beyond these bytes, so that none holds the server for long.
  static constexpr std::size_t kPopBytes = 256 * 1024;
  /// And after so many seconds: it takes about as long again to write what was read, and no command may hold the server
  /// for more than 2 ms.
  static constexpr std::string_view kPopSeconds = "0.0007";

  void online() final;
  void offline() final;
  void closed() override { trouble_ = {}; }

  /// Writes the request for a pop of 'max' into commands.out(), with the numbers of batches that were dealt with.
  virtual void write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) = 0;
  virtual void write_recover() = 0;
  virtual void write_count() = 0;
  virtual const Shape& popped_shape() const = 0;
  virtual const Shape& recovered_shape() const = 0;
  /// Entries of the answer's second part.
  virtual void read_popped(const Reply& content, Batch& batch) = 0;
  /// All batches in flight, oldest first.
  virtual std::vector<Batch> read_recovered(const Reply& content) = 0;
  /// The batch is whole: it may be applied, and is handed out next.
  virtual void complete(Batch& batch) { static_cast<void>(batch); }
  /// Pops wait while this is true. It asks for what they wait for.
  virtual bool goes_before_pops() { return false; }
  /// Asks for what may go beside pops.
  virtual void go_beside_pops() {}
  /// What was asked for will not be answered.
  virtual void broke_off() {}
  /// A recovered entry whose row was read, and is there.
  virtual void row_recovered(Entry& entry) { static_cast<void>(entry); }
  std::size_t pop_size() const noexcept { return pop_size_; }
  /// Forgets what was fetched and not taken: it is found in flight.
  void forget_fetched();
  /// Forgets the rows that were read and not taken.
  void forget_read();
  /// Gives what was read, behind what was popped before.
  void hand_in(std::vector<Entry> entries);
  /// Little enough is fetched and not taken that more may be asked for.
  bool has_room() const { return fetched_ahead() < 2 * pop_size_; }
  /// Calls 'visit' with the key of each entry that was fetched and not taken.
  void visit_fetched(const std::function<void(std::string_view key)>& visit) const;
  /// Whether the table was found empty since wait_for_empty(true), so that whatever was staged then has been fetched; and was taken.
  bool was_empty() const noexcept { return empty_at_.has_value(); }
  bool was_emptied_and_taken() const noexcept { return empty_at_ && entries_taken_ >= *empty_at_; }
  void wait_for_empty(bool wanted) { empty_at_ = wanted ? std::nullopt : std::optional<std::uint64_t>{0}; }
  /// Asks for what can be had.
  void pump();
  /// Asks how many keys wait.
  void send_count();
  /// tick() begins again with what is in flight. A server that serves nobody now is given up.
  void failed(const Reply& reply, std::string_view what);
  /// For trouble(), until the connection goes.
  void stopped(Status why) { trouble_ = std::move(why); }

 private:
  void send_pop();
  void popped(const Reply& reply, std::uint64_t number);
  void acknowledge();
  void send_recover();
  void recovered(const Reply& reply);
  void note_damage(const Reply& fields);
  void read_rows(Batch& batch, bool recovered = false);
  void hand_over();
  void learn_pop_size(const Batch& batch);
  std::size_t fetched_ahead() const;
  void note_waiting(const Reply& count);

  struct Waiting {
    Change change;
    bool with_next = false;
    bool ends_batch = false;
    bool was_read = false;
  };
  std::deque<Waiting> waiting_;
  std::size_t waiting_entries_ = 0;
  std::size_t waiting_read_ = 0;  // Of them, those of batches without a number.
  std::uint64_t entries_taken_ = 0;
  std::optional<std::uint64_t> empty_at_ = 0;
  std::deque<Batch> coming_;                 // Popped, not yet whole; oldest first.
  std::deque<std::uint64_t> handing_out_;    // Numbers of the batches in waiting_.
  std::vector<std::uint64_t> taken_;         // Whole batches that the consumer has taken; dealt with once it comes again.
  std::vector<std::uint64_t> done_;          // To be acknowledged with the next pop.
  std::vector<std::uint64_t> acknowledged_;  // Sent with pops that are on their way.
  std::uint64_t next_number_ = 1;
  std::size_t pop_size_ = 0;
  unsigned pops_ = 0;  // On their way.
  bool online_ = false;
  bool recovering_ = false;
  bool ready_ = false;  // Recovery is done: pops may go.
  bool dirty_ = false;  // There may be something.
  bool counting_ = false;
  bool stuck_ = false;  // The last pop failed; tick() tries again.
  Status trouble_;      // Why the server refuses pops; they are tried again.
  Instant emptied_;     // When a pop last found the end.
};

}  // namespace rondo::redis
