// Consumer: the source between a table and an Orch's handler. In its turn it takes changes from the subscription and merges them into
// its ledger. It passes ready rows to the handler and turns each Outcome into the row's next state. No other class decides a change's next
// state. Scheduler's thread. Cost per change: one hash lookup, the handler, and (with a journal) some 60 bytes of record.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orch/fact_index.h"
#include "orch/ledger.h"
#include "orch/objects.h"
#include "orch/rejections.h"
#include "orch/row_observers.h"
#include "orch/standing_rows.h"
#include "rondo/orch/batch.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"

namespace rondo {

class Consumer final : public Source {
 public:
  using Handle = std::function<Outcome(const Change&)>;
  using HandleBatch = std::function<void(Batch&)>;
  using OnReject = std::function<void(std::string_view table, const Change&, const Status&)>;

  struct Services {
    Scheduler& scheduler;
    FactIndex& facts;
    Observers& observers;
    const OnReject& on_reject;
    Ticket& current;
    const std::map<std::string, Consumer*, std::less<>>& consumers;  // All consumers of the runtime, by table.
    const std::unique_ptr<StandingRows>& standing;                   // Null unless a consumer of the runtime waits, or has waited.
  };

  struct Identity {
    std::string table;
    std::string orch;
    Priority priority;
    std::vector<std::string> needs = {};  // The Orchs of ConsumeOptions::needs.
  };

  /// Exactly one of 'handle', 'handle_batch' and the function of 'objects' is set. 'objects' is null if the rows are not kept.
  Consumer(Identity identity, const ConsumeOptions& options, std::unique_ptr<Subscription> subscription, Handle handle,
           HandleBatch handle_batch, std::shared_ptr<Objects> objects, Services services);
  ~Consumer() override;

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return ready(); }
  std::size_t depth() const override { return ledger_.queued() + ledger_.bound().ended() + subscription_->depth(); }

  /// Sets the outcome of a staged change; a stale ticket is ignored.
  void settle(const Ticket& ticket, const Outcome& outcome);
  void expect_settle(const Ticket& ticket, unsigned step) const noexcept { ledger_.expect_settle(ticket.row, ticket.generation, step); }
  /// See Orch::requeue.
  void requeue(std::string_view key);
  /// The table whose standing rows come first (ConsumeOptions::needs); empty if this one may begin.
  std::string_view awaited_table() const;
  /// True if this consumer has waited for the standing rows of others, and they were handled.
  bool may_begin() const { return !needs_.empty() && awaited_table().empty(); }
  /// From now on it takes changes.
  void begin();
  void hold();
  bool is_held() const noexcept { return held_; }
  void release();

  // For Batch.
  void answer(std::uint32_t row, const Change& change, const Outcome& outcome);
  void answer_done(std::uint32_t row);
  Ticket ordered(std::uint32_t row, std::uint32_t generation) {
    observers_.ordered(row);
    return Ticket{this, row, generation};
  }

  const std::string& table() const noexcept { return table_; }
  const std::string& orch() const noexcept { return stats_.orch; }
  std::size_t rows_max() const noexcept { return rows_max_; }
  /// True if all rows were taken that the table had when this was made.
  bool has_taken_first_rows() const;
  bool has_no_room() const { return ledger_.size() >= rows_max_; }
  /// See Orch::rows().
  bool keeps_rows() const noexcept { return objects_ != nullptr; }
  std::vector<Record> rows(std::string_view prefix) const { return objects_->rows(table_of_objects_, prefix); }
  /// It takes no more changes of those that its table has, until rows are settled.
  bool is_full() const { return has_no_room() && !subscription_->empty(); }
  const Ledger& ledger() const noexcept { return ledger_; }
  Ledger& ledger() noexcept { return ledger_; }
  ConsumerStats stats() const;
  /// Rows whose newest change was rejected, except Deletes of a key that is wrong by itself (Outcome::reject_key).
  const Rejections& rejections() const noexcept { return rejections_; }
  /// Subscription::caught_up().
  bool is_caught_up() const { return subscription_->caught_up(); }
  /// Subscription::has_fetched().
  bool has_fetched(std::string_view key) const { return subscription_->has_fetched(key); }
  /// Subscription::depth().
  std::size_t waiting() const { return subscription_->depth(); }

  /// For readers that observe rows.
  RowObservers& observers() noexcept { return observers_; }

