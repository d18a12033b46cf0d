// Batch: the changes of one turn, for handlers that work in bulk. Each change needs its own outcome before the handler returns; a change
// without one is rejected as the handler's fault. If the handler throws, it is called again with each change that has no outcome, one by
// one. Then only the change that makes it throw is rejected (after std::bad_alloc: delayed). The handler's earlier work for these changes
// must be repeatable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rondo/orch/outcome.h"
#include "rondo/store/change.h"

namespace rondo {

struct Ticket;
class Consumer;

class Batch {
 public:
  std::size_t size() const noexcept { return changes_.size(); }
  const Change& operator[](std::size_t index) const noexcept { return changes_[index]; }

  /// Sets the outcome of change 'index'; only once for each change (assert). This also holds for the two functions below.
  void answer(std::size_t index, const Outcome& outcome);
  /// Shortcuts without an Outcome object, for the hot path.
  void done(std::size_t index);
  /// Sets Outcome::staged() and returns the ticket for Orch::settle().
  Ticket stage(std::size_t index);

  /// One change of the batch and its outcome: `for (const Batch::Item item : batch) item.answer(apply(item.key(), item.fields()));` Valid
  /// as long as the batch.
  class Item {
   public:
    const Change& change() const noexcept { return batch_[index_]; }
    ChangeOp op() const noexcept { return change().op(); }
    std::string_view key() const noexcept { return change().key(); }
    Fields fields() const noexcept { return change().fields(); }
    std::size_t index() const noexcept { return index_; }
    void answer(const Outcome& outcome) const { batch_.answer(index_, outcome); }
    void done() const { batch_.done(index_); }
    Ticket stage() const;

    // An Item is also the iterator of its batch.
    const Item& operator*() const noexcept { return *this; }
    Item& operator++() noexcept {
      ++index_;
      return *this;
    }
    bool operator==(const Item& other) const noexcept { return index_ == other.index_; }

   private:
    friend class Batch;
    Item(Batch& batch, std::size_t index) noexcept : batch_(batch), index_(index) {}
    Batch& batch_;
    std::size_t index_;
  };
  Item begin() noexcept { return {*this, 0}; }
  Item end() noexcept { return {*this, size()}; }

 private:
  void expect_open(std::size_t index) const;
  friend class Consumer;
  explicit Batch(Consumer& consumer) noexcept : consumer_(consumer) {}
  Consumer& consumer_;
  std::vector<Change> changes_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> generations_;
  std::vector<std::uint8_t> answered_;
};

}  // namespace rondo
