#include "sim/observed_store.h"

namespace rondo::sim {

std::size_t ObservedStore::open(std::string_view table, const Change& change, WriteDone done) {
  if (free_.empty()) {
    free_.push_back(writes_.size());
    writes_.emplace_back();
  }
  const std::size_t slot = free_.back();
  free_.pop_back();
  Write& write = writes_[slot];
  write.table.assign(table);
  write.change = change;
  write.done = std::move(done);
  write.is_open = true;
  return slot;
}

Status ObservedStore::write(std::string_view table, Change change, WriteDone done) {
  const std::size_t slot = open(table, change, std::move(done));
  Status accepted = store().write(table, std::move(change), [this, slot](const Status& end) { ended(slot, end); });
  if (!accepted.ok()) {
    writes_[slot].is_open = false;
    free_.push_back(slot);
  }
  return accepted;
}

void ObservedStore::ended(std::size_t slot, const Status& end) {
  Write& write = writes_[slot];
  const WriteDone done = std::move(write.done);
  told_(write.table, write.change, end);
  write.is_open = false;
  free_.push_back(slot);
  if (done) done(end);  // Last, because it may write.
}

void ObservedStore::for_each_unanswered(const std::function<void(std::string_view, const Change&)>& visit) const {
  for (const Write& write : writes_) {
    if (write.is_open) visit(write.table, write.change);
  }
}

}  // namespace rondo::sim
