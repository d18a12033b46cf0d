// ObservedStore: a store that observes another: it reports the end of every write, and lists those without an answer. All other calls pass
// through.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/passing_store.h"

namespace rondo::sim {

class ObservedStore final : public test::PassingStore {
 public:
  /// Receives the end of each accepted write.
  using Told = std::function<void(std::string_view table, const Change& change, const Status& end)>;
  ObservedStore(std::unique_ptr<Store> store, Told told) : PassingStore(std::move(store)), told_(std::move(told)) {}

  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  std::size_t unanswered() const noexcept { return writes_.size() - free_.size(); }
  /// Visits the writes that have no answer when the process ends.
  void for_each_unanswered(const std::function<void(std::string_view table, const Change& change)>& visit) const;
  using PassingStore::store;

 private:
  struct Write {
    std::string table;
    Change change;
    WriteDone done;
    bool is_open = false;
  };
  std::size_t open(std::string_view table, const Change& change, WriteDone done);
  void ended(std::size_t slot, const Status& end);

  Told told_;
  std::vector<Write> writes_;      // By slot.
  std::vector<std::size_t> free_;  // Slots.
};

}  // namespace rondo::sim