 private:
  bool ready() const;
  /// The standing rows were given to the handler, and those that it had staged then were settled.
  bool has_handled_standing_rows() const;
  bool has_taken_standing_rows() const;
  /// Wakes those that wait for has_handled_standing_rows().
  void note_standing_rows();
  std::uint32_t take(std::size_t max);
  /// Takes, gathers and handles up to 'max' items as a part of 'turn'. Returns true if the turn is over.
  bool step(std::uint32_t max, const Budget& budget, Turn& turn);
  bool step_by_batch(std::uint32_t max, const Budget& budget, Turn& turn);
  bool step_one_by_one(std::uint32_t max, const Budget& budget, Turn& turn);
  std::uint32_t gather_tasks(std::uint32_t max, std::uint32_t turn_items);
  static Status check(const Change& change);
  void refuse_task(const Ledger::Task& task, const Status& why);
  /// The number of items of a step that resolved rows may have while new rows also wait.
  std::uint32_t retry_share(std::uint32_t max, std::uint32_t turn_items);
  /// Gathers resolved rows and done rows whose fact has ended. It alternates while there are both.
  std::uint32_t gather_again(std::uint32_t max);
  void take_resolved();
  /// When the next key of arrivals_ came, if the store knows; 'mark' is the place there.
  std::optional<Instant> next_arrival(std::size_t& mark);
  /// A change is done: adds the time since it came to its figure.
  void note_latency(std::uint32_t row);
  void take_ended();
  bool has_again() const { return ledger_.has_resolved() || has_ended(); }
  /// A row that is handled again is unsettled again, so it needs room in the ledger.
  bool has_ended() const { return ledger_.has_ended() && ledger_.size() < rows_max_; }
  void on_resolved();
  void run_one(const Ledger::Task& task);
  void run_object(const Ledger::Task& task);
  void pull(const Objects::Row& object_row, std::vector<Ticket>& flight);
  bool pull_present(const Objects::Row& object_row, std::vector<Ticket>& flight);
  static bool is_set(const Ticket& ticket);
  void ask(const Ticket& ticket);
  void settle_object(Objects::Object& object, const Outcome& outcome, bool was_staged);
  void answer(const Ticket& ticket, const Outcome& outcome);
  void note_settled();
  void fill_batch(std::span<Ledger::Task> tasks);
  void run_batch(std::span<Ledger::Task> tasks);
  void park(std::uint32_t row, const Change& change, std::span<const Fact> facts, bool any);
  Status check_done_while(const Change& change, std::span<const Fact> facts) const;
  void done_while(std::uint32_t row, const Change& change, std::span<const Fact> facts);
  /// True if the handler must be called again instead of parking the row, because a fact that the done row depended on has ended
  /// meanwhile.
  bool is_asked_again(std::uint32_t row, const Change& change);
  /// Calls the handler again, with growing delays, when it says that it waits although none of its facts is missing.
  void ask_again(std::uint32_t row, const Change& change, bool raced, const Fact& fact, std::string_view what);
  void delay(std::uint32_t row, const Change& change, Duration delay, const Status& why);
  void answer_fault(std::uint32_t row, const Change& change, const Status& fault);
  void reject(std::uint32_t row, const Change& change, const Status& why, bool is_of_key = false);
  void refuse(const Change& change);
  void report_reject(const Change& change, const Status& why);
  void settle_row(std::uint32_t row);
  void forget_rejection(std::uint32_t row);
  void keep_rejection(const Change& change, const Status& why);
  Status named(const Change& change, const Status& why) const;
  void note_parked();

  const std::string table_;
  const std::uint32_t retry_quota_;
  const std::uint32_t step_items_;
  const std::size_t rows_max_;
  const bool watches_staged_;
  Services services_;
  std::unique_ptr<Subscription> subscription_;
  Handle handle_;
  HandleBatch handle_batch_;
  std::shared_ptr<Objects> objects_;
  std::uint32_t table_of_objects_ = 0;
  std::size_t late_ = 0;  // The rows of Objects::Object::late.
  Ledger ledger_;
  RowObservers observers_;
  bool held_ = false;
  Instant held_since_;
  bool ended_is_next_ = false;  // True if the next retried row is one whose fact has ended, false if it is a resolved one.
  Instant resolved_since_;      // When the first row became ready after the last turn of resolved rows; Instant{} if none did.
  // The share of retried rows that steps too short for a whole row leave to the next step; see retry_share().
  std::uint64_t retry_credit_ = 0;
  std::vector<Change> arrived_;
  std::vector<Subscription::Arrival> arrivals_;
  std::vector<Ledger::Task> tasks_;
  Batch batch_{*this};
  ConsumerStats stats_;
  Rejections rejections_;
  std::vector<std::string> needs_;  // The Orchs whose standing rows come first; empty from begin() on.
  // Once the standing rows were given to the handler: how many staged changes must still be settled.
  std::optional<std::size_t> unsettled_;
  bool standing_rows_handled_ = false;
  std::size_t first_depth_ = 0;  // Keys that waited in the table when this was made: they count as standing rows.
  std::size_t keys_taken_ = 0;
  Instant answered_;  // When a staged change was settled, or the first one staged.
};

}  // namespace rondo
